// The device that identifiers stand on, its addresses and its ports.
#include <algorithm>
#include <cstdlib>

#include <endian.h>

#include "verbs/rdmacm/cm_agent.h"
#include "verbs/rdmacm/errors.h"

namespace weft::rdmacm {
namespace {

std::uint8_t at_most_255(int n) { return static_cast<std::uint8_t>(std::clamp(n, 0, 255)); }

}  // namespace

int CmAgent::open_device() {
  if (lost()) return EIO;
  const std::lock_guard guard(opening_);
  if (context != nullptr) return 0;
  ibv_device** list = ibv_get_device_list(nullptr);
  if (list == nullptr) return errno;
  ibv_context* opened = list[0] != nullptr ? ibv_open_device(list[0]) : nullptr;
  const int code = opened != nullptr ? 0 : list[0] != nullptr ? errno : ENODEV;
  ibv_free_device_list(list);
  if (code != 0) return code;
  const std::lock_guard held(lock);
  context = opened;
  const int described = describe_device();
  if (described != 0) {
    ibv_close_device(context);
    context = nullptr;
  }
  return described;
}

int CmAgent::describe_device() {
  ibv_device_attr device{};
  if (const int code = ibv_query_device(context, &device); code != 0) return code;
  ibv_port_attr attributes{};
  if (const int code = ibv_query_port(context, 1, &attributes); code != 0) return code;
  mtu = attributes.active_mtu;
  max_responder_resources = at_most_255(device.max_qp_rd_atom);
  max_initiator_depth = at_most_255(device.max_qp_init_rd_atom);
  domain = ibv_alloc_pd(context);
  return domain != nullptr ? 0 : errno;
}

void CmAgent::give_device(Identifier& id) const {
  id.verbs = context;
  id.port_num = 1;
  if (id.pd == nullptr) id.pd = domain;
  id.route.addr.addr.ibaddr.pkey = htobe16(wire::kDefaultPkey.raw());
}

const wire::Address* CmAgent::device_address(const CmAddress& endpoint) const {
  const auto addresses = port->addresses();
  const auto found = std::find(addresses.begin(), addresses.end(), endpoint.address);
  if (found != addresses.end()) return &*found;
  // 127.0.0.1 and ::1 are every device's; Linux takes the first. But where devices have such addresses themselves, each
  // of these is somebody's.
  const bool among_loopbacks = std::any_of(
      addresses.begin(), addresses.end(), [](const wire::Address& a) { return CmAddress{.address = a}.is_loopback(); });
  return endpoint.is_loopback() && !among_loopbacks && !addresses.empty() ? &addresses.front() : nullptr;
}

const wire::Address* CmAgent::own_address(const CmAddress& endpoint) const {
  const wire::Address* found = device_address(endpoint);
  const auto addresses = port->addresses();
  // Who wants to be at this machine's own name is: as a place to go to, it may be another's.
  return found == nullptr && endpoint.is_local_host() && !addresses.empty() ? &addresses.front() : found;
}

int CmAgent::gid_index(const wire::Address& address) const {
  const auto addresses = port->addresses();
  const auto found = std::find(addresses.begin(), addresses.end(), address);
  return found == addresses.end() ? 0 : static_cast<int>(found - addresses.begin());
}

// --- ports -----------------------------------------------------------------------------------------------------------

bool CmAgent::is_taken(const Identifier& by, const wire::Address& address, std::uint16_t port_number) const {
  return std::any_of(identifiers.begin(), identifiers.end(), [&](const Identifier* other) {
    if (other == &by || !other->bound || other->ps != by.ps || other->source.port != port_number) return false;
    const wire::Address any{};
    const bool meets = address == any || other->service_address == any || other->service_address == address;
    const bool shares = by.reuse_address && other->reuse_address && !other->listening;
    return meets && !shares;
  });
}

int CmAgent::bind(Identifier& id, const CmAddress& wanted) {
  wire::Address service{};
  if (!wanted.is_any()) {
    const wire::Address* address = own_address(wanted);
    if (address == nullptr) return ENODEV;
    service = *address;
  }
  std::uint16_t number = wanted.port;
  if (number != 0 && is_taken(id, service, number)) return EADDRINUSE;
  if (const int code = port->bind_service(static_cast<std::uint16_t>(id.ps), service, number); code != 0) return code;
  id.bound = true;
  id.service_address = service;
  id.source = wanted;
  id.source.port = number;
  write_endpoint(id.source, id.route.addr.src_storage);
  if (!wanted.is_any()) {
    id.path.local = service;
    std::copy(service.bytes.begin(), service.bytes.end(), std::begin(id.route.addr.addr.ibaddr.sgid.raw));
    give_device(id);
  }
  return 0;
}

void CmAgent::unbind(Identifier& id) {
  if (!id.bound) return;
  const auto space = static_cast<std::uint16_t>(id.ps);
  if (id.listening) port->listen(space, id.service_address, id.source.port, false);
  port->release_service(space, id.service_address, id.source.port);
  id.bound = id.listening = false;
}

}  // namespace weft::rdmacm

using namespace weft::rdmacm;

extern "C" {

ibv_context** rdma_get_devices(int* num_devices) {
  if (num_devices != nullptr) *num_devices = 0;
  ibv_context** list = nullptr;
  attempt([&] {
    CmAgent& agent = CmAgent::get();
    if (const int code = agent.open_device(); code != 0) return fail(code);
    list = static_cast<ibv_context**>(std::calloc(2, sizeof(ibv_context*)));
    if (list == nullptr) return fail(ENOMEM);
    list[0] = agent.context;
    if (num_devices != nullptr) *num_devices = 1;
    return 0;
  });
  return list;
}

void rdma_free_devices(ibv_context** list) { std::free(list); }

}  // extern "C"

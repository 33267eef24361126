// Where an identifier is and where it wants to go: addresses, routes, listening.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <endian.h>
#include <sys/socket.h>
#include <unistd.h>

#include "verbs/rdmacm/cm_agent.h"
#include "verbs/rdmacm/errors.h"
#include "verbs/rdmacm/path.h"

namespace weft::rdmacm {
namespace {

// The address that the machine's routing would send from; zeros if it knows none. Nothing is sent.
CmAddress routed_source(const CmAddress& destination) {
  sockaddr_storage to{}, from{};
  write_endpoint(destination, to);
  const auto as_address = [](sockaddr_storage& s) { return static_cast<sockaddr*>(static_cast<void*>(&s)); };
  const int socket = ::socket(destination.family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return {};
  socklen_t length = sizeof from;
  const bool known = ::connect(socket, as_address(to), length_of(as_address(to))) == 0 &&
                     ::getsockname(socket, as_address(from), &length) == 0;
  ::close(socket);
  return known ? endpoint_of(as_address(from)) : CmAddress{};
}

// Which of the card's addresses to send from.
const wire::Address* choose_source(const CmAgent& agent, const CmAddress& destination) {
  if (const wire::Address* own = agent.device_address(destination)) return own;
  const auto addresses = agent.port->addresses();
  const CmAddress routed = routed_source(destination);
  const auto exact = std::find(addresses.begin(), addresses.end(), routed.address);
  if (exact != addresses.end()) return &*exact;
  const auto alike = std::find_if(addresses.begin(), addresses.end(),
                                  [&](const wire::Address& a) { return a.is_v4() == destination.address.is_v4(); });
  return alike != addresses.end() ? &*alike : nullptr;
}

// Fills what rdma_get_local_addr and the like show.
void write_route(CmAgent& agent, Identifier& id) {
  write_endpoint(id.source, id.route.addr.src_storage);
  write_endpoint(id.destination, id.route.addr.dst_storage);
  rdma_ib_addr& ib = id.route.addr.addr.ibaddr;
  std::copy(id.path.local.bytes.begin(), id.path.local.bytes.end(), std::begin(ib.sgid.raw));
  std::copy(id.path.remote.bytes.begin(), id.path.remote.bytes.end(), std::begin(ib.dgid.raw));
  agent.give_device(id);
}

// A packet has one IP header, so IPv4 and IPv6 do not mix. Linux goes by the family that the program writes; but what
// is written as IPv6 may be an IPv4 address (::ffff:a.b.c.d), and then so must the other be.
bool is_way(const CmAddress& source, const CmAddress& destination) {
  const bool open = source.is_any() || destination.is_any();
  return source.family == destination.family && (open || source.address.is_v4() == destination.address.is_v4());
}

// Where packets go. This machine's own name is every address of the card: then the one of the kind that we send from.
wire::Address remote_address(const CmAgent& agent, const CmAddress& destination, const wire::Address& local) {
  if (destination.is_any()) return local;
  const wire::Address* own = agent.device_address(destination);
  if (own == nullptr) return destination.address;
  return own->is_v4() == local.is_v4() ? *own : local;
}

int resolve(CmAgent& agent, Identifier& id, const CmAddress* source, const CmAddress& destination) {
  if (id.resolved || id.listening) return EINVAL;
  const CmAddress anywhere{.family = destination.family};
  const CmAddress from = id.bound ? id.source : source != nullptr ? *source : anywhere;
  if (!is_way(from, destination)) return EINVAL;
  if (!id.bound) {
    if (const int code = agent.bind(id, from); code != 0) return code;
  }
  if (id.source.is_any()) {
    const wire::Address* chosen = choose_source(agent, destination);
    if (chosen == nullptr) {
      id.its_channel().push({.kind = Occurrence::Kind::address_error, .owner = &id, .status = -ENETUNREACH});
      return 0;
    }
    // To itself by a name that only this machine knows: it answers by that name.
    const bool by_name = agent.device_address(destination) == chosen;
    id.source.family = destination.family;
    id.source.address = by_name && !destination.is_any() ? destination.address : *chosen;
    id.path.local = *chosen;
  }
  id.destination = destination;
  id.path.remote = remote_address(agent, destination, id.path.local);
  // From ::1, which may be an IPv4 address of the card's, no way leads to others at IPv6 addresses.
  const bool leads_there = id.path.local.is_v4() == id.path.remote.is_v4() && agent.port->reaches(id.path.remote);
  if (!leads_there) {
    id.its_channel().push({.kind = Occurrence::Kind::address_error, .owner = &id, .status = -EHOSTUNREACH});
    return 0;
  }
  id.resolved = true;
  write_route(agent, id);
  id.its_channel().push({.kind = Occurrence::Kind::address_resolved, .owner = &id});
  return 0;
}

}  // namespace

int make_path_record(CmAgent& agent, Identifier& id) {
  auto* record = static_cast<ibv_sa_path_rec*>(std::calloc(1, sizeof(ibv_sa_path_rec)));
  if (record == nullptr) return ENOMEM;
  constexpr std::uint8_t kExactly = 2;
  const rdma_ib_addr& ib = id.route.addr.addr.ibaddr;
  record->dgid = ib.dgid;
  record->sgid = ib.sgid;
  record->hop_limit = kHopLimit;
  record->traffic_class = id.traffic_class;
  record->reversible = 1;
  record->numb_path = 1;
  record->pkey = ib.pkey;
  record->mtu_selector = record->rate_selector = record->packet_life_time_selector = kExactly;
  record->mtu = static_cast<std::uint8_t>(agent.mtu);
  record->rate = IBV_RATE_100_GBPS;
  record->packet_life_time = static_cast<std::uint8_t>(id.ack_timeout.value_or(kAckTimeout) - 1);
  std::free(id.route.path_rec);
  id.route.path_rec = record;
  id.route.num_paths = 1;
  return 0;
}

int resolve_route(CmAgent& agent, Identifier& id) {
  if (!id.resolved || id.routed) return EINVAL;
  if (const int code = make_path_record(agent, id); code != 0) return code;
  id.routed = true;
  id.its_channel().push({.kind = Occurrence::Kind::route_resolved, .owner = &id});
  return 0;
}

void describe_request(CmAgent& agent, Identifier& id, const cm::CmEvent& event) {
  id.connection = event.id;
  id.knows_peer = true;
  id.peer = event.peer;
  id.path = event.path;
  id.responder_resources = event.peer.responder_resources;
  id.initiator_depth = event.peer.initiator_depth;
  id.retry_count = event.peer.retry_count;
  id.rnr_retry_count = event.peer.rnr_retry_count;
  id.starting_psn = wire::Psn(static_cast<std::uint32_t>(agent.chance.next()));
  if (event.unreliable) id.qp_type = IBV_QPT_UC;
  const int family = event.addresses.ip_version == 4 ? AF_INET : AF_INET6;
  id.source = {
      .family = family, .address = event.addresses.destination, .port = static_cast<std::uint16_t>(event.service_id)};
  id.destination = {.family = family, .address = event.addresses.source, .port = event.addresses.source_port};
  id.resolved = id.routed = true;
  write_route(agent, id);
}

}  // namespace weft::rdmacm

using namespace weft::rdmacm;

extern "C" {

int rdma_bind_addr(rdma_cm_id* id, sockaddr* addr) {
  if (length_of(addr) == 0) return fail(EINVAL);
  Identifier& me = identifier_of(id);
  return attempt([&] {
    if (const int code = me.agent.join(); code != 0) return fail(code);
    const AgentHold hold(me.agent);
    if (!hold) return fail(EIO);
    if (me.bound || me.resolved) return fail(EINVAL);
    return minus_one_if(me.agent.bind(me, endpoint_of(addr)));
  });
}

int rdma_resolve_addr(rdma_cm_id* id, sockaddr* src_addr, sockaddr* dst_addr, int) {
  if (length_of(dst_addr) == 0 || (src_addr != nullptr && length_of(src_addr) == 0)) return fail(EINVAL);
  Identifier& me = identifier_of(id);
  return attempt([&] {
    if (const int code = me.agent.join(); code != 0) return fail(code);
    {
      const AgentHold hold(me.agent);
      if (!hold) return fail(EIO);
      const CmAddress source = src_addr != nullptr ? endpoint_of(src_addr) : CmAddress{};
      const int code = resolve(me.agent, me, src_addr != nullptr ? &source : nullptr, endpoint_of(dst_addr));
      if (code != 0) return fail(code);
    }
    return complete(me);
  });
}

int rdma_resolve_route(rdma_cm_id* id, int) {
  Identifier& me = identifier_of(id);
  return attempt([&] {
    {
      const AgentHold hold(me.agent);
      if (!hold) return fail(EIO);
      if (const int code = resolve_route(me.agent, me); code != 0) return fail(code);
    }
    return complete(me);
  });
}

int rdma_listen(rdma_cm_id* id, int backlog) {
  Identifier& me = identifier_of(id);
  return attempt([&] {
    CmAgent& agent = me.agent;
    if (const int code = agent.join(); code != 0) return fail(code);
    const AgentHold hold(agent);
    if (!hold) return fail(EIO);
    if (me.listening || me.resolved) return fail(EINVAL);
    if (!me.bound) {
      if (const int code = agent.bind(me, {.family = AF_INET}); code != 0) return fail(code);
    }
    const auto space = static_cast<std::uint16_t>(me.ps);
    const std::uint64_t service = weft::wire::cm_service_id(static_cast<weft::wire::PortSpace>(space), me.source.port);
    const auto kind = me.is_datagram() ? weft::cm::ServiceKind::datagram : weft::cm::ServiceKind::connection;
    me.listener = agent.manager->listen(service, me.service_address, backlog, kind);
    me.listening = true;
    agent.by_listener[me.listener] = &me;
    agent.port->listen(space, me.service_address, me.source.port, true);
    return 0;
  });
}

__be16 rdma_get_src_port(rdma_cm_id* id) { return port_of(&id->route.addr.src_addr); }
__be16 rdma_get_dst_port(rdma_cm_id* id) { return port_of(&id->route.addr.dst_addr); }

}  // extern "C"

// Address handles: where datagrams go.
#include <algorithm>
#include <cstring>

#include "verbs/ibverbs/context.h"
#include "verbs/ibverbs/errors.h"
#include "verbs/ibverbs/path.h"
#include "wire/grh.h"
#include "wire/ip.h"

namespace weft::verbs {
namespace {

// The checksum over an IPv4 header with a right checksum is 0xFFFF: by that it is told from the last bytes of an IPv6
// header, which stand at the same place.
bool is_ipv4(const std::uint8_t* header) {
  if (header[0] != 0x45) return false;
  std::uint32_t sum = 0;
  for (int i = 0; i < 20; i += 2) sum += static_cast<std::uint32_t>(header[i]) << 8 | header[i + 1];
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return sum == 0xFFFF;
}

struct Sender {
  wire::Address from, to;
  std::uint32_t flow_label = 0;
  std::uint8_t traffic_class = 0;
};

Sender sender_of(const ibv_grh& grh) {
  std::array<std::uint8_t, wire::kGrhBytes> b{};
  static_assert(sizeof grh == wire::kGrhBytes);
  std::memcpy(b.data(), &grh, sizeof grh);
  Sender s;
  if (const std::uint8_t* v4 = &b[20]; is_ipv4(v4)) {
    s.from = wire::Address::v4(v4[12], v4[13], v4[14], v4[15]);
    s.to = wire::Address::v4(v4[16], v4[17], v4[18], v4[19]);
    s.traffic_class = v4[1];
    return s;
  }
  std::copy_n(&b[8], 16, s.from.bytes.begin());
  std::copy_n(&b[24], 16, s.to.bytes.begin());
  s.traffic_class = static_cast<std::uint8_t>(b[0] << 4 | b[1] >> 4);
  s.flow_label = (b[1] & 0xFU) << 16 | static_cast<std::uint32_t>(b[2]) << 8 | b[3];
  return s;
}

}  // namespace
}  // namespace weft::verbs

using namespace weft::verbs;

extern "C" {

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  Context& c = context_of(*pd);
  PathAttributes path;
  if (!path_of(*attr, path)) return refuse(EINVAL);
  if (c.lost()) return refuse(EIO);
  if (!c.device.card().port.reaches(path.peer, path.gid_index)) return refuse(EINVAL);
  if (!c.reaches(path.peer)) return refuse(EHOSTUNREACH);
  const Hold hold(c);
  return attempt([&]() -> ibv_ah* {
    auto* ah = new AddressHandle{};
    ah->context = pd->context;
    ah->pd = pd;
    ah->to.destination = path.peer;
    if (path.udp_source_port != 0) ah->to.udp_source_port = path.udp_source_port;
    ah->to.traffic_class = path.traffic_class;
    ah->to.gid_index = path.gid_index;
    ah->hop_limit = path.hop_limit;
    ah->service_level = path.service_level;
    ++ours(pd).users;
    return ah;
  });
}

// Work that is under way has its own copy: the handle may go at any time.
int ibv_destroy_ah(ibv_ah* ah) {
  const Hold hold(context_of(*ah));
  if (!hold) return EIO;
  --ours(ah->pd).users;
  delete &ours(ah);
  return 0;
}

int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* wc, ibv_grh* grh, ibv_ah_attr* attr) {
  if (port != kPort || (wc->wc_flags & IBV_WC_GRH) == 0) return minus_one(EINVAL);
  const Sender sender = sender_of(*grh);
  const auto& table = context_of(context).device.config().gids;
  const auto found = std::find(table.begin(), table.end(), sender.to);
  if (found == table.end()) return minus_one(EINVAL);
  *attr = {};
  attr->sl = wc->sl;
  attr->port_num = port;
  attr->is_global = 1;
  std::copy(sender.from.bytes.begin(), sender.from.bytes.end(), attr->grh.dgid.raw);
  attr->grh.flow_label = sender.flow_label;
  attr->grh.sgid_index = static_cast<std::uint8_t>(found - table.begin());
  attr->grh.hop_limit = 0xFF;
  attr->grh.traffic_class = sender.traffic_class;
  return 0;
}

ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port) {
  ibv_ah_attr attr{};
  if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr) != 0) return nullptr;
  return ibv_create_ah(pd, &attr);
}

// There is no Ethernet below us that a program could see. The answer is made of the address, as a local peer's would be
// stable, and of the range that belongs to nobody.
int ibv_resolve_eth_l2_from_gid(ibv_context*, ibv_ah_attr* attr, std::uint8_t* mac, std::uint16_t* vlan) {
  if (attr->is_global == 0) return EINVAL;
  mac[0] = 0x02;
  mac[1] = 0x57;
  std::copy_n(&attr->grh.dgid.raw[12], 4, mac + 2);
  if (vlan != nullptr) *vlan = 0xFFFF;
  return 0;
}

}  // extern "C"

// The path of an address handle or a connection: verbs' attributes, which know LIDs and service levels, and what a RoCE
// v2 card makes of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include <infiniband/verbs.h>

#include "verbs/ibverbs/limits.h"
#include "wire/types.h"

namespace weft::verbs {

struct PathAttributes {
  wire::Address peer;
  std::uint32_t flow_label = 0;
  std::uint16_t udp_source_port = 0;  // 0: none was asked for
  std::uint8_t gid_index = 0, hop_limit = 64, traffic_class = 0, service_level = 0;
};

inline wire::Address address_of(const ibv_gid& gid) {
  wire::Address a;
  std::copy(std::begin(gid.raw), std::end(gid.raw), a.bytes.begin());
  return a;
}

// False: no path of a RoCE device, which needs a GID, or of another port.
inline bool path_of(const ibv_ah_attr& attr, PathAttributes& out) {
  if (attr.is_global == 0 || attr.port_num > kPort) return false;
  out.peer = address_of(attr.grh.dgid);
  out.flow_label = attr.grh.flow_label & IB_GRH_FLOWLABEL_MASK;
  out.gid_index = attr.grh.sgid_index;
  out.hop_limit = attr.grh.hop_limit != 0 ? attr.grh.hop_limit : 64;
  out.traffic_class = attr.grh.traffic_class;
  out.service_level = attr.sl & 0xF;  // four bits wide; drivers do not look at the others either
  // UCX chooses its UDP source port in a field that RoCE has no other use for; others choose it by the flow label.
  if (attr.dlid >= IB_ROCE_UDP_ENCAP_VALID_PORT_MIN) {
    out.udp_source_port = attr.dlid;
  } else if (out.flow_label != 0) {
    out.udp_source_port = ibv_flow_label_to_udp_sport(out.flow_label);
  }
  return true;
}

}  // namespace weft::verbs

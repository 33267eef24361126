// A StaR connection between two hosts: the second keeps no state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nic/star/link.h"
#include "support/bed.h"

namespace weft::test {

inline BedSpec star_bed(std::uint64_t seed = 1) {
  BedSpec spec{.seed = seed};
  spec.dialect = nic::Dialect::star;
  spec.first_is_stateless = false;
  return spec;
}

inline std::vector<nic::Status> statuses(const Node& node) {
  std::vector<nic::Status> all;
  for (const nic::Completion& c : drain(node)) all.push_back(c.status);
  return all;
}

inline bool same_bytes(const Endpoint& a, Piece from, const Endpoint& b, Piece to) {
  return same_memory(a.node().bytes(from), b.node().bytes(to));
}

// A packet as the stateful host could send it, or anybody who says he is.
inline void inject(Bed& bed, const wire::Flow& flow, const wire::Headers& headers,
                   std::span<const std::byte> payload = {}, sim::HostIndex from = 0) {
  bed.world().send(from, bed.world().parcels().make(flow, headers, payload), bed.now());
}

}  // namespace weft::test

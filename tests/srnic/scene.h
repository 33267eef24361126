// What these tests share: beds that speak srnic, messages that can be told apart, and what must be true at the end.
#pragma once

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/bed.h"
#include "support/completions.h"

namespace weft::test {

inline constexpr std::uint32_t kMtu = 256;

inline BedSpec srnic_bed(sim::FaultPlan faults = {}) {
  BedSpec spec = speaking(nic::Dialect::srnic);
  spec.link.faults = std::move(faults);
  spec.link.faults.count_world = true;  // nth is counted over both directions
  return spec;
}
inline sim::FaultPlan dropping(std::initializer_list<std::uint64_t> packets) {
  sim::FaultPlan plan;
  for (const std::uint64_t nth : packets) plan.script.push_back({sim::Fault::drop, nth});
  return plan;
}

// Nothing is left of any recovery: no bitmap, no retry queue, no note, no flag.
inline void expect_nothing_held(Bed& bed) {
  for (Node& node : bed.nodes()) {
    EXPECT_EQ(node.device().retransmission().records(), 0U);
    EXPECT_EQ(node.device().retransmission().bytes(), 0U);
    EXPECT_EQ(node.device().card().reorder_notes.used(), 0U);
    EXPECT_EQ(node.counted(nic::Counter::recoveries_entered), node.counted(nic::Counter::recoveries_left));
    node.device().for_each_qp([](const host::QueuePair& qp) {
      const nic::Context& c = qp.context();
      EXPECT_FALSE(c.requests_lost || c.responses_lost);
      EXPECT_EQ(c.srnic.in.run, 0U);
      EXPECT_EQ(c.responses.in.run, 0U);
      EXPECT_EQ(c.retry_ring, nic::RetryRing::kNoRing);
    });
  }
}

inline bool same_bytes(const Endpoint& a, Piece from, const Endpoint& b, Piece to) {
  return std::ranges::equal(a.node().bytes(from), b.node().bytes(to));
}

}  // namespace weft::test

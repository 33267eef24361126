// Kernels on the chip: what a card pays for them, and that they do what they do elsewhere.
#include <gtest/gtest.h>

#include "lab/test_setting.h"
#include "lab/validate.h"

namespace weft::lab {
namespace {

Setting fetching(FetchFrom from, bool by_kernel) {
  Setting s;
  s.profile = shelf_profile("strom-10g");
  s.pattern = Pattern::fetch;
  s.operation = Operation::read;
  s.structure = from;
  s.by_kernel = by_kernel;
  s.bytes = 64;
  s.page_bytes = 2 << 20;
  s.qps = s.threads = s.depth = 1;
  s.messages = 200;
  s.warm_up_messages = 10;
  return s;
}

Setting streaming(const char* card, StreamKernel kernel) {
  Setting s;
  s.profile = shelf_profile(card);
  s.operation = Operation::rpc_write;
  s.stream_kernel = kernel;
  s.bytes = 64 * 1024;
  s.page_bytes = 2 << 20;
  s.qps = s.threads = 1;
  s.depth = 8;
  s.messages = 40;
  s.warm_up_messages = 10;
  return s;
}

TEST(KernelsOnChip, EverythingIsFetchedByReadsAndByKernelsOnEveryCard) {
  for (const char* card : {"strom-10g", "strom-100g", "srnic", "connectx6", "ideal"}) {
    for (const FetchFrom from : {FetchFrom::list, FetchFrom::table, FetchFrom::object}) {
      for (const bool by_kernel : {false, true}) {
        Setting s = fetching(from, by_kernel);
        s.profile = shelf_profile(card);
        s.bytes = 3000;  // an answer of several packets
        ASSERT_EQ(validate(s), "") << card;
        EXPECT_GT(values(s).at("latency_us"), 0) << card;
      }
    }
  }
}

TEST(KernelsOnChip, TheSameSeedGivesTheSameRun) {
  Setting s = fetching(FetchFrom::object, true);
  s.failures = 0.3;
  s.loss = 0.01;
  s.ack_timeout = 4;
  EXPECT_EQ(run(s), run(s));
  const Setting stream = streaming("strom-100g", StreamKernel::shuffle);
  EXPECT_EQ(run(stream), run(stream));
}

// A hop is a read that the next one waits for: what it takes is the bus's, whatever that is.
TEST(KernelsOnChip, AHopTakesWhatTheBusTakes) {
  const auto hop = [](Setting s) {
    s.profile.chip.pcie.read_jitter = 0;
    s.elements = 1;
    const double one = values(s).at("latency_mean_us");
    s.elements = 31;
    s.messages = 4000;
    return (values(s).at("latency_mean_us") - one) / 15;
  };
  Setting s = fetching(FetchFrom::list, true);
  const double usual = hop(s);
  s.profile.chip.pcie.read_latency += microseconds(1);
  EXPECT_NEAR(hop(s) - usual, 1, 0.05);
  s.profile.chip.kernels.step_cycles += 100;  // 0.64 us
  EXPECT_NEAR(hop(s) - usual, 1.64, 0.08);
}

// The answer is made on the card, and leaves without being read; but there is a copy in host memory.
TEST(KernelsOnChip, AnAnswerIsNotReadBeforeItLeaves) {
  Setting s = fetching(FetchFrom::object, true);
  s.bytes = 1024;
  const double kept = values(s).at("latency_us");
  s.profile.chip.under_way = sim::UnderWay::host_memory;
  EXPECT_GT(values(s).at("latency_us"), kept + 2) << "its entry and its bytes are read";
}

TEST(KernelsOnChip, ObjectsThatChangeAreReadAgain) {
  Setting s = fetching(FetchFrom::object, true);
  const double always_whole = values(s).at("latency_us");
  s.failures = 1;
  EXPECT_NEAR(values(s).at("latency_us") - always_whole, 1.6, 0.2) << "once more over the bus, and no round trip";
  s.by_kernel = false;
  const double twice = values(s).at("latency_us");
  s.failures = 0;
  EXPECT_NEAR(twice / values(s).at("latency_us"), 2, 0.1);
}

// What a kernel is fed are bytes: a run fails if it has not seen all of them, and the estimate is of what was sent.
TEST(KernelsOnChip, StreamsCarryBytes) {
  Setting s = streaming("strom-100g", StreamKernel::distinct);
  s.qps = 16;
  s.bytes = 256 * 1024;
  s.messages = s.warm_up_messages = 16;
  s.depth = 1;
  const double error = values(s).at("estimate_error_percent");
  EXPECT_GT(error, 0.1);
  EXPECT_LT(error, 1.6);
  EXPECT_GT(values(streaming("strom-10g", StreamKernel::shuffle)).at("goodput_gbps"), 5);
  s = streaming("srnic", StreamKernel::shuffle);
  s.loss = 0.001;
  EXPECT_GT(values(s).at("goodput_gbps"), 1);
}

// Its data path is as wide as the paper says, and with an eighth of that it would be too narrow.
TEST(KernelsOnChip, AKernelThatIsTooSlowHoldsTheWireUp) {
  Setting s = streaming("strom-100g", StreamKernel::distinct);
  const double wide = values(s).at("goodput_gbps");
  s.profile.chip.kernels.datapath_bytes = 8;  // 20.6 Gb/s
  const Values narrow = values(s);
  EXPECT_NEAR(narrow.at("goodput_gbps"), 20.6, 1);
  EXPECT_GT(wide, 80);
  EXPECT_GT(narrow.at("paused_percent"), 50);
  EXPECT_EQ(narrow.at("dropped_percent"), 0);
}

TEST(KernelsOnChip, SlowCommandsHoldUpSmallWritesFirst) {
  Setting s = streaming("strom-100g", StreamKernel::shuffle);
  s.profile.chip.pcie.command_time = nanoseconds(20);  // 128 bytes in 20 ns: 51 Gb/s
  EXPECT_NEAR(values(s).at("goodput_gbps"), 51, 3);
  s.operation = Operation::write;
  EXPECT_GT(values(s).at("goodput_gbps"), 80);
}

// Objects of 8 KB with their checksum lie 8256 bytes apart: number 254 goes across the end of a page of 2 MB, and its
// kernel reads it in two parts.
TEST(KernelsOnChip, AccessesAreSplitWherePagesEnd) {
  Setting s = fetching(FetchFrom::object, true);
  s.bytes = 8192;
  s.qps = 254;
  s.messages = s.warm_up_messages = 254;
  EXPECT_EQ(values(s).at("tlb_splits"), 0);
  s.qps = 255;
  s.messages = s.warm_up_messages = 2550;
  EXPECT_NEAR(values(s).at("tlb_splits"), 1.0 / 255, 0.1 / 255);
}

TEST(KernelsOnChip, MemoryThatTheTlbDoesNotReachIsRefused) {
  Setting s = fetching(FetchFrom::object, false);
  s.pattern = Pattern::stream;
  s.region_bytes = std::uint64_t{32} << 30;
  EXPECT_EQ(validate(s), "");
  s.region_bytes += 1 << 20;
  EXPECT_NE(validate(s).find("tlb.entries"), std::string::npos) << validate(s);
}

TEST(KernelsOnChip, WhatMakesNoSenseIsRefused) {
  Setting s = fetching(FetchFrom::object, true);
  s.depth = 2;
  EXPECT_NE(validate(s), "");
  s = fetching(FetchFrom::list, true);
  s.failures = 0.1;
  EXPECT_NE(validate(s), "");
  s = fetching(FetchFrom::object, true);
  s.stateless = StatelessCards::server;
  EXPECT_NE(validate(s), "");
  s = streaming("strom-10g", StreamKernel::shuffle);
  s.bytes = 1001;
  EXPECT_NE(validate(s), "");
  s = streaming("strom-10g", StreamKernel::shuffle);
  s.partitions = 3;
  EXPECT_NE(validate(s), "");
  s = streaming("strom-10g", StreamKernel::shuffle);
  s.pattern = Pattern::ping_pong;
  EXPECT_NE(validate(s), "");
}

// Programs that look at their memory see a WRITE without a completion.
TEST(KernelsOnChip, WritesGoBackAndForth) {
  Setting s = fetching(FetchFrom::object, false);
  s.pattern = Pattern::ping_pong;
  s.operation = Operation::write;
  ASSERT_EQ(validate(s), "");
  const double small = values(s).at("latency_us");
  s.bytes = 4096;
  EXPECT_GT(values(s).at("latency_us"), small + 3) << "4 KB take 3.3 us of the wire";
}

}  // namespace
}  // namespace weft::lab

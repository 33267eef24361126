// What the chip charges a kernel for: its steps, its instances, its reads and writes.
#include <array>

#include <gtest/gtest.h>

#include "world/sim/chip/made.h"
#include "world/sim/chip/shell.h"

namespace weft::sim {
namespace {

using nic::BusRead;
using nic::BusWrite;

constexpr std::uint32_t kKernel = 1;
alignas(8192) constexpr std::array<std::byte, 16384> kTwoPages{};

ChipSpec chip_with_kernels() {
  ChipSpec spec;
  spec.clock_mhz = 1000;  // a cycle is a nanosecond
  spec.under_way = UnderWay::on_chip;
  spec.kernels = {.datapath_bytes = 64, .step_cycles = 10, .write_buffer_bytes = 1024};
  spec.pcie = {.generation = 3,
               .lanes = 16,
               .max_payload = 256,
               .max_read_request = 512,
               .read_latency = microseconds(1),
               .write_latency = nanoseconds(200)};
  return spec;
}

double nanos(Time t) { return static_cast<double>(t) / 1000; }

// A call of `hops` dependent reads of 64 bytes; when it is over.
Time call_of(Shell& shell, std::uint32_t instances, int hops) {
  Time ready_at = 0;
  shell.begin(0, 0);
  shell.kernel_begins(kKernel, instances, ready_at);
  shell.kernel_enters(ready_at, false);
  shell.kernel_step(kKernel, 40, false);
  for (int i = 0; i < hops; ++i) {
    shell.read(BusRead::kernel, kTwoPages.data(), 64);
    shell.kernel_step(kKernel, 64, true);
  }
  shell.kernel_ends(kKernel);
  const Time end = shell.kernel_leaves(false);
  shell.leave_kernels();
  return end;
}

TEST(KernelPricing, ADependentReadIsARoundTripOfTheBus) {
  Shell shell(chip_with_kernels(), 16, 1);
  const Time none = call_of(shell, 4, 0);
  EXPECT_NEAR(nanos(none), 1 + 10, 0.1) << "a word, and the latency of a step";
  const double hop = nanos(call_of(shell, 4, 8) - none) / 8;
  EXPECT_NEAR(hop, 1000 + 8 + 1 + 10, 3) << "the round trip, 64 bytes in one completion, a word, a step";
}

TEST(KernelPricing, CallsWaitForAnInstanceThatIsFree) {
  Shell shell(chip_with_kernels(), 16, 1);
  const Time first = call_of(shell, 2, 4), second = call_of(shell, 2, 4), third = call_of(shell, 2, 4);
  EXPECT_NEAR(nanos(second), nanos(first), 100) << "two at once";
  EXPECT_NEAR(nanos(third), 2 * nanos(first), 100) << "and the third behind";
}

// The packet has been dealt with when the kernel has its parameters: its acknowledgement does not wait for the answer.
TEST(KernelPricing, ThePacketOfACallDoesNotWait) {
  Shell shell(chip_with_kernels(), 16, 1);
  call_of(shell, 4, 8);
  EXPECT_EQ(shell.cursor(), 0);
}

TEST(KernelPricing, PayloadWaitsUntilTheKernelHasTakenWhatCameBefore) {
  Shell shell(chip_with_kernels(), 16, 1);
  Time ready_at = 0;
  shell.begin(0, 0);
  shell.kernel_begins(kKernel, 4, ready_at);
  for (int packet = 1; packet <= 3; ++packet) {
    shell.begin(0, 0);
    shell.kernel_enters(ready_at, true);
    shell.kernel_step(kKernel, 1024, false);
    ready_at = shell.kernel_leaves(true);
    EXPECT_NEAR(nanos(ready_at), 16 * packet, 0.1) << "16 words each; the latency of a step is in a pipeline";
  }
}

// A kernel that writes more than the bus takes is held up by it, but for what its buffer has room for.
TEST(KernelPricing, WritesThatTheBusCannotTakeHoldItUp) {
  Shell shell(chip_with_kernels(), 16, 1);
  Time ready_at = 0;
  shell.begin(0, 0);
  shell.kernel_begins(kKernel, 4, ready_at);
  shell.kernel_enters(ready_at, true);
  shell.kernel_step(kKernel, 64, false);
  for (int i = 0; i < 8; ++i) shell.dma_write(kTwoPages.data(), 128);
  EXPECT_NEAR(nanos(shell.kernel_leaves(true)), 11, 10) << "a kilobyte is in the buffer";
  shell.kernel_enters(ready_at, true);
  for (int i = 0; i < 800; ++i) shell.dma_write(kTwoPages.data(), 128);
  const double each = nanos(shell.kernel_leaves(true)) / 800;
  EXPECT_NEAR(each, (128 + 24) * 8 / 113.7, 0.3) << "128 bytes and what is around them, at 113.7 Gb/s";
}

TEST(KernelPricing, WhatTheCardHasMadeIsNotReadBeforeItIsSent) {
  Shell shell(chip_with_kernels(), 16, 1);
  shell.begin(0, 0);
  shell.write(BusWrite::answer, kTwoPages.data() + 8, 100);
  shell.write(BusWrite::answer, kTwoPages.data(), 8);
  shell.write(BusWrite::kernel, kTwoPages.data() + 1024, 64);
  const std::uint64_t copied = shell.bus().bytes();
  EXPECT_EQ(copied, 24 + 100 + 24 + 8U) << "a copy of the answer; the entry stays on chip";
  shell.read(BusRead::work, kTwoPages.data() + 1024, 64);
  shell.read(BusRead::answer, kTwoPages.data(), 108);
  EXPECT_EQ(shell.bus().bytes(), copied);
  shell.begin(0, 0);
  shell.read(BusRead::answer, kTwoPages.data(), 108);
  EXPECT_EQ(shell.bus().bytes(), copied + 24 + 20 + 108) << "sent again, it is read";
}

TEST(KernelPricing, ACardThatKeepsNothingReadsItsAnswers) {
  ChipSpec spec = chip_with_kernels();
  spec.under_way = UnderWay::host_memory;
  Shell shell(spec, 16, 1);
  shell.begin(0, 0);
  shell.write(BusWrite::answer, kTwoPages.data(), 100);
  shell.write(BusWrite::kernel, kTwoPages.data() + 1024, 64);
  const std::uint64_t written = shell.bus().bytes();
  EXPECT_EQ(written, 24 + 100 + 24 + 64U);
  shell.read(BusRead::work, kTwoPages.data() + 1024, 64);
  shell.read(BusRead::answer, kTwoPages.data(), 100);
  EXPECT_EQ(shell.bus().bytes(), written + 24 + 20 + 64 + 24 + 20 + 100);
}

TEST(KernelPricing, PartsOfWhatWasMadeAreTakenOneByOne) {
  Made made;
  made.add(kTwoPages.data(), 100);
  EXPECT_EQ(made.take(kTwoPages.data() + 40, 20), 20U);
  EXPECT_EQ(made.take(kTwoPages.data() + 40, 20), 0U);
  made.add(kTwoPages.data() + 90, 20);
  EXPECT_EQ(made.take(kTwoPages.data(), 200), 40 + 30 + 20U);
}

TEST(KernelPricing, NoAccessGoesAcrossTheEndOfAPage) {
  ChipSpec spec = chip_with_kernels();
  spec.tlb = {.entries = 4, .page_bytes = 8192};
  Shell shell(spec, 16, 1);
  shell.begin(0, 0);
  shell.read(BusRead::payload, kTwoPages.data() + 8192 - 100, 100);
  shell.read(BusRead::kernel, kTwoPages.data() + 8192, 100);
  EXPECT_EQ(shell.splits(), 0U);
  const std::uint64_t before = shell.bus().bytes();
  shell.read(BusRead::kernel, kTwoPages.data() + 8192 - 50, 100);
  shell.dma_write(kTwoPages.data() + 8192 - 50, 100);
  EXPECT_EQ(shell.splits(), 2U);
  EXPECT_EQ(shell.bus().bytes() - before, 2 * (24 + 20 + 50) + 2 * (24 + 50U));
}

}  // namespace
}  // namespace weft::sim

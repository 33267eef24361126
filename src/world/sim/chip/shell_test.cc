// What the chip charges for what the card asks for.
#include "world/sim/chip/shell.h"

#include <array>

#include <gtest/gtest.h>

namespace weft::sim {
namespace {

using nic::BusRead;

constexpr std::array<std::byte, 4096> kHostMemory{};

ChipSpec chip() {
  ChipSpec spec;
  spec.clock_mhz = 1000;  // a cycle is a nanosecond
  spec.datapath_bytes = 64;
  spec.transmit_cycles = 20;
  spec.receive_cycles = 30;
  spec.packet_cycles = 2;
  spec.pcie = {.generation = 3,
               .lanes = 16,
               .max_payload = 256,
               .max_read_request = 512,
               .tags = 0,
               .read_latency = microseconds(1),
               .write_latency = nanoseconds(200),
               .doorbell_latency = nanoseconds(100)};
  spec.contexts = {.entries = 4, .shape = {}, .entry_bytes = 256};
  return spec;
}

double in_ns(Time t) { return static_cast<double>(t) / 1000; }

TEST(Shell, AContextOnChipIsFreeAndOneThatIsNotCostsARead) {
  Shell shell(chip(), 16, 1);
  shell.begin(0, 0);
  shell.touch_context(3);
  EXPECT_NEAR(in_ns(shell.cursor()), 1021, 2) << "a round trip, and 256 bytes in one completion";
  shell.begin(0, 0);
  shell.touch_context(3);
  EXPECT_EQ(shell.cursor(), 0);
}

TEST(Shell, AContextThatMakesRoomIsWrittenBack) {
  Shell shell(chip(), 16, 1);
  for (std::uint32_t i = 0; i < 4; ++i) shell.touch_context(i);
  const std::uint64_t before = shell.bus().bytes(BusUse::context);
  shell.touch_context(4);
  EXPECT_EQ(shell.bus().bytes(BusUse::context) - before, (24 + 20 + 256) + (24 + 256));
}

// Work first, then the payload that it tells of, then the pipeline.
TEST(Shell, APacketWaitsForItsWorkAndItsPayload) {
  Shell shell(chip(), 16, 1);
  shell.begin(0, 0);
  shell.read(BusRead::work, kHostMemory.data(), 64);
  shell.read(BusRead::payload, kHostMemory.data(), 512);
  const Time ready = shell.send(578);
  EXPECT_NEAR(in_ns(ready), 1008 + 1041 + 10 + 20, 4);
}

TEST(Shell, EntriesAreAskedForAtOnceAndTranslationsWhenTheyAreKnown) {
  Shell entries(chip(), 16, 1), translations(chip(), 16, 1);
  for (Shell* shell : {&entries, &translations}) shell->begin(0, 0);
  for (int i = 0; i < 4; ++i) {
    entries.read(BusRead::work, kHostMemory.data() + 64 * i, 64);
    translations.read(BusRead::translation, kHostMemory.data() + 8 * i, 8);
  }
  EXPECT_LT(in_ns(entries.cursor()), 1050);
  EXPECT_GT(in_ns(translations.cursor()), 4000);
}

TEST(Shell, WorkThatCameWithItsDoorbellIsNotFetched) {
  Shell shell(chip(), 16, 1);
  shell.begin(0, 0);
  shell.carried(64);
  shell.read(BusRead::work, kHostMemory.data(), 64);
  EXPECT_EQ(shell.cursor(), 0);
  EXPECT_EQ(shell.work_misses(), 0U);
  shell.read(BusRead::work, kHostMemory.data() + 64, 64);
  EXPECT_GT(in_ns(shell.cursor()), 1000) << "the next one is";
}

TEST(Shell, WhatIsReadAheadIsNotWaitedForButCrossesTheBus) {
  Shell shell(chip(), 16, 1);
  shell.begin(0, 0);
  shell.read(BusRead::ahead, kHostMemory.data(), 512);
  EXPECT_EQ(shell.cursor(), 0);
  EXPECT_GT(shell.bus().bytes(BusUse::work), 512U);
}

TEST(Shell, OnlySoManyMissesAreUnderWay) {
  ChipSpec spec = chip();
  spec.misses_under_way = 2;
  spec.contexts.entries = 64;
  Shell shell(spec, 64, 1);
  for (std::uint32_t i = 0; i < 6; ++i) {
    shell.begin(0, 0);
    shell.touch_context(i);
  }
  EXPECT_GT(in_ns(shell.cursor()), 3000) << "the third pair";
  EXPECT_LT(in_ns(shell.cursor()), 3150);
}

// -- stateless connections --

TEST(Shell, OfAStatelessConnectionNothingIsKept) {
  ChipSpec spec = chip();
  spec.under_way = UnderWay::on_chip;
  Shell shell(spec, 16, 1);
  shell.begin(0, 0);
  shell.keep_nothing();
  shell.read(BusRead::work_under_way, kHostMemory.data(), 64);
  EXPECT_GT(in_ns(shell.complete()), 1000);
  EXPECT_EQ(shell.bus().bytes(BusUse::under_way), 24U + 20 + 64);
  shell.begin(0, 0);
  shell.read(BusRead::work_under_way, kHostMemory.data(), 64);
  EXPECT_EQ(shell.bus().bytes(BusUse::under_way), 24U + 20 + 64) << "what is next has a context again";
}

// Contexts are looked for one at a time; a stateless packet waits for its own reads only.
TEST(Shell, BlocksDoNotWaitForEachOther) {
  ChipSpec spec = chip();
  spec.misses_under_way = 1;
  Shell shell(spec, 16, 1);
  for (int i = 0; i < 4; ++i) {
    shell.begin(0, 0);
    shell.keep_nothing();
    shell.read(BusRead::block, kHostMemory.data() + 64 * i, 64);
  }
  EXPECT_LT(in_ns(shell.cursor()), 1100);
  spec.stateless_reads = 1;
  Shell one(spec, 16, 1);
  for (int i = 0; i < 4; ++i) {
    one.begin(0, 0);
    one.keep_nothing();
    one.read(BusRead::block, kHostMemory.data() + 64 * i, 64);
  }
  EXPECT_GT(in_ns(one.cursor()), 4000);
}

// Contexts are looked for one at a time. Entries wait in the DMA unit's queue, if the card has one for them.
TEST(Shell, EntriesThatQueueAreNoMisses) {
  ChipSpec spec = chip();
  spec.misses_under_way = 1;
  for (const bool queue : {false, true}) {
    spec.entries_queue = queue;
    Shell shell(spec, 16, 1);
    for (int i = 0; i < 2; ++i) {
      shell.begin(0, 0);
      shell.read(i == 0 ? BusRead::work : BusRead::receive, kHostMemory.data() + 64 * i, 64);
    }
    EXPECT_EQ(in_ns(shell.cursor()) > 2000, !queue);
    shell.begin(0, 0);
    shell.read(BusRead::translation, kHostMemory.data(), 8);
    shell.begin(0, 0);
    shell.read(BusRead::translation, kHostMemory.data() + 8, 8);
    EXPECT_GT(in_ns(shell.cursor()), 2000) << "others do wait";
  }
}

TEST(Shell, AStatelessPostBringsAllThatItNeeds) {
  Shell shell(chip(), 16, 1);
  shell.begin(0, 0);
  shell.keep_nothing();
  shell.carried(96);
  shell.read(BusRead::work, kHostMemory.data(), 64);
  shell.read(BusRead::receive_under_way, kHostMemory.data() + 64, 32);
  EXPECT_EQ(shell.cursor(), 0);
  EXPECT_EQ(shell.finished(), 0);
  shell.read(BusRead::receive_under_way, kHostMemory.data() + 96, 32);
  EXPECT_GT(in_ns(shell.finished()), 1000) << "what it did not bring is fetched";
}

TEST(Shell, ACapabilityTakesItsCycles) {
  ChipSpec spec = chip();
  spec.capability_cycles = 20;
  Shell shell(spec, 16, 1);
  shell.begin(0, 0);
  shell.check_capability();
  EXPECT_EQ(shell.cursor(), shell.cycles(20));
  EXPECT_GT(shell.cursor(), 0);
}

TEST(Shell, ALookIntoTheRegistryTakesItsCycles) {
  ChipSpec spec = chip();
  spec.rule_cycles = 4;
  Shell shell(spec, 16, 1);
  shell.begin(0, 0);
  shell.check_rule();
  EXPECT_EQ(shell.cursor(), shell.cycles(4));
  EXPECT_GT(shell.cursor(), 0);
}

// -- what is under way: nothing of it is kept, or all of it --

TEST(Shell, WorkThatIsNotKeptIsReadAgainBeforeItCompletes) {
  ChipSpec kept = chip(), not_kept = chip();
  kept.under_way = UnderWay::on_chip;
  not_kept.under_way = UnderWay::host_memory;
  Shell on_chip(kept, 16, 1), in_memory(not_kept, 16, 1);
  std::array<Time, 2> seen{};
  for (Shell* shell : {&on_chip, &in_memory}) {
    shell->begin(0, 0);
    shell->read(BusRead::work_under_way, kHostMemory.data(), 64);
    EXPECT_EQ(shell->cursor(), 0) << "the window opens at once";
    seen[shell == &in_memory ? 1 : 0] = shell->complete();
  }
  EXPECT_NEAR(in_ns(seen[1] - seen[0]), 1008, 4) << "a round trip";
  EXPECT_EQ(on_chip.bus().bytes(BusUse::under_way), 0U);
  EXPECT_EQ(in_memory.bus().bytes(BusUse::under_way), 24U + 20 + 64);
}

TEST(Shell, PayloadIsPlacedWhenItsReceiveEntryIsKnown) {
  Shell shell(chip(), 16, 1);
  shell.begin(0, 0);
  shell.read(BusRead::receive_under_way, kHostMemory.data(), 32);
  shell.dma_write(kHostMemory.data(), 64);
  EXPECT_GT(in_ns(shell.finished()), 1000 + 200);
}

// Whatever part of it is asked for: a turn that has fetched eight entries completes them without another look.
TEST(Shell, WhatHasBeenReadForAPacketIsNotReadAgainForIt) {
  Shell shell(chip(), 16, 1);
  shell.begin(0, 0);
  shell.read(BusRead::work, kHostMemory.data(), 512);
  shell.read(BusRead::work_under_way, kHostMemory.data() + 448, 64);
  EXPECT_EQ(shell.bus().bytes(BusUse::under_way), 0U);
  shell.read(BusRead::work_under_way, kHostMemory.data() + 512, 64);
  shell.read(BusRead::work_under_way, kHostMemory.data() + 512, 64);
  EXPECT_EQ(shell.bus().bytes(BusUse::under_way), 24U + 20 + 64);
  shell.begin(0, 0);
  shell.read(BusRead::work_under_way, kHostMemory.data() + 512, 64);
  EXPECT_EQ(shell.bus().bytes(BusUse::under_way), 2 * (24U + 20 + 64)) << "for the next packet it is";
}

// Every way to host memory that the card has costs bytes of the bus, unless the profile says that it is on chip.
TEST(Shell, EveryReadAndWriteHasAPrice) {
  using enum BusRead;
  for (const BusRead what : {work, receive, receive_order, ahead, payload, translation, atomic, work_under_way,
                             receive_under_way, saved_response, reorder_note, retry}) {
    Shell shell(chip(), 16, 1);
    shell.read(what, kHostMemory.data(), 32);
    EXPECT_GE(shell.bus().bytes(), 24U + 20 + 32) << static_cast<int>(what);
  }
  for (const nic::BusWrite what : {nic::BusWrite::atomic, nic::BusWrite::work_under_way, nic::BusWrite::saved_response,
                                   nic::BusWrite::reorder_note, nic::BusWrite::retry}) {
    Shell shell(chip(), 16, 1);
    shell.write(what, kHostMemory.data(), 32);
    EXPECT_EQ(shell.bus().bytes(), 24U + 32) << static_cast<int>(what);
  }
}

TEST(Shell, AnAnswerBeginsWhenWhatIsAskedForIsKnown) {
  for (const BusRead what : {BusRead::saved_response, BusRead::retry}) {
    Shell shell(chip(), 16, 1);
    shell.begin(0, 0);
    shell.read(what, kHostMemory.data(), 48);
    EXPECT_GT(in_ns(shell.cursor()), 1000);
  }
}

// The host must not see a completion before what it completes.
TEST(Shell, ACompletionIsNotSeenBeforeItsPayload) {
  Shell shell(chip(), 16, 1);
  shell.begin(0, 0);
  shell.dma_write(kHostMemory.data(), 4096);
  EXPECT_GE(shell.complete(), shell.finished());
  EXPECT_GT(in_ns(shell.finished()), 200 + 300);
}

TEST(Shell, AStageIsBusyWithOnePacketAtATime) {
  Shell shell(chip(), 16, 1);
  shell.begin_packet(0, 1024);
  EXPECT_NEAR(in_ns(shell.cursor()), 16 + 30, 1);
  shell.begin_packet(0, 64);
  EXPECT_NEAR(in_ns(shell.cursor()), 16 + 2 + 30, 1) << "two cycles are the least";
}

}  // namespace
}  // namespace weft::sim

// Runs of the chip: what must hold of any card, and what tells one from another.
#include "lab/run.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "lab/test_setting.h"
#include "lab/testbed.h"

namespace weft::lab {
namespace {

Setting setting(const std::string& name) {
  Setting s;
  s.profile = shelf_profile(name);
  s.profile.device.card.congestion = nic::CongestionControl::none;
  s.threads = 4;
  s.qps = 16;
  s.depth = 8;
  s.messages = 4'000;
  s.warm_up_messages = 1'000;
  return s;
}

TEST(Run, TheSameSeedGivesTheSameRun) {
  Setting s = setting("srnic");
  s.loss = 0.01;
  const Outcome first = run(s);
  EXPECT_EQ(first, run(s));
  s.seed = 2;
  EXPECT_NE(first, run(s));
}

TEST(Run, EveryProfileRunsEveryOperation) {
  for (const char* name :
       {"srnic", "connectx5", "connectx6", "irn", "star-fpga", "connectx3", "strom-10g", "strom-100g", "ideal"}) {
    for (const Operation operation : {Operation::send, Operation::write, Operation::read}) {
      Setting s = setting(name);
      s.operation = operation;
      s.messages = 1'000;
      s.warm_up_messages = 200;
      const Values v = values(s);
      EXPECT_GT(v.at("goodput_gbps"), 0) << name;
      EXPECT_LE(v.at("mac_gbps"), static_cast<double>(s.profile.link_bits_per_second) / 1e9) << name;
    }
  }
}

// The wire cannot carry more, and the parts of an operation's time are all of it.
TEST(Run, WhatIsMeasuredAddsUp) {
  const Values v = values(setting("srnic"));
  EXPECT_LE(v.at("mac_gbps"), 96.8);
  EXPECT_GE(v.at("mac_gbps"), v.at("goodput_gbps"));
  EXPECT_NEAR(v.at("t12_us") + v.at("t23_us") + v.at("t34_us") + v.at("t45_us") + v.at("t56_us"), v.at("t16_us"), 1e-6);
  EXPECT_LE(v.at("pcie_down_use"), 100.5);
  EXPECT_LE(v.at("pcie_up_use"), 100.5);
}

TEST(Run, AnIdealCardIsBoundByItsWireOnly) {
  const Values v = values(setting("ideal"));
  EXPECT_GT(v.at("wire_use"), 99);
  EXPECT_EQ(v.at("pcie_gbps"), 0);
}

// 3.3 us are two reads of the bus and some ways: without its latency little is left.
TEST(Run, TheBusIsMostOfALatency) {
  Setting s = setting("srnic");
  s.pattern = Pattern::ping_pong;
  s.bytes = s.inline_bytes = 64;
  s.qps = s.threads = s.depth = 1;
  s.profile.chip.pcie.read_jitter = 0;
  s.messages = 100;
  s.warm_up_messages = 10;
  const double with = values(s).at("latency_us");
  s.profile.chip.pcie.read_latency = 0;
  EXPECT_NEAR(with - values(s).at("latency_us"), 2.2, 0.01);
}

// To complete a WRITE that is alone the sender reads 16 bytes of its work entry again, which are 60 on the bus.
TEST(Run, ACardThatKeepsNothingReadsWorkAgainToCompleteIt) {
  Setting s = setting("srnic");
  s.operation = Operation::write;
  s.bytes = 512;
  s.qps = s.threads = s.depth = 1;
  s.profile.chip.under_way = sim::UnderWay::on_chip;
  const Values kept = values(s);
  s.profile.chip.under_way = sim::UnderWay::host_memory;
  const Values read_again = values(s);
  const auto extra_bytes = [](const Values& v) { return v.at("pcie_extra_gbps") / v.at("message_rate") * 1000 / 8; };
  EXPECT_NEAR(extra_bytes(read_again) - extra_bytes(kept), 60, 1);
}

TEST(Run, AnsweredReadsAreUnderWayToo) {
  for (const char* name : {"srnic", "connectx6"}) {
    Setting s = setting(name);
    s.operation = Operation::read;
    s.bytes = 4096;
    s.profile.chip.under_way = sim::UnderWay::on_chip;
    const double kept = values(s).at("pcie_extra_gbps");
    s.profile.chip.under_way = sim::UnderWay::host_memory;
    EXPECT_GT(values(s).at("pcie_extra_gbps"), kept) << name;
  }
}

// Over a long cable so many READs are answered in a round trip as may be under way.
TEST(Run, AsManyReadsAreUnderWayAsTheCardMayHave) {
  Setting s = setting("connectx6");
  s.operation = Operation::read;
  s.bytes = 64;
  s.qps = s.threads = 1;
  s.depth = 128;
  s.link_delay = microseconds(20);
  s.messages = 2'000;
  const double usual = values(s).at("message_rate");
  s.profile.device.max_reads *= 4;
  EXPECT_NEAR(values(s).at("message_rate") / usual, 4, 0.1);
}

// A thousand connections: the card with a cache of their state slows down, the one that fetches and drops does not.
TEST(Run, ManyConnectionsCostTheConventionalCardOnly) {
  for (const auto& [name, keeps] : {std::pair{"srnic", true}, {"connectx6", false}}) {
    Setting s = setting(name);
    s.depth = 2;
    s.threads = 16;
    s.messages = s.warm_up_messages = 0;
    s.qps = 128;
    const double few = values(s).at("mac_gbps");
    s.qps = 2048;
    const Values many = values(s);
    EXPECT_EQ(many.at("mac_gbps") > 0.98 * few, keeps) << name;
    EXPECT_EQ(many.at("context_misses") > 0.1, !keeps) << name;
  }
}

Setting one_lossy_connection(const char* card) {
  Setting s = setting(card);
  s.qps = s.threads = 1;
  s.depth = 128;
  s.bytes = 4096;
  s.loss = 0.01;
  s.messages = 10'000;
  return s;
}

// Only a lost packet is sent again, and none of those around it, though the host's software hears of the loss late.
TEST(Run, SelectiveRepeatSendsLittleMoreThanWasLost) {
  Setting s = one_lossy_connection("srnic");
  const Values v = values(s);
  EXPECT_GT(v.at("retransmitted_percent"), 0.3);
  EXPECT_LT(v.at("retransmitted_percent"), 1.5) << "of packets of both sides";
  EXPECT_GT(v.at("pcie_control_percent"), 0.5);
}

// Go-back-N waits for a timeout when what it sends again is lost again, unless the responder says so once more.
TEST(Run, ACardThatTellsAgainOfAGapNeedsNoTimeouts) {
  Setting s = one_lossy_connection("connectx6");
  s.lost_on = LostOn::way_out;
  const double told_again = values(s).at("raw_gbps");
  EXPECT_GT(told_again, 95) << "the wire stays full";
  s.profile.device.card.naks_again = false;
  EXPECT_LT(values(s).at("raw_gbps"), 0.9 * told_again);
}

// A NAK that is lost is not said again before something is sent again, and that is after the timeout.
TEST(Run, AcknowledgementsAreLostAsWell) {
  Setting s = one_lossy_connection("connectx6");
  s.time_limit = milliseconds(60'000);
  const double both = values(s).at("goodput_gbps");
  s.lost_on = LostOn::way_out;
  const double out = values(s).at("goodput_gbps");
  EXPECT_LT(both, out / 2) << "it waits for 67 ms now and then";
  s.lost_on = LostOn::both_ways;
  s.ack_timeout = 6;
  EXPECT_GT(values(s).at("goodput_gbps"), 2 * both) << "for 262 us only";
}

// However much a queue pair has under way, what is measured is no beginning: a doorbell and an entry for each message.
TEST(Run, TheFirstMessagesAreAsThoseLater) {
  Setting s = setting("srnic");
  s.qps = 1024;
  s.threads = 16;
  s.depth = 128;
  s.signal_every = 100;
  s.messages = s.warm_up_messages = 0;
  const Values early = values(s);
  s.warm_up_messages = s.messages = 1024 * 128;
  const Values late = values(s);
  EXPECT_NEAR(early.at("pcie_extra_gbps"), late.at("pcie_extra_gbps"), 0.02 * late.at("pcie_extra_gbps"));
}

// A message that finds no receive posted is refused, and comes again when the receiver has had its time.
TEST(Run, TooFewReceivesSlowSendersDown) {
  Setting s = setting("connectx6");
  s.receive_depth = 512;
  const Values enough = values(s);
  EXPECT_EQ(enough.at("retransmitted_percent"), 0);
  s.receive_depth = 2;
  const Values few = values(s);
  EXPECT_GT(few.at("retransmitted_percent"), 0);
  EXPECT_LT(few.at("message_rate"), enough.at("message_rate"));
}

TEST(Run, ThreadsAreBusyWithWhatTheyPostAndTake) {
  Setting s = setting("srnic");
  s.qps = s.threads = 1;
  s.depth = 128;
  s.bytes = 65536;
  s.messages = 2'000;
  const Values v = values(s);
  const sim::ThreadSpec& cost = s.profile.thread;
  const double ns = static_cast<double>(cost.post + cost.doorbell + cost.completion) / 1000;
  EXPECT_NEAR(v.at("asker_busy_percent"), v.at("message_rate") * ns / 10, 0.05);
  const double no_doorbell = ns - static_cast<double>(cost.doorbell) / 1000;
  EXPECT_NEAR(v.at("answerer_busy_percent"), v.at("message_rate") * no_doorbell / 10, 0.05);
}

TEST(Run, AFullReceiveBufferPausesThePeerOrLosesPackets) {
  Setting s = setting("connectx6");
  s.qps = 1024;
  s.depth = 4;
  s.messages = s.warm_up_messages = 0;
  s.profile.chip.misses_under_way = 2;
  EXPECT_EQ(values(s).at("retransmitted_percent"), 0) << "with PFC nothing is lost";
  s.profile.chip.pause = false;
  s.profile.chip.receive_buffer_bytes = 8192;
  EXPECT_GT(values(s).at("retransmitted_percent"), 0);
}

// However long the cable is: what comes until the peer has heard of it has room.
TEST(Run, APausedPeerIsHeardOutWhateverTheCable) {
  for (const Time delay : {nanoseconds(20), microseconds(1), microseconds(20)}) {
    Setting s = setting("connectx6");
    s.qps = 1024;
    s.depth = 4;
    s.profile.chip.misses_under_way = 2;
    s.link_delay = delay;
    const sim::Link link(link_for(s), {}, {});
    s.profile.chip.receive_buffer_bytes = sim::pause_headroom(link, link) + 4096;
    const Values v = values(s);
    EXPECT_EQ(v.at("dropped_percent"), 0) << delay;
    EXPECT_EQ(v.at("retransmitted_percent"), 0) << delay;
    EXPECT_GT(v.at("pausing_percent"), 10) << delay;
    EXPECT_GT(v.at("paused_percent"), 10) << delay;
  }
}

// Four clients have the server's card do more than it can: it pauses the switch's port, and the switch pauses them.
TEST(Run, BehindASwitchASlowReceiverPausesSendersOrLosesPackets) {
  Setting s = setting("connectx6");
  s.clients = 4;
  s.qps = 1024;
  s.depth = 4;
  s.messages = s.warm_up_messages = 0;
  s.profile.chip.misses_under_way = 2;
  s.profile.chip.receive_buffer_bytes = 65536;
  s.switch_buffer_bytes = 400'000;
  s.ack_timeout = 8;  // 1 ms, or else most wait for it while the others are measured
  const Values paused = values(s);
  EXPECT_EQ(paused.at("dropped_percent"), 0) << "with PFC nothing is lost";
  EXPECT_EQ(paused.at("retransmitted_percent"), 0);
  EXPECT_GT(paused.at("paused_percent"), 10);
  EXPECT_GT(paused.at("pausing_percent"), 10);
  EXPECT_EQ(run(s), run(s));
  s.profile.chip.pause = false;
  const Values dropped = values(s);
  EXPECT_GT(dropped.at("dropped_percent"), 1);
  EXPECT_GT(dropped.at("retransmitted_percent"), 1);
  EXPECT_EQ(dropped.at("paused_percent"), 0);
}

// What is under way is less than the buffer holds: whether that has an end cannot be seen.
TEST(Run, ASwitchThatIsLargeEnoughIsAsOneWithoutEnd) {
  Setting s = setting("connectx6");
  s.clients = 4;
  const Values endless = values(s);
  s.switch_buffer_bytes = 12 << 20;
  const Values finite = values(s);
  EXPECT_EQ(finite.at("dropped_percent"), 0);
  EXPECT_EQ(finite.at("paused_percent"), 0);
  EXPECT_NEAR(finite.at("goodput_gbps"), endless.at("goodput_gbps"), 0.002 * endless.at("goodput_gbps"));
}

TEST(Run, WhatCannotEndSaysSo) {
  Setting s = setting("srnic");
  s.time_limit = microseconds(5);
  EXPECT_THROW((void)run(s), std::runtime_error);
}

}  // namespace
}  // namespace weft::lab

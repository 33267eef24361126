// StaR on the chip: what a card pays that keeps no connection state, and what its peers pay for it.
#include <array>

#include <gtest/gtest.h>

#include "lab/test_setting.h"

namespace weft::lab {
namespace {

Setting star(const std::string& card, StatelessCards whose = StatelessCards::server) {
  Setting s = calling(card);
  s.stateless = whose;
  return s;
}

TEST(Stateless, EitherSideMayBeOnEveryCard) {
  for (const char* card : {"star-fpga", "connectx6", "ideal"}) {
    for (const StatelessCards whose : {StatelessCards::server, StatelessCards::clients}) {
      for (const bool trusts : {false, true}) {
        Setting s = star(card, whose);
        s.profile.device.card.star_trust = trusts;
        EXPECT_GT(values(s).at("call_rate"), 0) << card;
        s.pattern = Pattern::stream;
        s.depth = 4;
        for (const Operation operation : {Operation::send, Operation::write, Operation::read}) {
          s.operation = operation;
          EXPECT_GT(values(s).at("goodput_gbps"), 0) << card;
        }
      }
    }
  }
}

TEST(Stateless, TheSameSeedGivesTheSameRun) {
  Setting s = star("star-fpga");
  s.loss = 0.01;
  EXPECT_EQ(run(s), run(s));
}

TEST(Stateless, LostPacketsAreSentAgain) {
  Setting s = star("star-fpga");
  s.loss = 0.01;
  EXPECT_GT(values(s).at("retransmitted_percent"), 0.1);
}

// The card has room for 120 contexts: of 400 connections it looks for most, and of stateless ones for none. Its
// clients have 50 each.
TEST(Stateless, NoContextIsLookedFor) {
  Setting s = calling("star-fpga");
  s.clients = 8;
  s.qps = 400;
  s.messages = 2'000;
  EXPECT_GT(values(s).at("context_misses"), 0.3);
  s.stateless = StatelessCards::server;
  EXPECT_EQ(values(s).at("context_misses"), 0);
}

// Under its limits a stateless card is slower: posts and completions travel.
TEST(Stateless, ACallOfFewConnectionsTakesLonger) {
  Setting s = calling("star-fpga");
  s.clients = s.qps = s.threads = 1;
  const double with_state = values(s).at("latency_mean_us");
  s.stateless = StatelessCards::server;
  const double stateless = values(s).at("latency_mean_us");
  EXPECT_GT(stateless, with_state + 2) << "a read of the bus and a round trip at least";
}

// 40 bytes of a capability in each packet to the stateless card; a trusting card wants none.
TEST(Stateless, CapabilitiesHaveTheirBytesAndTheirTime) {
  Setting s = star("star-fpga");
  s.clients = s.qps = s.threads = 1;
  s.profile.chip.capability_cycles = 0;
  const Values free = values(s);
  s.profile.chip.capability_cycles = 100;  // 0.64 us
  const Values checked = values(s);
  s.profile.device.card.star_trust = true;
  const Values trusting = values(s);
  EXPECT_GT(checked.at("latency_mean_us"), free.at("latency_mean_us") + 2 * 0.64);
  EXPECT_LT(trusting.at("latency_mean_us"), free.at("latency_mean_us"));
  const auto bytes = [](const Values& v) { return v.at("raw_gbps") / v.at("call_rate") / 8 * 1000; };
  // Three RDs, a GD, and control packets: two CQEPs and two EAs or more.
  EXPECT_GT(bytes(free) - bytes(trusting), 8 * 40);
}

// The paper's check: every packet to a stateless card is looked up before it leaves, whatever it shows.
TEST(Stateless, TheRegistryIsAskedAboutEveryPacket) {
  Setting s = star("star-fpga");
  s.clients = s.qps = s.threads = 1;
  s.profile.device.card.star_trust = true;
  s.profile.chip.rule_cycles = 0;
  const Values unasked = values(s);
  s.profile.chip.rule_cycles = 100;  // 0.64 us
  const Values asked = values(s);
  // An RD of the call, and the CQEP behind it: a call's SENDs name no key.
  EXPECT_GT(asked.at("latency_mean_us"), unasked.at("latency_mean_us") + 2 * 0.64);
  const auto bytes = [](const Values& v) { return v.at("raw_gbps") / v.at("call_rate"); };
  EXPECT_NEAR(bytes(asked) / bytes(unasked), 1, 0.01) << "it adds no byte";
}

// Three SENDs of a call are under way at once, because each receive has memory of its own: with a slower bus they would
// wait three times as long if they went one by one.
TEST(Stateless, MessagesOfACallGoTogether) {
  Setting s = star("ideal");
  s.clients = s.qps = s.threads = 1;
  s.link_delay = microseconds(10);
  s.call_messages = 1;
  const double one = values(s).at("latency_mean_us");
  s.call_messages = 6;
  EXPECT_LT(values(s).at("latency_mean_us"), one + 45) << "not a round trip for each";
}

// What the packet names is read from host memory, and is paid for: with the bus for free it is not.
TEST(Stateless, BlocksCrossTheBus) {
  Setting s = star("star-fpga");
  s.clients = s.qps = s.threads = 1;
  s.profile.chip.pcie.read_jitter = 0;
  const double usual = values(s).at("latency_mean_us");
  s.profile.chip.pcie.read_latency += microseconds(1);
  const double slower = values(s).at("latency_mean_us");
  // Calls: a work entry and payload at the client, a block for the completions, and payload at the server.
  EXPECT_GT(slower - usual, 3.5);
}

}  // namespace
}  // namespace weft::lab

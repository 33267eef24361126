// Programs that call and answer, and what taking turns in groups does to them.
#include "lab/calls.h"

#include <gtest/gtest.h>

#include "lab/test_setting.h"
#include "lab/validate.h"

namespace weft::lab {
namespace {

TEST(Calls, ACallIsSeveralMessagesAndAnAnswer) {
  Setting s = calling("ideal");
  ASSERT_EQ(validate(s), "");
  const Values v = values(s);
  EXPECT_GT(v.at("call_rate"), 0);
  EXPECT_NEAR(v.at("message_rate"), 4 * v.at("call_rate"), 1e-9);
  s.call_messages = 5;
  EXPECT_NEAR(values(s).at("message_rate"), 6 * values(s).at("call_rate"), 1e-9);
}

// Nobody has more than one call under way, so that many are answered in the time of one.
TEST(Calls, RateAndLatencyAreOfTheSameCalls) {
  for (const Pattern pattern : {Pattern::rpc, Pattern::parameter_server}) {
    const Setting s = calling("srnic", pattern);
    const Values v = values(s);
    EXPECT_NEAR(v.at("call_rate") * v.at("latency_mean_us"), s.qps, 0.1 * s.qps);
  }
}

// One slow connection holds up all of them in the one pattern, and itself in the other.
TEST(Calls, AParameterServerAnswersWhenAllHaveCalled) {
  Setting s = calling("ideal");
  s.clients = 2;
  s.qps = 2;
  s.loss = 0.02;
  s.ack_timeout = 4;  // 66 us
  s.messages = 2'000;
  const double apart = values(s).at("latency_us");
  s.qps = 32;
  const double apart_of_many = values(s).at("latency_us");
  s.pattern = Pattern::parameter_server;
  EXPECT_LT(apart_of_many, 2 * apart);
  EXPECT_GT(values(s).at("latency_us"), 5 * apart_of_many);
}

TEST(Calls, GroupsOfAllAreNoGroups) {
  Setting s = calling("connectx3");
  const Outcome all = run(s);
  s.group_size = s.qps;
  EXPECT_EQ(run(s), all);
}

// Four groups: who has called waits for three slots before it may call again.
TEST(Calls, ConnectionsOfOtherGroupsWaitForTheirSlot) {
  Setting s = calling("ideal");
  s.group_size = 8;
  s.group_slot = microseconds(2);
  s.messages = 4'000;
  const Values v = values(s);
  EXPECT_GT(v.at("latency_p99_us"), 6);
  EXPECT_LT(v.at("latency_p99_us"), 7);
  EXPECT_LT(v.at("latency_us"), 1) << "within a slot there are several calls";
}

// The answers to all are wanted at once, and half of them must wait for the other group's slot; and so do calls.
TEST(Calls, GroupsSlowDownWhoeverGoesInStep) {
  Setting s = calling("ideal", Pattern::parameter_server);
  const double together = values(s).at("call_rate");
  s.group_size = 16;
  s.group_slot = microseconds(20);
  EXPECT_LT(values(s).at("call_rate"), together / 4);
}

TEST(Calls, WhatMakesNoSenseIsRefused) {
  Setting s = calling("ideal");
  s.depth = 2;
  EXPECT_EQ(validate(s), "a connection has one call under way, and depth is 2");
  s = calling("ideal");
  s.operation = Operation::write;
  EXPECT_EQ(validate(s), "calls are SENDs of clients");
  s = calling("ideal");
  s.receive_depth = 2;
  EXPECT_EQ(validate(s), "a call has 3 messages, and only 2 receives stand posted");
  s = calling("ideal", Pattern::stream);
  s.group_size = 4;
  EXPECT_EQ(validate(s), "group_size is for rpc and parameter_server");
}

}  // namespace
}  // namespace weft::lab

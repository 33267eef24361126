#include "world/fault_plan.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world/random.h"
#include "world/time_text.h"

namespace weft::world {
namespace {

using testing::HasSubstr;

TEST(TimeText, ReadsBackWhatItWrites) {
  EXPECT_EQ(time_text(0), "0ps");
  EXPECT_EQ(time_text(1), "1ps");
  EXPECT_EQ(time_text(microseconds(10)), "10us");
  EXPECT_EQ(time_text(microseconds(1'500)), "1500us");
  EXPECT_EQ(time_text(seconds(3)), "3s");
  EXPECT_EQ(time_text(kNever), "never");
  Random random(1);
  for (int i = 0; i < 10'000; ++i) {
    const Time time = static_cast<Time>(random.next() >> (1 + random.below(62)));
    ASSERT_EQ(parse_time(time_text(time)), time);
  }
}

TEST(TimeText, ReadsWhatPeopleWrite) {
  EXPECT_EQ(parse_time("1.5ms"), microseconds(1'500));
  EXPECT_EQ(parse_time("0.000001us"), 1);
  EXPECT_EQ(parse_time("9223372s"), seconds(9'223'372));
  for (const std::string_view bad : {"", "10", "us", "-1us", "1.us", ".5us", "1 us", "1.5ps", "0.0000001us", "1e3us",
                                     "10000000s", "99999999999999999999ps", "1us2", "Never"}) {
    EXPECT_EQ(parse_time(bad), std::nullopt) << bad;
  }
}

FaultPlan parsed(std::string_view text) {
  const FaultPlan::Parsed result = FaultPlan::parse(text);
  EXPECT_TRUE(result.plan.has_value()) << result.error;
  return result.plan.value_or(FaultPlan{});
}

TEST(FaultPlan, IsWrittenOnOneLine) {
  FaultPlan plan;
  EXPECT_TRUE(plan.empty());
  EXPECT_EQ(plan.text(), "none");
  plan.loss = 0.01;
  plan.jitter = 0.5;
  plan.jitter_max = microseconds(3);
  plan.holes = {{microseconds(5), microseconds(9)}, {seconds(1), kNever}};
  plan.script = {{Fault::drop, 3}, {Fault::corrupt, 7}};
  plan.count_world = true;
  EXPECT_FALSE(plan.empty());
  EXPECT_EQ(plan.text(),
            "loss=0.01,jitter=0.5,jitter_max=3us,hole=5us..9us,hole=1s..never,drop=3,corrupt=7,count=world");
  EXPECT_EQ(parsed(plan.text()), plan);
}

TEST(FaultPlan, ReadsNothingAsNothing) {
  EXPECT_EQ(parsed(""), FaultPlan{});
  EXPECT_EQ(parsed("none"), FaultPlan{});
}

TEST(FaultPlan, ReadsPercent) { EXPECT_EQ(parsed("loss=1%").loss, 0.01); }

TEST(FaultPlan, ReadsBackWhateverItWrites) {
  Random random(1);
  for (int i = 0; i < 2'000; ++i) {
    FaultPlan plan;
    for (double* p : {&plan.loss, &plan.duplication, &plan.reordering, &plan.corruption, &plan.jitter, &plan.ecn}) {
      if (random.chance(0.5)) *p = static_cast<double>(random.next() >> 11) * 0x1p-53;
    }
    if (random.chance(0.3)) plan.hold = random.between(1, seconds(1));
    if (random.chance(0.3)) plan.jitter_max = random.between(1, seconds(1));
    plan.count_world = random.chance(0.5);
    for (std::uint64_t n = random.below(4); n > 0; --n) {
      const Time from = random.between(0, seconds(1));
      plan.holes.push_back({from, random.chance(0.2) ? kNever : from + random.between(1, 1'000)});
      plan.script.push_back({static_cast<Fault>(random.below(5)), 1 + random.below(1'000)});
    }
    ASSERT_EQ(parsed(plan.text()), plan) << plan.text();
  }
}

std::string refusal_of(std::string_view text) {
  const FaultPlan::Parsed result = FaultPlan::parse(text);
  EXPECT_FALSE(result.plan.has_value()) << text;
  return result.error;
}

TEST(FaultPlan, SaysWhatIsWrongWhereAndWhatToWriteInstead) {
  EXPECT_THAT(refusal_of("drop=3,los=1"), HasSubstr("at character 8: there is no fault called 'los'; known are loss,"));
  EXPECT_THAT(refusal_of("loss"), HasSubstr("'loss' has no value; expected KEY=VALUE"));
  EXPECT_THAT(refusal_of("loss=1.5"), HasSubstr("'1.5' is no probability: loss wants 0 ... 1"));
  EXPECT_THAT(refusal_of("loss=3"), HasSubstr("to hit one packet, say drop=N"));
  EXPECT_THAT(refusal_of("drop=0.01"), HasSubstr("for a probability say loss=P"));
  EXPECT_THAT(refusal_of("drop=0"), HasSubstr("the first packet is 1"));
  EXPECT_THAT(refusal_of("hole=9us"), HasSubstr("hole wants FROM..TO"));
  EXPECT_THAT(refusal_of("hole=9us..5us"), HasSubstr("ends before it begins"));
  EXPECT_THAT(refusal_of("hold=3"), HasSubstr("hold wants a number and ps, ns, us, ms or s"));
  EXPECT_THAT(refusal_of("hold=0us"), HasSubstr("more than nothing"));
  EXPECT_THAT(refusal_of("count=all"), HasSubstr("count wants link or world"));
  EXPECT_THAT(refusal_of("loss=0.1,"), HasSubstr("at character 10"));
  for (const std::string_view bad :
       {"loss=", "loss=nan", "loss=-0.1", "loss=inf", "loss=1x", "loss=%", "=1", ",", "loss=0.1;drop=1", "drop=-1",
        "drop=99999999999999999999", "jitter_max=never", " loss=0.1"}) {
    EXPECT_THAT(refusal_of(bad), HasSubstr("fault plan, at character ")) << bad;
  }
}

}  // namespace
}  // namespace weft::world

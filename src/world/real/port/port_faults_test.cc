// A port that goes wrong on purpose does it as its plan says, with bounded memory, and again with the same seed.
#include "world/real/port/port_faults.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world/real/os/time.h"

namespace weft::real {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Sent {
  int number;  // what was offered as such
  std::uint8_t traffic_class;
  std::vector<std::byte> bytes;
  std::string note;
};

class Port {
  auto taker() {
    return [this](const wire::Flow& flow, std::span<const std::byte> bytes, std::string_view note) {
      sent.push_back(
          {static_cast<int>(flow.flow_label), flow.traffic_class, {bytes.begin(), bytes.end()}, std::string(note)});
    };
  }

 public:
  explicit Port(std::string_view plan, std::uint64_t seed = 1, std::uint64_t stream = 0, Time began = 0)
      : stage_(world::FaultPlan::parse(plan).plan.value(), seed, stream, began) {}

  std::string_view offer(int number, Time now = 0, std::size_t size = 64) {
    std::vector<std::byte> bytes(size, static_cast<std::byte>(number));
    wire::Flow flow;
    flow.flow_label = static_cast<std::uint32_t>(number);
    flow.traffic_class = traffic_class;
    return stage_.offer(now, flow, bytes, taker());
  }
  void offer_all(int count) {
    for (int i = 1; i <= count; ++i) (void)offer(i);
  }
  void on_time(Time now) { stage_.on_time(now, taker()); }
  void flush() { stage_.flush(taker()); }

  [[nodiscard]] std::vector<int> numbers() const {
    std::vector<int> all;
    for (const Sent& one : sent) all.push_back(one.number);
    return all;
  }
  PortFaults& stage() { return stage_; }

  std::vector<Sent> sent;
  std::uint8_t traffic_class = 2;  // understands marks

 private:
  PortFaults stage_;
};

TEST(PortFaults, WithoutAPlanThereAreNone) {
  EXPECT_FALSE(Port("none").stage().active());
  EXPECT_TRUE(Port("loss=1%").stage().active());
}

TEST(PortFaults, DropsWhatThePlanNamesAndSaysSo) {
  Port port("drop=2,drop=4");
  EXPECT_EQ(port.offer(1), "");
  EXPECT_THAT(std::string(port.offer(2)), HasSubstr("dropped: the plan names this packet"));
  (void)port.offer(3);
  (void)port.offer(4);
  (void)port.offer(5);
  EXPECT_THAT(port.numbers(), ElementsAre(1, 3, 5));
  EXPECT_EQ(port.stage().counters().dropped_by_script, 2u);
}

TEST(PortFaults, LossLosesItsShare) {
  Port port("loss=10%");
  EXPECT_EQ(port.stage().next_deadline(), kNever);
  port.offer_all(10'000);
  EXPECT_NEAR(static_cast<double>(port.sent.size()), 9'000, 150);
  EXPECT_EQ(Port("loss=1").offer(1), "dropped: loss (impairment)");
}

TEST(PortFaults, DuplicatesDirectlyBehind) {
  Port port("duplicate=2");
  port.offer_all(3);
  EXPECT_THAT(port.numbers(), ElementsAre(1, 2, 2, 3));
  EXPECT_EQ(port.sent[1].bytes, port.sent[2].bytes);
  EXPECT_EQ(port.sent[1].note, "");
  EXPECT_EQ(port.sent[2].note, "duplicate (impairment)");
}

TEST(PortFaults, HoldsUntilTheNextHasPassed) {
  Port port("delay=2,delay=3");
  port.offer_all(5);
  EXPECT_THAT(port.numbers(), ElementsAre(1, 4, 2, 3, 5));
  EXPECT_EQ(port.stage().waiting(), 0u);
  EXPECT_THAT(port.sent[2].note, HasSubstr("out of order"));
}

TEST(PortFaults, HoldsNoLongerThanThePlanSays) {
  Port port("delay=1,hold=50us");
  (void)port.offer(1, microseconds(7));
  EXPECT_EQ(port.stage().next_deadline(), microseconds(57));
  port.on_time(microseconds(57) - 1);
  EXPECT_TRUE(port.sent.empty());
  port.on_time(microseconds(57));
  EXPECT_THAT(port.numbers(), ElementsAre(1));
  EXPECT_EQ(port.stage().next_deadline(), kNever);
  (void)port.offer(2);
  EXPECT_THAT(port.numbers(), ElementsAre(1, 2));
}

TEST(PortFaults, LateOnesGoInTheOrderOfTheirTimes) {
  Port port("jitter=1,jitter_max=100us");
  for (int i = 1; i <= 100; ++i) (void)port.offer(i, microseconds(i));
  EXPECT_TRUE(port.sent.empty());
  Time last = 0;
  while (port.stage().next_deadline() != kNever) {
    const Time due = port.stage().next_deadline();
    EXPECT_GE(due, last);
    port.on_time(last = due);
  }
  EXPECT_EQ(port.sent.size(), 100u);
  EXPECT_LE(last, microseconds(200));
  std::vector<int> numbers = port.numbers();
  EXPECT_FALSE(std::is_sorted(numbers.begin(), numbers.end()));
  std::sort(numbers.begin(), numbers.end());
  for (int i = 1; i <= 100; ++i) EXPECT_EQ(numbers[static_cast<std::size_t>(i - 1)], i);
}

TEST(PortFaults, DamagesACopyAndNotTheSendersBytes) {
  Port port("corrupt=1,duplicate=1");
  (void)port.offer(1);
  ASSERT_EQ(port.sent.size(), 2u);
  const std::vector<std::byte> whole(64, std::byte{1});
  EXPECT_NE(port.sent[0].bytes, whole);
  EXPECT_EQ(port.sent[0].bytes.size(), whole.size());
  EXPECT_EQ(port.sent[0].note, "corrupted (impairment)");
  EXPECT_EQ(port.sent[1].bytes, whole);  // the second copy is whole
}

TEST(PortFaults, WhatIsDamagedAndHeldStaysDamaged) {
  Port port("corrupt=1,delay=1,mark=1,corrupt=2");
  port.offer_all(2);
  ASSERT_EQ(port.sent.size(), 2u);
  EXPECT_EQ(port.sent[1].number, 1);
  EXPECT_NE(port.sent[1].bytes, std::vector<std::byte>(64, std::byte{1}));
  EXPECT_EQ(std::count(port.sent[1].bytes.begin(), port.sent[1].bytes.end(), std::byte{2}), 0);
  EXPECT_EQ(port.sent[1].traffic_class, 3);
}

TEST(PortFaults, MarksCongestion) {
  Port port("ecn=50%");
  port.offer_all(1'000);
  const auto marked = std::count_if(port.sent.begin(), port.sent.end(), [](const Sent& one) {
    return one.traffic_class == 3 && one.note == "marked: congestion experienced (impairment)";
  });
  EXPECT_NEAR(static_cast<double>(marked), 500, 60);
  EXPECT_EQ(static_cast<std::uint64_t>(marked), port.stage().counters().marked);
}

TEST(PortFaults, MarksOnlyWhatSaysThatItUnderstandsMarks) {
  Port port("ecn=100%");
  for (const std::uint8_t offered : {0x00, 0x01, 0x02, 0x03, 0xFC}) {
    port.traffic_class = offered;
    (void)port.offer(1);
    const bool capable = (offered & 3) != 0;
    EXPECT_EQ(port.sent.back().traffic_class, capable ? offered | 3 : offered);
    EXPECT_EQ(port.sent.back().note.empty(), !capable);
  }
}

TEST(PortFaults, BlackHolesAreCountedFromTheBeginning) {
  Port port("hole=10us..20us", 1, 0, seconds(1));
  EXPECT_EQ(port.offer(1, seconds(1)), "");
  EXPECT_EQ(port.offer(2, seconds(1) + microseconds(10)), "dropped: black hole (impairment)");
  EXPECT_EQ(port.offer(3, seconds(1) + microseconds(20)), "");
}

TEST(PortFaults, AFullStoreLetsPass) {
  Port port("jitter=1,jitter_max=1s");
  port.offer_all(PortFaults::kSlots + 3);
  EXPECT_EQ(port.stage().waiting(), PortFaults::kSlots);
  EXPECT_THAT(port.numbers(), ElementsAre(PortFaults::kSlots + 1, PortFaults::kSlots + 2, PortFaults::kSlots + 3));
  EXPECT_EQ(port.stage().not_stored(), 3u);
  port.flush();
  EXPECT_EQ(port.sent.size(), PortFaults::kSlots + 3);
  EXPECT_EQ(port.stage().waiting(), 0u);
  (void)port.offer(1);
  EXPECT_EQ(port.stage().waiting(), 1u);  // there is room again
}

TEST(PortFaults, WhatIsTooLargeOrEmptyPassesAsItIs) {
  Port port("corruption=1,reordering=1");
  (void)port.offer(1, 0, PortFaults::kSlotBytes + 1);
  ASSERT_EQ(port.sent.size(), 1u);
  EXPECT_EQ(port.sent[0].bytes, std::vector<std::byte>(PortFaults::kSlotBytes + 1, std::byte{1}));
  (void)port.offer(2, 0, 0);
  (void)port.offer(3, 0, PortFaults::kSlotBytes);
  port.flush();
  EXPECT_EQ(port.sent.size(), 3u);
}

TEST(PortFaults, SeedAndStreamDecide) {
  const auto fates = [](std::uint64_t seed, std::uint64_t stream) {
    Port port("loss=0.1,duplication=0.1,reordering=0.1,corruption=0.1,ecn=0.1", seed, stream);
    port.offer_all(500);
    std::vector<std::pair<int, std::vector<std::byte>>> all;
    for (const Sent& one : port.sent) all.emplace_back(one.number, one.bytes);
    return all;
  };
  EXPECT_EQ(fates(1, 0), fates(1, 0));
  EXPECT_NE(fates(1, 0), fates(2, 0));
  EXPECT_NE(fates(1, 0), fates(1, 1));
}

}  // namespace
}  // namespace weft::real

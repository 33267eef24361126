// Two sides of a connection, each with work that it begins whenever it may, and a network between them that drops,
// duplicates and delays what they say to each other about moves. Nothing that is begun may arrive where another dialect
// is spoken, whatever is lost and whoever asks; and in the end both speak the same, and work goes on.
#include "host/star/move.h"

#include <array>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weft::host {
namespace {

using wire::Dialect;
using wire::MoveMad;
using wire::MoveTarget;
using Phase = Move::Phase;

constexpr MoveTimes kTimes{.look = 5,
                           .first = 50,
                           .longest = 400,
                           .asking = 2'000,
                           .emptying = 5'000,
                           .holding = 20'000,
                           .patience = 1'000'000};
constexpr Time kWay = 10;  // of a datagram
constexpr Time kOpWay = 7, kOpEvery = 9;

constexpr MoveTarget kStar{Dialect::star, MoveTarget::Asker::stateless};
constexpr MoveTarget kStarOther{Dialect::star, MoveTarget::Asker::stateful};
constexpr MoveTarget kSrnic{Dialect::srnic, MoveTarget::Asker::neither};

// What is spoken, by the names of the first side.
struct Speech {
  Dialect dialect = Dialect::roce;
  int stateless = -1;  // which side is, in StaR
  friend bool operator==(const Speech&, const Speech&) = default;
};

struct Side {
  Side(std::uint32_t generation, bool wins) : move(kTimes, generation, wins) {}
  Move move;
  Speech speaks;
  bool held = false, broken = false, willing = true, works = true;
  std::uint32_t under_way = 0, begun = 0, arrived = 0, changes = 0, refusals = 0;
  Time op_takes = 2 * kOpWay;
};

class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }

 private:
  std::mt19937_64 engine_;
};

// What befalls the n-th datagram that a side says.
enum class Fault : std::uint8_t { none, drop, duplicate, delay, late_copy };
using Faults = std::map<std::pair<int, std::uint32_t>, Fault>;

class Scene {
 public:
  explicit Scene(Faults faults = {}) : faults_(std::move(faults)) {}

  void ask(int side, const MoveTarget& target) { carry_out(side, sides[side].move.begin(now, target)); }
  void ask_at(Time when, int side, const MoveTarget& target) {
    at(when, [this, side, target] { ask(side, target); });
  }
  void at(Time when, std::function<void()> what) { events_.emplace(when, std::move(what)); }
  void run_until(Time end) {
    for (;;) {
      Time next = end;
      if (!events_.empty()) next = std::min(next, events_.begin()->first);
      for (const Side& s : sides) next = std::min(next, s.move.next_deadline());
      now = std::max(now, next);
      if (now >= end) return;
      step();
    }
  }
  // Work goes on until here, and what is under way then ends.
  void finish(Time end) {
    run_until(end);
    for (Side& s : sides) s.works = false;
    run_until(end + 1'000'000);
    for (const int i : {0, 1}) {
      EXPECT_EQ(sides[i].move.phase(), Phase::idle) << i;
      EXPECT_FALSE(sides[i].held) << i;
      EXPECT_FALSE(sides[i].broken) << i;
      EXPECT_EQ(sides[i].under_way, 0U) << i;
      EXPECT_EQ(sides[i].begun, sides[1 - i].arrived) << "of side " << i << " have been lost, or repeated";
      EXPECT_GT(sides[i].begun, 100U) << i;
    }
    EXPECT_EQ(sides[0].speaks, sides[1].speaks);
    EXPECT_EQ(sides[0].changes, sides[1].changes);
  }
  void start_work() {
    for (const int i : {0, 1}) {
      at(now + i, [this, i] { begin_work(i); });
    }
  }

  std::array<Side, 2> sides{Side{0xFFFF'FFFE, true}, Side{77, false}};
  Time now = 0;
  std::array<std::uint32_t, 2> said{};
  std::function<Fault(int, std::uint32_t)> weather{};
  Time longest_delay = 300;
  Numbers random{1};

 private:
  void step() {
    if (!events_.empty() && events_.begin()->first <= now) {
      auto what = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      what();
    }
    for (const int i : {0, 1}) {
      if (sides[i].move.next_deadline() <= now) carry_out(i, sides[i].move.on_time(now, own(i)));
    }
    check();
  }
  [[nodiscard]] Move::Own own(int i) const {
    const Side& s = sides[i];
    return {.is_willing = s.willing,
            .is_quiet = s.under_way == 0,
            .numbers = {.sends = s.begun, .receives = s.arrived, .psn = wire::Psn(s.begun)}};
  }
  void carry_out(int i, const Move::Orders& orders) {
    Side& s = sides[i];
    if (orders.holds) s.held = true;
    if (orders.changes) change(i);
    if (orders.releases) s.held = false;
    if (orders.breaks) s.broken = true;
    s.refusals += orders.refused ? 1 : 0;
    check();
    if (orders.says) say(i, *orders.says);
  }
  void change(int i) {
    Side& s = sides[i];
    EXPECT_TRUE(s.held && sides[1 - i].held) << "something may begin";
    EXPECT_TRUE(s.under_way == 0 && sides[1 - i].under_way == 0) << "something is under way";
    EXPECT_EQ(s.move.peer_numbers().sends, sides[1 - i].begun);
    EXPECT_EQ(s.move.peer_numbers().receives, sides[1 - i].arrived);
    const int asker = s.move.has_asked() ? i : 1 - i;
    const MoveTarget& t = s.move.target();
    s.speaks = {t.dialect, t.asker == MoveTarget::Asker::stateless  ? asker
                           : t.asker == MoveTarget::Asker::stateful ? 1 - asker
                                                                    : -1};
    eras_[s.changes++].push_back(s.move.generation());
    const auto& era = eras_[s.changes - 1];
    EXPECT_TRUE(era.size() < 2 || era[0] == era[1]) << "the sides name one move by two names";
  }
  void say(int i, const MoveMad& m) {
    const std::uint32_t n = said[i]++;
    const auto planned = faults_.find({i, n});
    const Fault f = planned != faults_.end() ? planned->second : weather ? weather(i, n) : Fault::none;
    if (f == Fault::drop) return;
    const Time late =
        weather ? 1 + static_cast<Time>(random.below(static_cast<std::uint64_t>(longest_delay))) : longest_delay;
    deliver(i, m, now + kWay + (f == Fault::delay ? late : 0));
    if (f == Fault::duplicate) deliver(i, m, now + kWay);
    if (f == Fault::late_copy) deliver(i, m, now + kWay + 10 * late);
  }
  void deliver(int from, const MoveMad& m, Time when) {
    at(when, [this, from, m] { carry_out(1 - from, sides[1 - from].move.hear(now, own(1 - from), m)); });
  }
  void begin_work(int i) {
    Side& s = sides[i];
    if (!s.works) return;
    if (!s.held) {
      ++s.begun;
      ++s.under_way;
      at(now + kOpWay, [this, i, speech = s.speaks] {
        EXPECT_EQ(sides[1 - i].speaks, speech) << "an operation of side " << i << " is lost";
        ++sides[1 - i].arrived;
      });
      at(now + s.op_takes, [this, i] { --sides[i].under_way; });
    }
    at(now + kOpEvery, [this, i] { begin_work(i); });
  }
  void check() const {
    for (const int i : {0, 1}) {
      ASSERT_TRUE(sides[i].held || sides[0].speaks == sides[1].speaks)
          << "side " << i << " goes on, and its peer speaks something else, at " << now;
    }
  }

  Faults faults_;
  std::multimap<Time, std::function<void()>> events_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> eras_;
};

TEST(Move, GoesToStarAndBackWithoutFaults) {
  Scene scene;
  scene.start_work();
  scene.ask_at(100, 0, kStar);
  scene.run_until(1'000);
  EXPECT_EQ(scene.sides[0].speaks, (Speech{Dialect::star, 0}));
  scene.ask_at(1'100, 1, kStar);
  scene.run_until(2'000);
  EXPECT_EQ(scene.sides[0].speaks, (Speech{Dialect::star, 1}));
  scene.ask_at(2'100, 0, kSrnic);
  scene.finish(3'000);
  EXPECT_EQ(scene.sides[1].speaks, (Speech{Dialect::srnic, -1}));
  EXPECT_EQ(scene.sides[0].changes, 3U);
}

TEST(Move, ThatThePeerDoesNotWantStopsNobody) {
  Scene scene;
  scene.sides[1].willing = false;
  scene.start_work();
  scene.ask_at(100, 0, kStar);
  scene.finish(3'000);
  EXPECT_EQ(scene.sides[0].changes, 0U);
  EXPECT_EQ(scene.sides[0].refusals, 1U);
  EXPECT_EQ(scene.said[1], 1U);
}

TEST(Move, OfAPeerThatKnowsNothingOfMovesStopsNobody) {
  Scene scene;
  scene.weather = [](int, std::uint32_t) { return Fault::drop; };
  scene.ask(0, kStar);
  scene.run_until(1'900);
  EXPECT_EQ(scene.sides[0].move.phase(), Phase::asking);
  EXPECT_FALSE(scene.sides[0].held);
  scene.run_until(3'000);
  EXPECT_EQ(scene.sides[0].move.phase(), Phase::idle);
  EXPECT_EQ(scene.sides[0].refusals, 1U);
}

TEST(Move, WaitsForTheSideThatHasMoreUnderWay) {
  for (const int slow : {0, 1}) {
    Scene scene;
    scene.sides[slow].op_takes = 1'500;
    scene.start_work();
    scene.ask_at(2'000, 0, kStar);
    scene.finish(10'000);
    EXPECT_EQ(scene.sides[0].changes, 1U) << slow;
    EXPECT_EQ(scene.sides[0].refusals, 0U) << slow;
  }
}

TEST(Move, IsNotEndedByAnAnswerToAnEarlierOne) {
  Move move(kTimes, 10, true);
  const MoveMad first = *move.begin(0, kStar).says;
  (void)move.hear(1, {}, {.kind = MoveMad::Kind::refuse, .generation = first.generation});
  ASSERT_EQ(move.phase(), Phase::idle);
  (void)move.begin(2, kStar);
  (void)move.hear(3, {}, {.kind = MoveMad::Kind::refuse, .generation = first.generation});
  EXPECT_EQ(move.phase(), Phase::asking);
}

// Its copy may come when the asker wants nothing any more.
TEST(Move, ThatNobodyAsksForAnyMoreIsCancelled) {
  Move move(kTimes, 10, true);
  for (const MoveMad::Kind kind : {MoveMad::Kind::drain, MoveMad::Kind::ready}) {
    const auto says = move.hear(0, {}, {.kind = kind, .generation = 5}).says;
    ASSERT_TRUE(says.has_value());
    EXPECT_EQ(says->kind, MoveMad::Kind::cancel);
    EXPECT_EQ(says->generation, 5U);
  }
}

// A receiver that is not ready, say, on either side: the old dialect goes on, and a later move succeeds.
TEST(Move, GoesBackIfSomethingDoesNotEnd) {
  for (const int slow : {0, 1}) {
    SCOPED_TRACE(slow);
    Scene scene;
    scene.start_work();
    scene.run_until(90);
    scene.sides[slow].op_takes = 30'000;
    scene.ask_at(100, 0, kStar);
    scene.run_until(29'000);
    EXPECT_EQ(scene.sides[0].changes, 0U);
    EXPECT_EQ(scene.sides[0].refusals, 1U);
    EXPECT_FALSE(scene.sides[0].held || scene.sides[1].held);
    scene.sides[slow].op_takes = 2 * kOpWay;
    scene.ask_at(100'000, 0, kStar);
    scene.finish(110'000);
    EXPECT_EQ(scene.sides[0].changes, 1U);
  }
}

TEST(Move, BreaksOnlyWhenThePeerIsSilentBehindTheLastStep) {
  for (const bool asker_is_gone : {false, true}) {
    Scene scene;
    scene.start_work();
    scene.ask_at(100, 0, kStar);
    const Phase wanted = asker_is_gone ? Phase::changed : Phase::committing;
    Side& side = scene.sides[asker_is_gone ? 1 : 0];
    while (side.move.phase() != wanted) scene.run_until(scene.now + 1);
    scene.weather = [](int, std::uint32_t) { return Fault::drop; };
    scene.run_until(scene.now + kTimes.patience / 2);
    EXPECT_FALSE(side.broken);
    scene.run_until(scene.now + kTimes.patience);
    EXPECT_TRUE(side.broken);
  }
}

TEST(Move, ThatNobodyLookedAfterForAWhileDoesNotBlameThePeer) {
  Move move(kTimes, 10, true);
  const std::uint32_t generation = move.begin(0, kStar).says->generation;
  const Move::Own quiet{.is_willing = true, .is_quiet = true};
  (void)move.hear(1, quiet, {.kind = MoveMad::Kind::ready, .generation = generation});
  ASSERT_EQ(move.phase(), Phase::committing);
  const Time later = 3 * kTimes.patience;
  EXPECT_FALSE(move.on_time(later, quiet).breaks);
  bool breaks = false;
  Time now = later;
  for (; !breaks; now = move.next_deadline()) breaks = move.on_time(now, quiet).breaks;
  EXPECT_GE(now, later + kTimes.patience - 100);
}

TEST(Move, WaitsForEverIfItsProgramWantsThat) {
  MoveTimes times = kTimes;
  times.patience = kNever;
  Move move(times, 10, true);
  const std::uint32_t generation = move.begin(0, kStar).says->generation;
  const Move::Own quiet{.is_willing = true, .is_quiet = true};
  (void)move.hear(1, quiet, {.kind = MoveMad::Kind::ready, .generation = generation});
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(move.on_time(move.next_deadline(), quiet).breaks);
  EXPECT_EQ(move.phase(), Phase::committing);
}

std::string in_words(const Faults& faults) {
  std::string out;
  for (const auto& [which, f] : faults) {
    out += "side " + std::to_string(which.first) + " datagram " + std::to_string(which.second) + ": fault " +
           std::to_string(static_cast<int>(f)) + "; ";
  }
  return out;
}

constexpr std::array kFaults{Fault::drop, Fault::duplicate, Fault::delay, Fault::late_copy};
constexpr std::uint32_t kDatagrams = 6;  // of each side, in a move with a fault or two

// There and back, each asked for by one side, or by both at once.
void expect_moves(const Faults& faults, bool both) {
  SCOPED_TRACE(in_words(faults) + (both ? "both ask" : "one asks"));
  Scene scene(faults);
  scene.start_work();
  scene.ask_at(100, 0, kStar);
  if (both) scene.ask_at(100, 1, kStar);
  scene.run_until(60'000);
  EXPECT_GE(scene.sides[0].changes, 1U);
  const std::uint32_t before = scene.sides[0].changes;
  EXPECT_EQ(scene.sides[0].speaks.dialect, Dialect::star);
  scene.ask_at(60'100, 1, kSrnic);
  if (both) scene.ask_at(60'101, 0, kStarOther);
  scene.finish(120'000);
  EXPECT_GT(scene.sides[0].changes, before);
}

TEST(Move, SurvivesEveryFaultOfEveryDatagram) {
  for (const bool both : {false, true}) {
    expect_moves({}, both);
    for (const int side : {0, 1}) {
      for (std::uint32_t n = 0; n < 2 * kDatagrams; ++n) {
        for (const Fault f : kFaults) expect_moves({{{side, n}, f}}, both);
      }
    }
  }
}

TEST(Move, SurvivesEveryPairOfFaults) {
  std::vector<std::pair<int, std::uint32_t>> places;
  for (const int side : {0, 1}) {
    for (std::uint32_t n = 0; n < kDatagrams; ++n) places.emplace_back(side, n);
  }
  for (const bool both : {false, true}) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (std::size_t j = i + 1; j < places.size(); ++j) {
        for (const Fault f : kFaults) {
          for (const Fault g : kFaults) expect_moves({{places[i], f}, {places[j], g}}, both);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

// Both ask whenever they like, are unwilling at times, and the network is as bad as it may be.
TEST(Move, LosesNothingInBadWeather) {
  std::uint64_t changes = 0, refusals = 0;
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Numbers random(seed);
    Scene scene;
    scene.random = Numbers(seed + 1'000'000);
    scene.longest_delay = 1 + static_cast<Time>(random.below(2'000));
    const std::uint64_t bad = random.below(60);
    scene.weather = [&scene, bad](int, std::uint32_t) {
      if (scene.random.below(100) >= bad) return Fault::none;
      return kFaults[scene.random.below(kFaults.size())];
    };
    scene.start_work();
    Time when = 100;
    for (int i = 0; i < 30; ++i, when += static_cast<Time>(random.below(3'000))) {
      const int side = static_cast<int>(random.below(2));
      const MoveTarget targets[] = {kStar, kStarOther, kSrnic};
      scene.ask_at(when, side, targets[random.below(3)]);
      scene.at(when + 1, [&scene, side, yes = random.below(5) != 0] { scene.sides[side].willing = yes; });
      scene.at(when, [&scene, side, slow = random.below(4) == 0] { scene.sides[side].op_takes = slow ? 900 : 14; });
    }
    scene.at(when + 10'000, [&scene] { scene.weather = nullptr; });
    scene.finish(when + 200'000);
    changes += scene.sides[0].changes;
    refusals += scene.sides[0].refusals;
    if (HasFailure()) return;
  }
  EXPECT_GT(changes, 2'000U) << "most moves should be made";
  EXPECT_GT(refusals, 500U) << "and many not";
}

}  // namespace
}  // namespace weft::host

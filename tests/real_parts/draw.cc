#include <algorithm>
#include <initializer_list>

#include "real_parts/spec.h"
#include "world/random.h"

namespace weft::scene {
namespace {

using nic::WorkKind;

class SceneDraw {
 public:
  explicit SceneDraw(std::uint64_t seed) : random_(world::Random(seed).fork(0x5CE7E)) { spec_.seed = seed; }

  SceneSpec make() {
    spec_.lanes = static_cast<std::size_t>(random_.between(2, 4));
    using enum real::TransportChoice;
    spec_.transport = one_of({srnic, srnic, automatic, automatic, roce});
    spec_.one_copy = one_of({real::OneCopy::on, real::OneCopy::on, real::OneCopy::off, real::OneCopy::measured});
    spec_.rings = !random_.chance(0.15);
    spec_.breathes = one_of({0.0, 0.02, 0.1, 0.3});
    for (std::size_t i = 0; i < spec_.lanes; ++i) spec_.habits.push_back(habit());
    const auto connections = random_.between(1, 4);
    for (std::int64_t i = 0; i < connections; ++i) spec_.connections.push_back(connection());
    if (!random_.chance(0.25)) draw_faults();
    return std::move(spec_);
  }

 private:
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[random_.below(choices.size())];
  }

  Habit habit() {
    return {.pauses = one_of({0.0, 0.01, 0.05, 0.2}),
            .waits = one_of({0.0, 0.0, 0.02, 0.2, 1.0}),
            .posts = one_of({0.2, 0.5, 1.0}),
            .row = static_cast<std::uint32_t>(random_.between(1, 6)),
            .longest_pause = one_of({microseconds(5), microseconds(50), microseconds(700)})};
  }

  // Short ones, those of several packets, and those that are long enough to be exported.
  std::uint32_t length() {
    switch (random_.below(4)) {
      case 0: return static_cast<std::uint32_t>(random_.between(0, 300));
      case 1: return static_cast<std::uint32_t>(random_.between(300, 40'000));
      case 2: return static_cast<std::uint32_t>(random_.between(40'000, 140'000));
      default: return static_cast<std::uint32_t>(random_.between(100'000, 300'000));
    }
  }
  MessageSpec message() {
    const WorkKind kind =
        one_of({WorkKind::write, WorkKind::write, WorkKind::write_immediate, WorkKind::send_immediate, WorkKind::read});
    MessageSpec m{.kind = kind, .bytes = length()};
    if (random_.chance(0.1)) m.pieces = static_cast<std::uint32_t>(random_.between(2, 4));
    return m;
  }
  ConnectionSpec connection() {
    ConnectionSpec c;
    c.lanes[0] = random_.below(spec_.lanes);
    c.lanes[1] = (c.lanes[0] + 1 + random_.below(spec_.lanes - 1)) % spec_.lanes;
    c.mtu = one_of<std::uint16_t>({256, 1024, 4096, 4096});
    c.receives = one_of<std::uint32_t>({1, 4, 64, 64});
    c.window = one_of<std::uint32_t>({1, 3, 8, 16});
    // So much that both ways are measured, and one of them chosen.
    const std::int64_t most = spec_.one_copy == real::OneCopy::measured ? 40 : 12;
    for (auto& messages : c.messages) {
      for (std::int64_t left = random_.between(0, most); left > 0; --left) messages.push_back(message());
    }
    return c;
  }

  void draw_faults() {
    if (random_.chance(0.5)) spec_.loss = one_of({0.01, 0.05, 0.1});
    for (auto left = random_.between(0, 3); left > 0; --left) {
      FaultSpec f{.kind = static_cast<FaultKind>(random_.below(kFaultNames.size()))};
      f.at = one_of({random_.between(0, microseconds(20)), random_.between(0, microseconds(300)),
                     random_.between(0, milliseconds(5))});
      f.lasts = one_of({random_.between(0, microseconds(500)), random_.between(0, milliseconds(20)),
                        random_.between(0, milliseconds(150))});
      f.lane = random_.below(spec_.lanes);
      f.connection = random_.below(spec_.connections.size());
      f.side = random_.below(2);
      spec_.faults.push_back(f);
    }
  }

  world::Random random_;
  SceneSpec spec_;
};

}  // namespace

SceneSpec draw_scene(std::uint64_t seed) { return SceneDraw(seed).make(); }

}  // namespace weft::scene

// A scene, as data: programs on one host whose lanes share rings, what they send each other, and what befalls them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "nic/counters.h"
#include "nic/formats.h"
#include "real_parts/times.h"
#include "world/real/settings/settings.h"

namespace weft::scene {

struct MessageSpec {
  nic::WorkKind kind = nic::WorkKind::write;
  std::uint32_t bytes = 0;
  std::uint32_t pieces = 1;  // of the sender's scatter/gather list; payloads of one piece alone can be exported
};

struct ConnectionSpec {
  std::array<std::size_t, 2> lanes{0, 1};
  std::uint16_t mtu = 4096;
  std::uint32_t receives = 16;                         // that a receiver has posted at a time
  std::uint32_t window = 8;                            // messages that a sender has outstanding
  std::array<std::vector<MessageSpec>, 2> messages{};  // [0] are posted by lanes[0]
};

// How a program goes about its work. Each is a chance that is drawn after a poll.
struct Habit {
  double pauses = 0.02;   // it computes for a while and does not poll
  double waits = 0.05;    // after a vain poll: it asks for an event and sleeps
  double posts = 0.5;     // it posts, if it has anything to post
  std::uint32_t row = 4;  // posts in a row, at most
  Time longest_pause = microseconds(200);
};

// clang-format off
enum class FaultKind : std::uint8_t {
  broker_dies,         // killed: rings and peers are forgotten, and met anew
  lane_dies,           // killed in the middle of whatever it does
  lane_stops,          // its program and its thread do nothing for a while, and it reads no ring
  region_goes,         // memory of an unfinished message is deregistered and used for something else
  queue_pair_goes,     // a queue pair with unfinished messages is destroyed, and their memory used for something else
  other_region_goes,   // memory of no message is deregistered: exports are revoked, but every message arrives
  driver_changes,      // the program asks for an event, and polls all the same: the thread drives, and it again
};
// clang-format on
inline constexpr std::array<std::string_view, 7> kFaultNames{
    "broker dies", "lane dies", "lane stops", "region goes", "queue pair goes", "other region goes", "driver changes"};

struct FaultSpec {
  FaultKind kind{};
  Time at = 0;
  std::uint64_t step = 0;      // instead: before this step of the scene, from 1 on
  Time lasts = 0;              // lane_stops
  std::size_t lane = 0;        // of lane_*, other_region_goes and driver_changes
  std::size_t connection = 0;  // of region_goes and queue_pair_goes,
  std::size_t side = 0;        //   and which of its lanes does it
};

struct SceneSpec {
  std::uint64_t seed = 1;
  std::size_t lanes = 2;
  real::TransportChoice transport = real::TransportChoice::srnic;
  real::OneCopy one_copy = real::OneCopy::off;
  bool rings = true;      // else local peers send each other counted datagrams
  double loss = 0;        // of datagrams
  double breathes = 0.1;  // how often another lane gets a step in the middle of one's step
  std::vector<Habit> habits{};
  std::vector<ConnectionSpec> connections{};
  std::vector<FaultSpec> faults{};

  // Nothing goes wrong: nothing may be sent twice.
  [[nodiscard]] bool is_calm() const { return faults.empty() && loss == 0; }
};
std::ostream& operator<<(std::ostream& out, const SceneSpec& spec);

// What there was of everything, so that silence means something.
struct Met {
  std::uint64_t steps = 0, preemptions = 0;
  std::uint64_t messages = 0, failed_messages = 0;
  std::uint64_t drivers_changed = 0, sleeps = 0;  // of lanes' threads
  std::uint64_t payloads_gone = 0;                // exported, and revoked before they were fetched
  std::uint64_t brokers = 0, returns = 0;         // that were started; lanes that came back to one
  std::uint64_t datagrams = 0, killed_inside = 0;
  void add(const Met& other);
};

struct Outcome {
  std::vector<std::string> violations{};
  Met met{};
  nic::Counters counters{};  // of all lanes together
  std::uint64_t steps = 0;   // until everything was done
  std::uint64_t digest = 0;
};

// With a sink, one line for every event.
[[nodiscard]] Outcome run(const SceneSpec& spec, std::ostream* sink = nullptr);

// Everything that can be chosen is drawn from the seed.
[[nodiscard]] SceneSpec draw_scene(std::uint64_t seed);

}  // namespace weft::scene

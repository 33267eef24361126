// What shall go wrong on a link: a value that can be written on one line, and read back from it, so that a failing test
// prints its plan and a command line takes one.
//
//   loss=0.01,duplication=0.005,jitter=0.1,jitter_max=10us,hole=5us..9us,drop=3,corrupt=7,count=world
//
// Nouns are probabilities and may hit any packet; verbs hit one packet, the n-th, counted from 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace weft::world {

enum class Fault : std::uint8_t { drop, duplicate, delay, corrupt, mark };

struct ScriptedFault {
  Fault fault{};
  std::uint64_t nth = 1;  // the first packet is 1
  friend bool operator==(const ScriptedFault&, const ScriptedFault&) = default;
};

// Packets whose last bit leaves in [from, to) are swallowed.
struct BlackHole {
  Time from = 0, to = kNever;
  friend bool operator==(const BlackHole&, const BlackHole&) = default;
};

struct FaultPlan {
  double loss = 0;         // gone
  double duplication = 0;  // a whole second copy, directly behind
  double reordering = 0;   // held until the next packet has passed
  double corruption = 0;   // some of its bits flipped
  double jitter = 0;       // later by a tick ... jitter_max
  double ecn = 0;          // marked: congestion experienced
  Time jitter_max = microseconds(10);
  Time hold = microseconds(50);  // a packet that waits for the next one to pass (reordering, delay) waits at most this
  bool count_world = false;      // n counts the packets of all links that count so, not of this link alone
  std::vector<BlackHole> holes{};
  std::vector<ScriptedFault> script{};

  [[nodiscard]] bool empty() const;  // nothing can go wrong
  [[nodiscard]] std::string text() const;
  friend bool operator==(const FaultPlan&, const FaultPlan&) = default;

  // One item of a plan, KEY=VALUE. The answer is what is wrong and what to write instead, or empty.
  [[nodiscard]] std::string set(std::string_view key, std::string_view value);

  struct Parsed;
  [[nodiscard]] static Parsed parse(std::string_view text);
};

struct FaultPlan::Parsed {
  std::optional<FaultPlan> plan;
  std::string error;  // when there is no plan: what is wrong, where, and what to write instead
};

}  // namespace weft::world

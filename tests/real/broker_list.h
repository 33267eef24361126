// What the broker tells of its lanes, as the weft command hears it.
#pragma once

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "support/patience.h"
#include "world/real/broker/conversation.h"

namespace weft::real {

// What the broker says of all lanes; nothing: it does not answer.
inline std::optional<nlohmann::json> listed_lanes() {
  Conversation command = call_broker();
  if (!command || !command.say(Message(Topic::list))) return std::nullopt;
  const auto in = command.wait(kPatienceMilliseconds);
  if (!in) return std::nullopt;
  return nlohmann::json::parse(in->text, nullptr, false);
}

// What the broker says of the lane with this number; null: there is none.
inline nlohmann::json told_of(std::uint32_t lane_number) {
  for (const auto& lane : listed_lanes().value_or(nlohmann::json::array())) {
    if (lane["lane_number"] == lane_number) return lane;
  }
  return {};
}

// Until the broker has seen this lane of ours leave. It tells all others of that, if they can be told, before it
// answers the next question: by now it has.
inline void wait_until_gone(std::uint32_t lane_number) {
  const auto is_gone = [&] {
    const auto lanes = listed_lanes();
    if (!lanes) return false;
    for (const auto& lane : *lanes) {
      if (lane["lane_number"] == lane_number && lane["process"] == getpid()) return false;
    }
    return true;
  };
  ASSERT_TRUE(eventually(is_gone)) << "the broker has not seen it leave";
}

}  // namespace weft::real

// Programs that run on the card right now, asked through the broker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "world/real/broker/conversation.h"

namespace weft::cli {

struct RunningLane {
  std::uint32_t lane_number = 0;
  std::int64_t process = 0;
  std::string program;
  std::vector<std::string> addresses;
  bool speaks_srnic = false;                 // its --transport allows it
  bool stateless = false, stateful = false;  // roles of StaR that its queue pairs play
};

class RunningPrograms {
 public:
  RunningPrograms() : broker_(real::call_broker()) {}

  // In the order of their places. None when nobody runs.
  [[nodiscard]] std::vector<RunningLane> list();
  // What a lane says; nothing if it went away or is silent.
  [[nodiscard]] std::optional<nlohmann::json> ask(const RunningLane& lane, const std::string& question);

 private:
  real::Conversation broker_;
};

}  // namespace weft::cli

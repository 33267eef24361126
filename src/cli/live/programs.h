// Programs that run on the card right now, asked through the broker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

// A broker that was killed is no reason to say that nobody runs: its lanes start another one within milliseconds.
class RunningPrograms {
 public:
  RunningPrograms() : broker_(real::call_broker()) {}

  // In the order of their lane numbers. None when nobody runs.
  [[nodiscard]] std::vector<RunningLane> list();
  // What a lane says; nothing if it went away or is silent.
  [[nodiscard]] std::optional<nlohmann::json> ask(const RunningLane& lane, const std::string& question);

 private:
  // Both answers are empty if the broker does not answer.
  [[nodiscard]] std::optional<std::vector<RunningLane>> list_once();
  [[nodiscard]] std::optional<nlohmann::json> ask_once(const RunningLane& lane, const std::string& question);
  bool say(const real::Message& message, std::string_view text = {});
  // Was the broker killed, before or while it was asked?
  [[nodiscard]] bool was_killed() const;
  // What `ask` answers; if the broker was killed, what its successor answers, if there is one soon.
  template <class Ask>
  [[nodiscard]] auto outlive_broker(Ask ask);

  real::Conversation broker_;
};

}  // namespace weft::cli

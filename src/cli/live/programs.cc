#include "cli/live/programs.h"

#include <cerrno>

namespace weft::cli {
namespace {
constexpr int kAnswerPatience = 2000;  // milliseconds
}

std::vector<RunningLane> RunningPrograms::list() {
  std::vector<RunningLane> out;
  if (!broker_ || !broker_.say(real::Message(real::Topic::list))) return out;
  const auto in = broker_.wait(kAnswerPatience);
  if (!in || in->message.topic != real::Topic::listed) return out;
  for (const auto& lane : nlohmann::json::parse(in->text, nullptr, false)) {
    out.push_back({.lane_number = lane.value("place", 0U),
                   .process = lane.value("process", std::int64_t{0}),
                   .program = lane.value("program", std::string()),
                   .addresses = lane.value("addresses", std::vector<std::string>{}),
                   .speaks_srnic = lane.value("srnic", false),
                   .stateless = lane.value("stateless", false),
                   .stateful = lane.value("stateful", false)});
  }
  return out;
}

std::optional<nlohmann::json> RunningPrograms::ask(const RunningLane& lane, const std::string& question) {
  real::Message m(real::Topic::ask);
  m.ticket = {.asker = 0, .lane_number = lane.lane_number};
  if (!broker_ || !broker_.say(m, question)) return std::nullopt;
  std::string text;
  for (;;) {
    const auto in = broker_.wait(kAnswerPatience);
    if (!in || in->message.topic != real::Topic::answer) return std::nullopt;
    text += in->text;
    if (in->message.code == EAGAIN) continue;  // more follows
    auto answer = nlohmann::json::parse(text, nullptr, false);
    if (in->message.code != 0 || answer.is_discarded()) return std::nullopt;
    return answer;
  }
}

}  // namespace weft::cli

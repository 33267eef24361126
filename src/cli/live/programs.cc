#include "cli/live/programs.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include <unistd.h>

#include "world/real/broker/broker_place.h"

namespace weft::cli {
namespace {
constexpr int kAnswerPatience = 2000;  // milliseconds
constexpr std::chrono::milliseconds kSuccessorWithin{500}, kLookAgain{10};
}  // namespace

bool RunningPrograms::was_killed() const {
  if (broker_) return broker_.over();
  const auto sockets = real::broker_sockets();  // a broker that ends by itself takes its socket along
  const auto is_there = [](const std::string& path) { return access(path.c_str(), F_OK) == 0; };
  return sockets && std::ranges::any_of(*sockets, is_there);
}

template <class Ask>
auto RunningPrograms::outlive_broker(Ask ask) {
  auto answer = ask();
  if (answer || !was_killed()) return answer;
  const auto end = std::chrono::steady_clock::now() + kSuccessorWithin;
  while (!answer && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kLookAgain);
    broker_ = real::call_broker();
    answer = ask();
  }
  return answer;
}

std::vector<RunningLane> RunningPrograms::list() {
  bool returning = false;  // a successor has no lanes at first
  const auto lanes = outlive_broker([&] {
    auto found = list_once();
    if (returning && found && found->empty()) found.reset();
    returning = true;
    return found;
  });
  return lanes.value_or(std::vector<RunningLane>());
}

std::optional<nlohmann::json> RunningPrograms::ask(const RunningLane& lane, const std::string& question) {
  return outlive_broker([&] { return ask_once(lane, question); });
}

bool RunningPrograms::say(const real::Message& message, std::string_view text) {
  if (broker_ && broker_.say(message, text)) return true;
  broker_.close();
  return false;
}

std::optional<std::vector<RunningLane>> RunningPrograms::list_once() {
  if (!say(real::Message(real::Topic::list))) return std::nullopt;
  const auto in = broker_.wait(kAnswerPatience);
  if (!in || in->message.topic != real::Topic::listed) return std::nullopt;
  std::vector<RunningLane> out;
  for (const auto& lane : nlohmann::json::parse(in->text, nullptr, false)) {
    out.push_back({.lane_number = lane.value("lane_number", 0U),
                   .process = lane.value("process", std::int64_t{0}),
                   .program = lane.value("program", std::string()),
                   .addresses = lane.value("addresses", std::vector<std::string>{}),
                   .speaks_srnic = lane.value("srnic", false),
                   .stateless = lane.value("stateless", false),
                   .stateful = lane.value("stateful", false)});
  }
  return out;
}

std::optional<nlohmann::json> RunningPrograms::ask_once(const RunningLane& lane, const std::string& question) {
  real::Message m(real::Topic::ask);
  m.ticket = {.asker = 0, .lane_number = lane.lane_number};
  if (!say(m, question)) return std::nullopt;
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

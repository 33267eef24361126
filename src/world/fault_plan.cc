#include "world/fault_plan.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "world/time_text.h"

namespace weft::world {
namespace {

struct ProbabilityKey {
  std::string_view name;
  double FaultPlan::*field;
};
constexpr std::array kProbabilities{ProbabilityKey{"loss", &FaultPlan::loss},
                                    ProbabilityKey{"duplication", &FaultPlan::duplication},
                                    ProbabilityKey{"reordering", &FaultPlan::reordering},
                                    ProbabilityKey{"corruption", &FaultPlan::corruption},
                                    ProbabilityKey{"jitter", &FaultPlan::jitter},
                                    ProbabilityKey{"ecn", &FaultPlan::ecn}};

struct TimeKey {
  std::string_view name;
  Time FaultPlan::*field;
};
constexpr std::array kTimes{TimeKey{"jitter_max", &FaultPlan::jitter_max}, TimeKey{"hold", &FaultPlan::hold}};

struct ScriptKey {
  std::string_view name;
  Fault fault;
  std::string_view noun;  // the probability that means the same
};
constexpr std::array kScripts{
    ScriptKey{"drop", Fault::drop, "loss"}, ScriptKey{"duplicate", Fault::duplicate, "duplication"},
    ScriptKey{"delay", Fault::delay, "reordering"}, ScriptKey{"corrupt", Fault::corrupt, "corruption"},
    ScriptKey{"mark", Fault::mark, "ecn"}};

constexpr std::string_view kKeys =
    "loss, duplication, reordering, corruption, jitter, ecn (probabilities), drop, duplicate, delay, corrupt, mark "
    "(the n-th packet), hole (FROM..TO), jitter_max, hold (times), count (link or world)";

std::string quoted(std::string_view text) { return std::string("'").append(text).append("'"); }

// The shortest digits that read back as the same number.
std::string number_text(double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

template <class Number>
bool read_all(std::string_view text, Number& out) {
  const char* end = text.data() + text.size();
  const auto [ptr, ec] = std::from_chars(text.data(), end, out);
  return ec == std::errc{} && ptr == end && !text.empty();
}

// Each of these reads one value; the answer is an error, or nothing.

std::string read_probability(std::string_view key, std::string_view value, double& out) {
  const bool percent = value.ends_with('%');
  double number = 0;
  const bool read = read_all(percent ? value.substr(0, value.size() - 1) : value, number);
  if (percent) number /= 100;
  if (read && number >= 0 && number <= 1) {
    out = number;
    return {};
  }
  std::string error = quoted(value) + " is no probability: " + std::string(key) + " wants 0 ... 1, or 0% ... 100%";
  for (const ScriptKey& script : kScripts) {
    if (read && script.noun == key) error += "; to hit one packet, say " + std::string(script.name) + "=N";
  }
  return error;
}

std::string read_time(std::string_view key, std::string_view value, Time& out) {
  const std::optional<Time> time = parse_time(value);
  if (!time) return quoted(value) + " is no time: " + std::string(key) + " wants a number and ps, ns, us, ms or s";
  if (*time <= 0 || *time == kNever) return std::string(key) + " must be more than nothing and less than forever";
  out = *time;
  return {};
}

std::string read_script(const ScriptKey& key, std::string_view value, FaultPlan& plan) {
  std::uint64_t nth = 0;
  if (!read_all(value, nth) || nth == 0) {
    return quoted(value) + " is no packet's number: " + std::string(key.name) +
           " wants 1, 2, ... (the first packet is 1); for a probability say " + std::string(key.noun) + "=P";
  }
  plan.script.push_back({key.fault, nth});
  return {};
}

std::string read_hole(std::string_view value, FaultPlan& plan) {
  const std::size_t dots = value.find("..");
  const std::string_view from_text = value.substr(0, dots);
  const std::string_view to_text = dots == std::string_view::npos ? std::string_view{} : value.substr(dots + 2);
  const std::optional<Time> from = parse_time(from_text), to = parse_time(to_text);
  if (!from || !to) return quoted(value) + " is no interval: hole wants FROM..TO, like 10us..2ms or 10us..never";
  if (*from >= *to) return "hole " + quoted(value) + " ends before it begins";
  plan.holes.push_back({*from, *to});
  return {};
}

std::string read_item(std::string_view item, FaultPlan& plan) {
  const std::size_t equals = item.find('=');
  if (equals == std::string_view::npos)
    return quoted(item) + " has no value; expected KEY=VALUE with one of " + std::string(kKeys);
  return plan.set(item.substr(0, equals), item.substr(equals + 1));
}

}  // namespace

bool FaultPlan::empty() const {
  for (const ProbabilityKey& key : kProbabilities) {
    if (this->*key.field > 0) return false;
  }
  return holes.empty() && script.empty();
}

std::string FaultPlan::text() const {
  std::string line;
  const auto add = [&line](std::string_view key, const std::string& value) {
    if (!line.empty()) line += ',';
    line.append(key).append("=").append(value);
  };
  const FaultPlan usual;
  for (const ProbabilityKey& key : kProbabilities) {
    if (this->*key.field != 0) add(key.name, number_text(this->*key.field));
  }
  for (const TimeKey& key : kTimes) {
    if (this->*key.field != usual.*key.field) add(key.name, time_text(this->*key.field));
  }
  for (const BlackHole& hole : holes) add("hole", time_text(hole.from) + ".." + time_text(hole.to));
  for (const ScriptedFault& one : script) {
    for (const ScriptKey& key : kScripts) {
      if (key.fault == one.fault) add(key.name, std::to_string(one.nth));
    }
  }
  if (count_world) add("count", "world");
  return line.empty() ? "none" : line;
}

std::string FaultPlan::set(std::string_view key, std::string_view value) {
  for (const ProbabilityKey& known : kProbabilities) {
    if (known.name == key) return read_probability(key, value, this->*known.field);
  }
  for (const TimeKey& known : kTimes) {
    if (known.name == key) return read_time(key, value, this->*known.field);
  }
  for (const ScriptKey& known : kScripts) {
    if (known.name == key) return read_script(known, value, *this);
  }
  if (key == "hole") return read_hole(value, *this);
  if (key == "count") {
    if (value != "world" && value != "link") return quoted(value) + ": count wants link or world";
    count_world = value == "world";
    return {};
  }
  return "there is no fault called " + quoted(key) + "; known are " + std::string(kKeys);
}

FaultPlan::Parsed FaultPlan::parse(std::string_view text) {
  FaultPlan plan;
  if (text.empty() || text == "none") return {plan, {}};
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    if (std::string error = read_item(text.substr(at, comma - at), plan); !error.empty()) {
      return {std::nullopt, "fault plan, at character " + std::to_string(at + 1) + ": " + error};
    }
    at = comma + 1;
  }
  return {std::move(plan), {}};
}

}  // namespace weft::world

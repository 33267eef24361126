// A weft.toml of any bytes, and WEFT_* variables of any text. Parts of the input end with a zero: the first part is the
// file, the others are a variable each, by number, and its value. These hold:
//   * they are settings, or one sentence that begins with the place of what is wrong;
//   * settings that are accepted are such as the card can have, and reading the same again gives the same;
//   * a value means the same in a variable and as a text in the file;
//   * a plan of faults that is accepted can be written, and read back as it was.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "fuzz_bytes.h"
#include "world/real/settings/addresses.h"
#include "world/real/settings/setting_table.h"
#include "world/real/settings/settings.h"

namespace weft::real {
namespace {

using fuzz::require;
using Read = tl::expected<Settings, std::string>;

// A file of this user's own: settings are read from no other.
class ScratchFile {
 public:
  ScratchFile() : file_(mkostemp(path_.data(), O_CLOEXEC)) { require(file_ >= 0, "there is room for a file"); }
  ~ScratchFile() {
    (void)unlink(path_.c_str());
    (void)close(file_);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  void hold(std::string_view text) const {
    require(ftruncate(file_, 0) == 0 && pwrite(file_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
            "a file can be written");
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/weft-settings-fuzz-XXXXXX";
  int file_;
};

const ScratchFile& scratch() {
  static const ScratchFile file;
  return file;
}

using Variables = std::map<std::string, std::string, std::less<>>;

Read read(std::string_view file, const Variables& variables) {
  scratch().hold(file);
  return Settings::from([&](const char* name) -> const char* {
    if (std::string_view(name) == "WEFT_CONFIG") return scratch().path().c_str();
    const auto found = variables.find(std::string_view(name));
    return found != variables.end() ? found->second.c_str() : nullptr;
  });
}

bool is_chance(double p) { return p >= 0 && p <= 1; }

void check_plan(const world::FaultPlan& plan) {
  for (const double p : {plan.loss, plan.duplication, plan.reordering, plan.corruption, plan.jitter, plan.ecn}) {
    require(is_chance(p), "a probability that is none");
  }
  require(plan.jitter_max >= 0 && plan.hold >= 0, "a time before now");
  for (const world::BlackHole& hole : plan.holes) require(hole.from >= 0 && hole.from < hole.to, "a hole inside out");
  for (const world::ScriptedFault& one : plan.script) require(one.nth >= 1, "a packet before the first");
  const world::FaultPlan::Parsed again = world::FaultPlan::parse(plan.text());
  require(again.plan.has_value() && *again.plan == plan, "a plan that cannot be written");
}

void check(const Settings& s) {
  require(s.addresses.size() <= kMaxAddresses, "too many addresses");
  for (auto it = s.addresses.begin(); it != s.addresses.end(); ++it) {
    require(std::find(it + 1, s.addresses.end(), *it) == s.addresses.end(), "an address twice");
  }
  require(!s.window || (*s.window >= 1 && *s.window <= nic::kMaxWindow), "a window that cannot be");
  require(s.max_qps >= 1 && s.max_qps <= 131072, "so many queue pairs");
  require(s.works_per_turn >= 1 && s.burst_bytes >= 1, "a turn of nothing");
  require(std::all_of(s.weights.begin(), s.weights.end(), [](auto w) { return w >= 1; }), "a level without a turn");
  check_plan(s.impairments);
}

bool same(const Settings& a, const Settings& b) {
  return a.addresses == b.addresses && a.transport == b.transport && a.congestion == b.congestion &&
         a.window == b.window && a.requester_bitmaps == b.requester_bitmaps && a.wire == b.wire &&
         a.one_copy == b.one_copy && a.impairments == b.impairments && a.impair_outbound == b.impair_outbound &&
         a.impair_inbound == b.impair_inbound && a.seed == b.seed && a.pcap == b.pcap && a.stats == b.stats &&
         a.max_qps == b.max_qps && a.stateless_beyond == b.stateless_beyond && a.capabilities == b.capabilities &&
         a.policy == b.policy && a.weights == b.weights && a.works_per_turn == b.works_per_turn &&
         a.burst_bytes == b.burst_bytes;
}

bool is_plain(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '\''; });
}

// What is wrong is said behind the place, whichever it is.
void means_the_same_in_the_file(const SettingRow& setting, const std::string& value) {
  if (!is_plain(value)) return;
  const Read variable = read("", {{std::string(setting.variable), value}});
  const Read file = read(std::string(setting.key) + " = '" + value + "'\n", {});
  require(variable.has_value() == file.has_value(), "a value is accepted in one place only");
  if (variable) return require(same(*variable, *file), "a value means two things");
  const std::string in_file = scratch().path() + ":1: " + std::string(setting.key);
  require(variable.error().substr(setting.variable.size()) == file.error().substr(in_file.size()),
          "two sentences about the same");
}

std::vector<std::string> parts_of(std::string_view input) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= input.size() && parts.size() < 8;) {
    const std::size_t end = std::min(input.find('\0', at), input.size());
    parts.emplace_back(input.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

void run(std::string_view input) {
  const std::vector<std::string> parts = parts_of(input);
  Variables variables;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].empty()) continue;
    const SettingRow& setting = all_settings()[static_cast<unsigned char>(parts[i][0]) % all_settings().size()];
    const std::string value = parts[i].substr(1);
    variables[std::string(setting.variable)] = value;
    means_the_same_in_the_file(setting, value);
  }
  const Read got = read(parts[0], variables);
  const Read again = read(parts[0], variables);
  require(got.has_value() == again.has_value(), "the same is read otherwise");
  if (got) {
    check(*got);
    return require(same(*got, *again), "the same means otherwise");
  }
  require(got.error() == again.error(), "the same is refused otherwise");
  require(got.error().starts_with(scratch().path()) || got.error().starts_with("WEFT_"), "a sentence without a place");
}

}  // namespace
}  // namespace weft::real

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  weft::real::run({static_cast<const char*>(static_cast<const void*>(data)), size});
  return 0;
}

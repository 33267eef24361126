// What a demonstration found out: per verb, of the network, of the cards. Printed for people or for programs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/weft.h"

namespace weft::cli {

struct DemoOptions {
  std::uint64_t seed = 1;
  double loss = 0.01;  // probability
  std::ostream* trace = nullptr;
};

// What the demonstration does, a line of its table each.
// clang-format off
enum class Row : std::uint8_t {
  send, send_immediate, send_invalidate, write, write_immediate, read, compare_swap, fetch_add, bind_one, bind_two,
  write_window, local_invalidate, send_shared, uc_send, uc_write, ud_send, count_,
};
// clang-format on
inline constexpr std::size_t kRows = static_cast<std::size_t>(Row::count_);

struct RowText {
  Service service;
  std::string_view name;
};
inline constexpr std::array<RowText, kRows> kRowTexts{{
    {Service::rc, "SEND"},
    {Service::rc, "SEND with immediate"},
    {Service::rc, "SEND with invalidate"},
    {Service::rc, "WRITE"},
    {Service::rc, "WRITE with immediate"},
    {Service::rc, "READ"},
    {Service::rc, "compare and swap"},
    {Service::rc, "fetch and add"},
    {Service::rc, "bind window, type 1"},
    {Service::rc, "bind window, type 2"},
    {Service::rc, "WRITE through a window"},
    {Service::rc, "local invalidate"},
    {Service::rc, "SEND to a shared queue"},
    {Service::uc, "SEND with immediate"},
    {Service::uc, "WRITE with immediate"},
    {Service::ud, "SEND with immediate"},
}};

constexpr std::string_view name_of(Service service) {
  return service == Service::rc ? "RC" : service == Service::uc ? "UC" : "UD";
}

struct DemoTally {
  std::uint64_t messages = 0, bytes = 0;
  std::uint64_t completed = 0;  // where they were posted
  std::uint64_t arrived = 0;    // at the peer; for RC the same as completed
  std::uint64_t checked = 0;    // and every byte was right
  std::uint64_t wrong = 0;
  // Until the completion where it was posted (RC), or until the arrival (UC, UD).
  Duration latency_sum{}, latency_max{};

  [[nodiscard]] Duration latency_mean() const {
    return Duration::picoseconds(arrived == 0 ? 0 : latency_sum.in_picoseconds() / static_cast<std::int64_t>(arrived));
  }
  void note_latency(Duration latency) {
    ++arrived;
    latency_sum += latency;
    latency_max = std::max(latency_max, latency);
  }
};

struct Scoreboard {
  std::array<DemoTally, kRows> rows{};
  std::vector<std::string> problems{};

  [[nodiscard]] DemoTally& operator[](Row row) { return rows[static_cast<std::size_t>(row)]; }
  void judge(Row row, bool right) { ++(right ? (*this)[row].checked : (*this)[row].wrong); }
  void failed(Row row, const Completion& done);
};

struct DemoReport {
  DemoOptions options{};
  std::uint32_t hosts = 0, connections = 0, queue_pairs = 0;
  std::uint64_t bits_per_second = 0;
  Duration link_delay{};
  Scoreboard board{};
  NetworkCounters network{};
  std::vector<Counter> counters{};  // of all cards, summed; those that are not zero
  Duration simulated{};
  std::uint64_t digest = 0;

  [[nodiscard]] bool ok() const { return board.problems.empty(); }
};

[[nodiscard]] DemoReport run_demo(const DemoOptions& options);

struct Style {
  bool color = false;
};
void print_text(const DemoReport& report, Style style);
void print_json(const DemoReport& report);

}  // namespace weft::cli

// What one run of `weft run --stats -- weft-connections --json` printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace weft::cli {

struct LoadReading {
  double messages_per_second = 0, median_us = 0, p99_us = 0;
  bool steady = false;  // else completion takes at least these times
  std::optional<double> least_share, most_share;
  std::uint64_t sent_packets = 0, again = 0;  // the sender's; again: of these, those that had been sent before
};

// Standard output and standard error together, of a run with one number of queue pairs; else what is missing there.
[[nodiscard]] tl::expected<LoadReading, std::string> read_load(std::string_view text);

// What a run that failed said about it.
[[nodiscard]] std::string reason_in(std::string_view text);

}  // namespace weft::cli

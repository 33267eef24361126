// Measures that are runs of other programs, a server and its client, wherever each of them is.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/bench/measure.h"

namespace weft::cli {

using BenchWords = std::vector<std::string>;

inline constexpr int kBenchSeconds = 30;  // a run that takes longer has failed

[[nodiscard]] std::string next_bench_port();
[[nodiscard]] std::string joined_words(const BenchWords& words);

// A program of perftest's on the card. `way`: for `weft run`; the value is in this column of the last row.
[[nodiscard]] Measure perftest(const BenchPlace& place, std::string name, std::string unit, const BenchWords& way,
                               const BenchWords& program, std::size_t column);
[[nodiscard]] Measure sockperf(const BenchPlace& place, std::string name);  // UDP, polling, 64 bytes: us, one way
[[nodiscard]] Measure iperf3(const BenchPlace& place, std::string name);    // TCP: Gb/s

// The same measure, compared with others.
[[nodiscard]] Measure against(Measure m, std::vector<Measure::Beside> besides, bool less_is_better = false);

}  // namespace weft::cli

// What weft bench star has measured, and what is judged by it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/samples.h"
#include "cli/bench/star/bench.h"

namespace weft::cli {

enum class StarWay : std::uint8_t { roce, srnic, star, trusting };
inline constexpr std::array kStarWays{"roce", "srnic", "star", "star, trusting"};

struct StarCell {
  Samples rate, median_us, p99_us;
  std::string failure;  // why the last run that failed did
};

struct StarTable {
  struct Row {
    std::uint32_t connections = 0;
    std::array<StarCell, kStarWays.size()> ways{};
  };
  std::vector<Row> rows;

  [[nodiscard]] const StarCell* at(std::uint32_t connections, StarWay way) const;
};

// The server's throughput has to stay when its connections become a thousand times as many, and checking capabilities
// may cost a tenth of it.
inline constexpr double kStarKeeps = 0.9, kCheckKeeps = 0.9;

struct StarVerdict {
  std::string what;
  std::optional<double> ratio;
  double floor = 0;
  [[nodiscard]] bool met() const { return ratio && *ratio >= floor; }
};
[[nodiscard]] std::vector<StarVerdict> verdicts_of(const StarTable& table);

// The command of one point.
[[nodiscard]] std::vector<std::string> words_of(const StarBench& bench, std::uint32_t connections, StarWay way);

[[nodiscard]] std::string star_text(const StarBench& bench, const StarTable& table);
[[nodiscard]] std::string star_json(const StarBench& bench, const StarTable& table);

}  // namespace weft::cli

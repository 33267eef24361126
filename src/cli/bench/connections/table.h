// The table of the load: a cell for each point, and what cells are beside each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/connections/point.h"
#include "cli/bench/connections/reading.h"
#include "cli/bench/samples.h"

namespace weft::cli {

struct LoadCell {
  LoadPoint point;
  Samples rate, least, most, median_us, p99_us;  // round by round
  std::uint64_t sent_packets = 0, again = 0;     // in all rounds
  bool steady = true;                            // in all rounds
  std::string failure;                           // the last one

  void add(const tl::expected<LoadReading, std::string>& round);
  [[nodiscard]] std::optional<double> gbits() const;
  [[nodiscard]] std::optional<double> again_share() const;  // of packets sent
};

struct LoadTable {
  std::vector<LoadCell> cells;
  // The same load with and without loss.
  struct Lossy {
    LoadCell lossless, lossy;
  };
  std::vector<Lossy> losses;
  std::uint32_t milliseconds = 0;  // that each cell was measured for, a round

  [[nodiscard]] const LoadCell* find(const LoadPoint& point) const;
};

// Beside the fastest cell of the same wire, transport, verb and depth. Nothing, if either did not run or no other is
// there.
[[nodiscard]] std::optional<double> of_best(const LoadTable& table, const LoadCell& cell);
// srnic's rate beside roce's, all else the same. Nothing, if the cell is not srnic's or roce was not measured.
[[nodiscard]] std::optional<double> of_roce(const LoadTable& table, const LoadCell& cell);

}  // namespace weft::cli

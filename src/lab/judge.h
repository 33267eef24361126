// Claims beside results, over all seeds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/study.h"

namespace weft::lab {

// Where the number of a row comes from.
enum class RowKind : std::uint8_t {
  computed,   // from the card's own structures or its encoder
  simulated,  // from runs
};
[[nodiscard]] std::string_view kind_text(RowKind kind);

struct JudgedRow {
  const ClaimRow* row;
  RowKind kind;
  std::optional<Spread> measured;
  std::size_t met = 0;  // how many of the seeds were within the band
  std::string failure;  // why there is nothing measured
  Verdict verdict;

  // What is expected: a row that says why it is missed is known to be.
  [[nodiscard]] Verdict recorded() const {
    return !row->why.empty() ? Verdict::missed : row->calibrated ? Verdict::calibrated : Verdict::met;
  }
};
struct JudgedClaim {
  const Claim* claim;
  std::vector<JudgedRow> rows;  // in the quick set, those that belong to it; perhaps none

  [[nodiscard]] std::size_t count(Verdict verdict) const;
  [[nodiscard]] std::size_t count(Verdict verdict, RowKind kind) const;
  // The verdict of the claim's worst row: missed before calibrated before met. A claim without rows is absent.
  [[nodiscard]] Verdict verdict() const;
  [[nodiscard]] Verdict recorded() const;
};

// A row is met if its mean is within the band, and so are nine of ten seeds.
inline constexpr double kMostlyMet = 0.9;
[[nodiscard]] std::vector<JudgedClaim> judge(const Study& study);

// Rows by kind and verdict, and claims that are absent.
struct Tally {
  std::size_t computed_met = 0, computed_missed = 0, simulated_met = 0, simulated_missed = 0, calibrated = 0,
              absent = 0;

  void add(const std::vector<JudgedClaim>& claims);
  [[nodiscard]] std::size_t met() const { return computed_met + simulated_met; }
  [[nodiscard]] std::size_t missed() const { return computed_missed + simulated_missed; }
  [[nodiscard]] bool empty() const { return met() + missed() + calibrated + absent == 0; }
};

// Does this number need a run?
[[nodiscard]] RowKind kind_of(const ClaimRow& row, const Plan& plan);

}  // namespace weft::lab

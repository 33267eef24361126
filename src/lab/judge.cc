#include "lab/judge.h"

#include <algorithm>

#include "lab/expression.h"

namespace weft::lab {

std::size_t JudgedClaim::count(Verdict verdict) const {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const JudgedRow& r) { return r.verdict == verdict; }));
}

std::vector<JudgedClaim> judge(const Study& study) {
  std::vector<JudgedClaim> out;
  for (const Claim& claim : study.plan->claims) {
    JudgedClaim judged{.claim = &claim, .rows = {}};
    for (const ClaimRow& row : claim.rows) {
      if (study.extent == Extent::quick && !row.quick) continue;
      const auto value = evaluate(row.value, study);
      JudgedRow& r = judged.rows.emplace_back(JudgedRow{.row = &row, .measured = {}, .failure = {}, .verdict = {}});
      if (value) r.measured = *value;
      if (!value) r.failure = value.error();
      const bool met = value && is_met(row.band, row.claimed, *value);
      r.verdict = !met ? Verdict::missed : row.calibrated ? Verdict::calibrated : Verdict::met;
    }
    out.push_back(std::move(judged));
  }
  return out;
}

}  // namespace weft::lab

#include "lab/judge.h"

#include <algorithm>
#include <span>

#include "lab/expression.h"

namespace weft::lab {
namespace {

bool is_all_met(const ClaimRow& row, const JudgedRow& judged) {
  return is_met(row.band, row.claimed, judged.measured->mean) &&
         static_cast<double>(judged.met) >= kMostlyMet * static_cast<double>(judged.measured->count);
}

JudgedRow judge_row(const Study& study, const ClaimRow& row) {
  JudgedRow out{.row = &row, .kind = kind_of(row, *study.plan), .measured = {}, .failure = {}, .verdict = {}};
  const Sample none;
  std::span<const Sample> samples = study.samples;
  if (samples.empty()) samples = {&none, 1};
  if (out.kind == RowKind::computed) samples = samples.first(1);
  std::vector<double> values;
  for (const Sample& sample : samples) {
    const auto value = evaluate(row.value, study, sample);
    if (!value) {
      out.failure = value.error();
      break;
    }
    values.push_back(*value);
    out.met += is_met(row.band, row.claimed, *value) ? 1 : 0;
  }
  if (out.failure.empty()) out.measured = spread_of(values);
  const bool met = out.measured && is_all_met(row, out);
  out.verdict = !met ? Verdict::missed : row.calibrated ? Verdict::calibrated : Verdict::met;
  return out;
}

// The worst of them.
template <class Verdicts>
Verdict worst(const std::vector<JudgedRow>& rows, Verdicts&& verdict) {
  if (rows.empty()) return Verdict::absent;
  Verdict out = Verdict::met;
  for (const JudgedRow& row : rows) {
    const Verdict v = verdict(row);
    if (v == Verdict::missed || out == Verdict::met) out = v;
  }
  return out;
}

}  // namespace

std::string_view kind_text(RowKind kind) { return kind == RowKind::computed ? "computed" : "simulated"; }

RowKind kind_of(const ClaimRow& row, const Plan& plan) {
  const bool runs = std::any_of(plan.series.begin(), plan.series.end(),
                                [&](const Series& series) { return mentions(row.value, series.name); });
  return runs ? RowKind::simulated : RowKind::computed;
}

std::size_t JudgedClaim::count(Verdict verdict) const {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const JudgedRow& r) { return r.verdict == verdict; }));
}
std::size_t JudgedClaim::count(Verdict verdict, RowKind kind) const {
  return static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [&](const JudgedRow& r) { return r.verdict == verdict && r.kind == kind; }));
}

void Tally::add(const std::vector<JudgedClaim>& claims) {
  for (const JudgedClaim& claim : claims) {
    computed_met += claim.count(Verdict::met, RowKind::computed);
    computed_missed += claim.count(Verdict::missed, RowKind::computed);
    simulated_met += claim.count(Verdict::met, RowKind::simulated);
    simulated_missed += claim.count(Verdict::missed, RowKind::simulated);
    calibrated += claim.count(Verdict::calibrated);
    absent += claim.claim->absent.empty() ? 0 : 1;
  }
}

Verdict JudgedClaim::verdict() const {
  return worst(rows, [](const JudgedRow& r) { return r.verdict; });
}
Verdict JudgedClaim::recorded() const {
  return worst(rows, [](const JudgedRow& r) { return r.recorded(); });
}

std::vector<JudgedClaim> judge(const Study& study) {
  std::vector<JudgedClaim> out;
  for (const Claim& claim : study.plan->claims) {
    JudgedClaim judged{.claim = &claim, .rows = {}};
    for (const ClaimRow& row : claim.rows) {
      if (study.extent == Extent::quick && !row.quick) continue;
      judged.rows.push_back(judge_row(study, row));
    }
    out.push_back(std::move(judged));
  }
  return out;
}

}  // namespace weft::lab

#include "lab/report/tables.h"

#include <fmt/format.h>

#include "lab/metrics.h"
#include "lab/on_chip_need.h"
#include "lab/report/html.h"

namespace weft::lab {
namespace {

// A cell that says what it is when rows are stacked on narrow screens.
std::string cell(std::string_view name, const std::string& html, std::string_view css = "") {
  return fmt::format("<td data-name=\"{}\"{}>{}</td>", name, css.empty() ? "" : fmt::format(" class=\"{}\"", css),
                     html);
}

std::string measured_text(const JudgedRow& row) {
  return row.measured ? fmt::format("{} {}", spread_text(*row.measured), escape(row.row->unit)) : "nothing";
}

// A computed number is the same with every seed.
std::string seeds_text(const JudgedRow& row) {
  if (!row.measured || row.kind == RowKind::computed) return "";
  return fmt::format("{} of {}", row.met, row.measured->count);
}

std::string row_html(const JudgedRow& judged) {
  const ClaimRow& row = *judged.row;
  std::string notes;
  if (!judged.failure.empty()) notes += fmt::format("<p class=\"note\">{}</p>", escape(judged.failure));
  if (judged.verdict == Verdict::missed && !row.why.empty())
    notes += fmt::format("<p class=\"note\">{}</p>", escape(row.why));
  const std::string_view verdict = verdict_text(judged.verdict);
  return fmt::format(
      "<tr data-verdict=\"{0}\"><th scope=\"row\">{1}<code class=\"value\">{2}</code>{3}</th>{4}{5}{6}{7}{8}{9}</tr>",
      verdict, escape(row.name), escape(row.value), notes,
      cell("claimed", fmt::format("{} {}", escape(row.claimed), escape(row.unit)), "num"),
      cell("measured", measured_text(judged), "num"), cell("band", escape(row.band_text), "num"),
      cell("seeds within", seeds_text(judged), "num"), cell("kind", std::string(kind_text(judged.kind))),
      cell("verdict", fmt::format("<span class=\"verdict {0}\">{0}</span>", verdict)));
}

std::string origin(const Parameter& p) {
  if (!p.calibrated_on.empty())
    return fmt::format("<span class=\"tag\">calibrated</span> on {}", escape(p.calibrated_on));
  if (!p.swept_by.empty()) return fmt::format("<span class=\"tag\">swept</span> by {}", escape(p.swept_by));
  if (!p.assumed.empty()) return fmt::format("<span class=\"tag\">assumed</span> {}", escape(p.assumed));
  return escape(p.source);
}

std::string without_rows(const Claim& claim) {
  return fmt::format("<p id=\"claim-{0}\"><b>{0}</b> {1} <span class=\"quiet\">({2})</span><br>{3}</p>\n",
                     escape(claim.id), escape(claim.what), escape(claim.source),
                     claim.absent.empty() ? "not in the quick set" : "absent: " + escape(claim.absent));
}

}  // namespace

std::string claims_table(const std::vector<JudgedClaim>& claims) {
  std::string out;
  for (const JudgedClaim& claim : claims) {
    if (claim.rows.empty()) {
      out += without_rows(*claim.claim);
      continue;
    }
    out += fmt::format(
        "<table class=\"claims stack\" id=\"claim-{0}\"><caption><b>{0}</b> {1} <span "
        "class=\"quiet\">({2})</span></caption>",
        escape(claim.claim->id), escape(claim.claim->what), escape(claim.claim->source));
    out +=
        "<thead><tr><th scope=\"col\"></th><th scope=\"col\" class=\"num\">claimed</th><th scope=\"col\" "
        "class=\"num\">measured</th><th scope=\"col\" class=\"num\">band</th><th scope=\"col\" class=\"num\">seeds "
        "within</th><th scope=\"col\">kind</th><th scope=\"col\">verdict</th></tr></thead>"
        "<tbody>";
    for (const JudgedRow& row : claim.rows) out += row_html(row);
    out += "</tbody></table>\n";
  }
  return out;
}

std::string series_table(const Study& study) {
  if (study.plan->series.empty()) return {};
  std::string out =
      "<table class=\"stack series\"><caption>Cards and what the plan sets</caption><thead><tr><th "
      "scope=\"col\">series</th>"
      "<th scope=\"col\">profile</th><th scope=\"col\">set</th></tr></thead><tbody>";
  for (std::size_t i = 0; i < study.plan->series.size(); ++i) {
    const Series& series = study.plan->series[i];
    const Setting usual;
    std::string set;
    const auto add = [&](const FieldInfo& info, double value) {
      set += fmt::format("<span class=\"pair\">{} <b>{}</b></span> ", info.key, escape(value_text(info, value)));
    };
    for (const SettingField& f : all_setting_fields()) {
      if (!f.is_of_profile() && f.get(series.setting) != f.get(usual)) add(f.info(), f.get(series.setting));
    }
    for (const Override& change : series.changes) {
      if (change.field.is_of_profile()) add(change.field.info(), change.value);
    }
    const std::string& profile = series.setting.profile.name;
    out += fmt::format("<tr><th scope=\"row\">{}</th>{}{}</tr>", escape(series.label),
                       cell("profile", fmt::format("<a href=\"#profile-{0}\">{0}</a>", escape(profile))),
                       cell("set", set.empty() ? "nothing" : set));
  }
  return out + "</tbody></table>\n";
}

std::string profile_section(const Profile& profile) {
  std::string out = fmt::format(
      "<details class=\"profile\" id=\"profile-{0}\"><summary><b>{1}</b> <code>{0}</code> {2}</summary>"
      "<table class=\"stack\"><caption>{1}: {3} on chip</caption><thead><tr><th scope=\"col\">parameter</th>"
      "<th scope=\"col\" class=\"num\">value</th><th scope=\"col\">source</th></tr></thead><tbody>",
      escape(profile.name), escape(profile.title), escape(profile.what),
      fmt::format("{:.3g} MB", static_cast<double>(on_chip_need(profile)) / 1024 / 1024));
  for (const Parameter& p : profile.parameters) {
    out += fmt::format("<tr><th scope=\"row\"><code>{}</code></th>{}{}</tr>", escape(p.key),
                       cell("value", escape(p.value), "num"), cell("source", origin(p)));
  }
  return out + "</tbody></table></details>\n";
}

std::string metrics_table() {
  std::string out =
      "<details class=\"profile\"><summary><b>What is measured</b></summary><table "
      "class=\"stack\"><caption>Metrics</caption>"
      "<thead><tr><th scope=\"col\">metric</th><th scope=\"col\">unit</th><th scope=\"col\">what it "
      "is</th></tr></thead>"
      "<tbody>";
  for (const Metric& m : kMetrics) {
    out += fmt::format("<tr><th scope=\"row\"><code>{}</code></th>{}{}</tr>", m.name, cell("unit", escape(m.unit)),
                       cell("what", escape(m.what)));
  }
  return out + "</tbody></table></details>\n";
}

}  // namespace weft::lab

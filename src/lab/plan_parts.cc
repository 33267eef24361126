#include "lab/plan_parts.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "lab/expression.h"
#include "lab/metrics.h"

namespace weft::lab {
namespace {

using Done = tl::expected<void, std::string>;

bool never(const toml::table&) { return false; }

tl::expected<Override, std::string> read_override(const Leaf& leaf, const FilePosition& place) {
  const auto field = find_setting_field(leaf.key);
  if (!field) {
    const auto hint = did_you_mean(leaf.key, all_setting_keys());
    return place.problem(leaf.at, fmt::format("there is no setting '{}'.{}", leaf.key, hint));
  }
  const auto value = read_value(field->info(), *leaf.node, "");
  if (!value) return place.problem(*leaf.node, value.error());
  return Override{*field, *value};
}

}  // namespace

tl::expected<std::vector<Override>, std::string> read_overrides(const toml::table& table, const FilePosition& place) {
  std::vector<Override> out;
  for (const Leaf& leaf : flatten(table, never)) {
    auto change = read_override(leaf, place);
    if (!change) return Problem(change.error());
    out.push_back(*change);
  }
  return out;
}

// ---- axes -----------------------------------------------------------------------------------------------------------

namespace {

constexpr std::array<std::string_view, 5> kAxis{"key", "title", "values", "at", "quick"};

// `values` of one setting. The unit of x is what people write: bytes, microseconds, per cent.
double x_of(const FieldInfo& field, double value) {
  switch (field.kind) {
    case Kind::time: return value / 1e6;
    case Kind::rate: return value / 1e9;
    case Kind::fraction: return value * 100;
    default: return value;
  }
}
tl::expected<std::vector<AxisPoint>, std::string> read_values(const toml::array& values, const SettingField& field,
                                                              const FilePosition& place) {
  std::vector<AxisPoint> points;
  for (const toml::node& node : values) {
    const auto value = read_value(field.info(), node, "");
    if (!value) return place.problem(node, value.error());
    points.push_back({x_of(field.info(), *value), value_text(field.info(), *value), {Override{field, *value}}});
  }
  return points;
}

// `at`: points with an x, and all that is set there.
tl::expected<std::vector<AxisPoint>, std::string> read_at(const toml::array& at, const FilePosition& place) {
  std::vector<AxisPoint> points;
  for (const toml::node& node : at) {
    const toml::table* table = node.as_table();
    const auto x = table != nullptr ? (*table)["x"].value<double>() : std::nullopt;
    const toml::table* set = table != nullptr ? (*table)["set"].as_table() : nullptr;
    if (!x || set == nullptr || table->size() != 2)
      return place.problem(node, "a point is { x = NUMBER, set = { ... } }");
    auto changes = read_overrides(*set, place);
    if (!changes) return Problem(changes.error());
    points.push_back({*x, number_text(*x), std::move(*changes)});
  }
  return points;
}

// Reads which of the axis' points the quick set has. They are named by x.
Done read_quick(const toml::array& quick, Axis& axis, const FilePosition& place) {
  for (const toml::node& node : quick) {
    const auto x = node.value<double>();
    const auto found =
        std::find_if(axis.points.begin(), axis.points.end(), [&](const auto& p) { return x && p.x == *x; });
    if (found == axis.points.end()) return place.problem(node, fmt::format("this is no value of '{}'", axis.key));
    axis.quick.push_back(*found);
  }
  return {};
}

}  // namespace

Done read_axis(const toml::table& table, const FilePosition& place, Plan& plan) {
  if (Done keys = check_keys(table, place, kAxis); !keys) return keys;
  Axis axis;
  const auto key = read_text(table, "key", place);
  const auto title = read_text(table, "title", place);
  if (!key || !title) return Problem(!key ? key.error() : title.error());
  if (key->empty()) return place.problem(table, "a sweep has a key: the setting that is varied, or a name of your own");
  for (const Axis& other : plan.axes) {
    if (other.key == *key) return place.problem(table, fmt::format("'{}' is swept twice", *key));
  }
  axis.key = *key;
  axis.title = title->empty() ? *key : *title;
  const toml::array* values = table["values"].as_array();
  const toml::array* at = table["at"].as_array();
  if ((values == nullptr) == (at == nullptr)) {
    return place.problem(table, fmt::format("sweep of '{}': either values = [...] or at = [{{ x, set }}, ...]", *key));
  }
  const auto field = find_setting_field(*key);
  if (values != nullptr && !field) {
    const auto hint = did_you_mean(*key, all_setting_keys());
    return place.problem(*table.get("key"), fmt::format("there is no setting '{}'.{}", *key, hint));
  }
  auto points = values != nullptr ? read_values(*values, *field, place) : read_at(*at, place);
  if (!points) return Problem(points.error());
  if (points->empty()) return place.problem(table, fmt::format("sweep of '{}' has no points", *key));
  if (field) axis.kind = field->info().kind;
  axis.points = std::move(*points);
  axis.quick = {};
  if (const toml::node* quick = table.get("quick")) {
    if (!quick->is_array() || quick->as_array()->empty()) return place.problem(*quick, "quick is a list of the values");
    if (Done done = read_quick(*quick->as_array(), axis, place); !done) return done;
  } else {
    axis.quick = axis.points;
  }
  plan.axes.push_back(std::move(axis));
  return {};
}

// ---- figures --------------------------------------------------------------------------------------------------------

namespace {

constexpr std::array<std::string_view, 14> kPlot{"kind",    "title",   "x",       "y",       "metric",
                                                 "x_title", "y_title", "x_scale", "y_scale", "y_range",
                                                 "series",  "claimed", "band",    "paper"};
constexpr std::array<std::string_view, 4> kScales{"linear", "log2", "log", "steps"};

tl::expected<Scale, std::string> read_scale(const toml::table& table, std::string_view key, const FilePosition& place) {
  const auto text = read_text(table, key, place);
  if (!text) return Problem(text.error());
  if (text->empty()) return Scale::linear;
  const auto found = std::find(kScales.begin(), kScales.end(), *text);
  if (found == kScales.end()) return place.problem(*table.get(key), "a scale is linear, log2, log or steps");
  return static_cast<Scale>(found - kScales.begin());
}

tl::expected<std::size_t, std::string> read_axis_name(const toml::table& table, std::string_view key,
                                                      const FilePosition& place, const Plan& plan) {
  const auto name = read_text(table, key, place);
  if (!name) return Problem(name.error());
  if (name->empty()) return std::size_t{0};
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    if (plan.axes[i].key == *name) return i;
  }
  return place.problem(*table.get(key), fmt::format("'{}' is not swept", *name));
}

// Both ends of a range.
Done read_range(const toml::node* node, const FilePosition& place, std::optional<double>& least,
                std::optional<double>& most) {
  if (node == nullptr) return {};
  const toml::array* array = node->as_array();
  const bool two = array != nullptr && array->size() == 2;
  least = two ? (*array)[0].value<double>() : std::nullopt;
  most = two ? (*array)[1].value<double>() : std::nullopt;
  if (!least || !most || *most <= *least) return place.problem(*node, "a range is [least, most]");
  return {};
}

tl::expected<PlotPoint, std::string> read_claimed(const toml::node& node, const FilePosition& place) {
  constexpr std::array<std::string_view, 4> kKeys{"x", "y", "label", "within"};
  const toml::table* point = node.as_table();
  const auto x = point != nullptr ? (*point)["x"].value<double>() : std::nullopt;
  const auto y = point != nullptr ? (*point)["y"].value<double>() : std::nullopt;
  if (!x || !y) return place.problem(node, "a claimed point is { x = ..., y = ..., label = \"...\", within = ... }");
  if (const Done keys = check_keys(*point, place, kKeys); !keys) return Problem(keys.error());
  return PlotPoint{*x, *y, (*point)["label"].value_or(std::string()), (*point)["within"].value_or(0.0)};
}

tl::expected<PlotBand, std::string> read_band(const toml::node& node, const FilePosition& place) {
  constexpr std::array<std::string_view, 3> kKeys{"x", "y", "label"};
  const toml::table* band = node.as_table();
  if (band == nullptr) return place.problem(node, "a band is { x = [a, b], y = [c, d], label = \"...\" }");
  PlotBand out;
  Done done = check_keys(*band, place, kKeys);
  if (done) done = read_range(band->get("x"), place, out.x_least, out.x_most);
  if (const auto one = (*band)["y"].value<double>(); one) {
    out.y_least = out.y_most = one;
  } else if (done) {
    done = read_range(band->get("y"), place, out.y_least, out.y_most);
  }
  if (!done) return Problem(done.error());
  out.label = (*band)["label"].value_or(std::string());
  return out;
}

// A list of what `read` reads.
template <class Mark, class Read>
Done read_marks(const toml::table& table, std::string_view key, const FilePosition& place, std::vector<Mark>& marks,
                Read&& read) {
  const toml::node* list = table.get(key);
  if (list == nullptr) return {};
  if (!list->is_array()) return place.problem(*list, fmt::format("{} is a list", key));
  for (const toml::node& node : *list->as_array()) {
    auto mark = read(node, place);
    if (!mark) return Problem(mark.error());
    marks.push_back(std::move(*mark));
  }
  return {};
}

Done read_plot_series(const toml::table& table, const FilePosition& place, const Plan& plan, Plot& plot) {
  const toml::node* list = table.get("series");
  for (std::size_t i = 0; list == nullptr && i < plan.series.size(); ++i) plot.series.push_back(i);
  if (list == nullptr) return {};
  if (!list->is_array()) return place.problem(*list, "series is a list of names");
  for (const toml::node& node : *list->as_array()) {
    const auto name = node.value<std::string>();
    const auto found =
        std::find_if(plan.series.begin(), plan.series.end(), [&](const Series& s) { return s.name == name; });
    if (found == plan.series.end())
      return place.problem(node, fmt::format("there is no series '{}'", name.value_or("")));
    plot.series.push_back(static_cast<std::size_t>(found - plan.series.begin()));
  }
  return {};
}

Done read_metric(const toml::table& table, const FilePosition& place, Plot& plot) {
  const auto metric = read_text(table, "metric", place);
  if (!metric) return Problem(metric.error());
  const auto* found =
      std::find_if(kMetrics.begin(), kMetrics.end(), [&](const Metric& m) { return m.name == *metric; });
  if (found == kMetrics.end()) {
    std::vector<std::string_view> known;
    for (const Metric& m : kMetrics) known.push_back(m.name);
    const toml::node* at = table.get("metric");
    return place.problem(at != nullptr ? *at : static_cast<const toml::node&>(table),
                         fmt::format("there is no metric '{}'.{}", *metric, did_you_mean(*metric, known)));
  }
  plot.metric = *metric;
  if (plot.y_title.empty()) plot.y_title = fmt::format("{}, {}", found->what, found->unit);
  return {};
}

}  // namespace

Done read_plot(const toml::table& table, const FilePosition& place, Plan& plan) {
  if (Done keys = check_keys(table, place, kPlot); !keys) return keys;
  if (plan.axes.empty()) return place.problem(table, "a plot needs a [[sweep]]");
  Plot plot;
  for (const auto& [key, target] :
       {std::pair("title", &plot.title), std::pair("x_title", &plot.x_title), std::pair("y_title", &plot.y_title)}) {
    auto text = read_text(table, key, place);
    if (!text) return Problem(text.error());
    *target = std::move(*text);
  }
  const auto kind = read_text(table, "kind", place);
  if (!kind) return Problem(kind.error());
  if (!kind->empty() && *kind != "lines" && *kind != "heat")
    return place.problem(table, "a plot's kind is lines or heat");
  plot.kind = *kind == "heat" ? Plot::Kind::heat : Plot::Kind::lines;
  const auto x = read_axis_name(table, "x", place, plan);
  if (!x) return Problem(x.error());
  plot.x_axis = *x;
  if (plot.kind == Plot::Kind::heat && table.contains("y")) {
    const auto y = read_axis_name(table, "y", place, plan);
    if (!y) return Problem(y.error());
    if (*y == *x) return place.problem(table, "a heat map has two axes, x and y");
    plot.y_axis = *y;
  }
  const auto x_scale = read_scale(table, "x_scale", place);
  const auto y_scale = read_scale(table, "y_scale", place);
  if (!x_scale || !y_scale) return Problem(!x_scale ? x_scale.error() : y_scale.error());
  plot.x_scale = *x_scale;
  plot.y_scale = *y_scale;
  Done done = read_metric(table, place, plot);
  if (done) done = read_range(table.get("y_range"), place, plot.y_least, plot.y_most);
  if (done) done = read_plot_series(table, place, plan, plot);
  if (done) done = read_marks(table, "claimed", place, plot.claimed, read_claimed);
  if (done) done = read_marks(table, "band", place, plot.bands, read_band);
  if (done) done = read_marks(table, "paper", place, plot.paper, read_band);
  if (!done) return done;
  if (plot.x_title.empty()) plot.x_title = plan.axes[plot.x_axis].title;
  if (plot.title.empty()) plot.title = plan.title;
  plan.plots.push_back(std::move(plot));
  return {};
}

// ---- claims ---------------------------------------------------------------------------------------------------------

namespace {

constexpr std::array<std::string_view, 7> kClaim{"id", "what", "source", "unit", "band", "row", "absent"};
constexpr std::array<std::string_view, 8> kRow{"name",  "claimed",    "unit",  "band",
                                               "value", "calibrated", "quick", "why"};
constexpr std::size_t kLongest = 400;  // of an expression

// The plan as if it had been run, with the same number everywhere: what can be evaluated on it can be evaluated.
Study as_if_run(const Plan& plan, Extent extent) {
  Study study{.plan = &plan, .extent = extent, .points = points_of(plan, extent), .samples = {{}}};
  PointResult one;
  for (const Metric& metric : kMetrics) one.outcome.emplace_back(metric.name, 1);
  study.samples.front().results.assign(study.points.size(), one);
  return study;
}

tl::expected<ClaimRow, std::string> read_row(const toml::table& row, const toml::table& claim,
                                             const FilePosition& place, const Plan& plan) {
  if (const Done keys = check_keys(row, place, kRow); !keys) return Problem(keys.error());
  ClaimRow out;
  for (const auto& [key, target] :
       {std::pair("name", &out.name), std::pair("claimed", &out.claimed), std::pair("unit", &out.unit),
        std::pair("band", &out.band_text), std::pair("value", &out.value), std::pair("why", &out.why)}) {
    const std::string_view name = key;
    const bool inherits = (name == "unit" || name == "band") && !row.contains(key);  // what the claim says for all rows
    auto text = read_text(inherits ? claim : row, key, place);
    if (!text) return Problem(text.error());
    *target = std::move(*text);
  }
  const auto calibrated = read_truth(row, "calibrated", false, place);
  const auto quick = read_truth(row, "quick", true, place);
  if (!calibrated || !quick) return Problem(!calibrated ? calibrated.error() : quick.error());
  out.calibrated = *calibrated;
  out.quick = *quick;
  char* end = nullptr;
  (void)std::strtod(out.claimed.c_str(), &end);
  if (out.name.empty()) return place.problem(row, "a row has a name");
  if (out.claimed.empty() || *end != '\0') {
    return place.problem(
        row, fmt::format("{}: claimed is a number as the paper prints it, in quotes, not '{}'", out.name, out.claimed));
  }
  const auto band = parse_band(out.band_text);
  if (!band) {
    return place.problem(
        row, fmt::format("{}: a band is exact, 5%, <= 4.4, >= 17.8 or 256..512, not '{}'", out.name, out.band_text));
  }
  out.band = *band;
  const toml::node& at = row.contains("value") ? *row.get("value") : static_cast<const toml::node&>(row);
  if (out.value.size() > kLongest) return place.problem(at, "value is too long");
  for (const Extent extent : {Extent::full, Extent::quick}) {
    if (extent == Extent::quick && !out.quick) continue;
    const Study study = as_if_run(plan, extent);
    const auto value = evaluate(out.value, study, study.samples.front());
    if (!value) {
      return place.problem(at, fmt::format("{}: value = \"{}\"{}: {}", out.name, out.value,
                                           extent == Extent::quick ? " in the quick set" : "", value.error()));
    }
  }
  return out;
}

}  // namespace

Done read_claim(const toml::table& table, const FilePosition& place, Plan& plan) {
  if (Done keys = check_keys(table, place, kClaim); !keys) return keys;
  Claim claim;
  for (const auto& [key, target] : {std::pair("id", &claim.id), std::pair("what", &claim.what),
                                    std::pair("source", &claim.source), std::pair("absent", &claim.absent)}) {
    auto text = read_text(table, key, place);
    if (!text) return Problem(text.error());
    *target = std::move(*text);
  }
  const toml::array* rows = table["row"].as_array();
  const bool has_rows = rows != nullptr && !rows->empty();
  if (claim.id.empty() || claim.what.empty() || claim.source.empty() || has_rows == !claim.absent.empty()) {
    return place.problem(
        table, fmt::format("claim '{}': id, what, source and row are needed; or absent, the reason why there is no row",
                           claim.id));
  }
  for (std::size_t i = 0; has_rows && i < rows->size(); ++i) {
    const toml::node& node = (*rows)[i];
    const toml::table* row = node.as_table();
    if (row == nullptr) return place.problem(node, "a row is a table");
    auto parsed = read_row(*row, table, place, plan);
    if (!parsed) return Problem(parsed.error());
    claim.rows.push_back(std::move(*parsed));
  }
  plan.claims.push_back(std::move(claim));
  return {};
}

}  // namespace weft::lab

// An experiment as data: cards and what they do, what is swept, how it is drawn, and what papers claim about it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/setting.h"
#include "lab/setting_fields.h"
#include "lab/verdict.h"

namespace weft::lab {

struct Override {
  SettingField field;
  double value;
};

// One thing that is varied: a setting, or several that change together.
struct AxisPoint {
  double x;
  std::string label;
  std::vector<Override> set;
};
struct Axis {
  std::string key, title;
  std::vector<AxisPoint> points, quick;  // quick: those of the quick set; as all, unless the plan says so
  Kind kind = Kind::count;               // how x is written
};

// A card and its workload, run at every point of the sweep.
struct Series {
  std::string name, label;        // in expressions; in figures
  Setting setting;                // with all that is the same at every point
  std::vector<Override> changes;  // of these, what the plan changes in the profile or for this series alone
  bool quick = true;              // belongs to the quick set
};

enum class Scale : std::uint8_t {
  linear,
  log2,
  log10,
  steps,  // the values of the sweep at equal distances
};

struct PlotPoint {  // that somebody claims
  double x, y;
  std::string label;
  double within = 0;  // per cent of y that still count as met
};
struct PlotBand {  // where it would be met; without ends, all of the figure
  std::optional<double> x_least, x_most, y_least, y_most;
  std::string label;
};
struct Plot {
  // heat: x across, one other axis upwards or else the series, the metric as colour
  enum class Kind : std::uint8_t { lines, heat };
  Kind kind = Kind::lines;
  std::string title;
  std::size_t x_axis = 0;             // of the plan's axes
  std::optional<std::size_t> y_axis;  // heat alone
  std::string metric, x_title, y_title;
  Scale x_scale = Scale::linear, y_scale = Scale::linear;
  std::optional<double> y_least, y_most;
  std::vector<std::size_t> series;  // that are in it
  std::vector<PlotPoint> claimed;
  std::vector<PlotBand> bands;
  std::vector<PlotBand> paper;  // what the paper says of others, which are not run here; y of one value is a line
};

struct ClaimRow {
  std::string name, claimed, unit, band_text;
  Band band;
  std::string value;        // an expression over results (expression.h)
  bool calibrated = false;  // chosen to be as claimed
  bool quick = true;        // can be judged in the quick set
  std::string why;          // the reason, if it is known to be missed
};
struct Claim {
  std::string id, what, source;
  std::string absent;          // why nothing here measures it yet
  std::vector<ClaimRow> rows;  // at least one, unless it is absent
};

struct Plan {
  std::string file, id, title, paper, figure, what;
  std::vector<Axis> axes;  // the first is x, unless a plot says so
  std::vector<Series> series;
  std::vector<Override> quick;  // what the quick set changes, in every series
  std::vector<Plot> plots;
  std::vector<Claim> claims;
};

// One run: a series at a point of every axis.
struct Point {
  std::size_t series;
  std::vector<double> at;  // x of each axis
  Setting setting;
};

enum class Extent : std::uint8_t { full, quick };

// All runs of a plan, series by series, the last axis turning fastest. `seed`: instead of the plan's.
[[nodiscard]] std::vector<Point> points_of(const Plan& plan, Extent extent, std::optional<std::uint64_t> seed = {});

}  // namespace weft::lab

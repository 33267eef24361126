// One axis of a figure: where a value stands, and where it has ticks.
#pragma once

#include <string>
#include <vector>

#include "lab/plan.h"

namespace weft::lab {

struct Tick {
  double value;
  std::string label;
};

class Ruler {
 public:
  // From `least` to `most`; steps: `points` are where the axis has its values.
  Ruler(Scale scale, double least, double most, const std::vector<AxisPoint>& points = {}, Kind kind = Kind::count);

  // 0 at the least value, 1 at the largest; what lies outside is outside.
  [[nodiscard]] double place(double value) const;
  [[nodiscard]] const std::vector<Tick>& ticks() const { return ticks_; }

 private:
  void add_linear_ticks();
  void add_power_ticks(double base);

  Scale scale_;
  double least_, most_;
  std::vector<double> steps_;
  Kind kind_;
  std::vector<Tick> ticks_;
};

// A little more than `value`, and round.
[[nodiscard]] double round_up(double value);

}  // namespace weft::lab

#include "lab/plan.h"

namespace weft::lab {
namespace {

void apply(Setting& setting, const std::vector<Override>& changes) {
  for (const Override& change : changes) change.field.set(setting, change.value);
}

const std::vector<AxisPoint>& points(const Axis& axis, Extent extent) {
  return extent == Extent::quick ? axis.quick : axis.points;
}

// Every combination of the axes from `axis` on.
void expand(const Plan& plan, Extent extent, std::size_t axis, const Point& so_far, std::vector<Point>& out) {
  if (axis == plan.axes.size()) {
    out.push_back(so_far);
    return;
  }
  for (const AxisPoint& point : points(plan.axes[axis], extent)) {
    Point next = so_far;
    next.at.push_back(point.x);
    apply(next.setting, point.set);
    expand(plan, extent, axis + 1, next, out);
  }
}

}  // namespace

std::vector<Point> points_of(const Plan& plan, Extent extent, std::optional<std::uint64_t> seed) {
  std::vector<Point> out;
  for (std::size_t i = 0; i < plan.series.size(); ++i) {
    if (extent == Extent::quick && !plan.series[i].quick) continue;
    Point first{.series = i, .at = {}, .setting = plan.series[i].setting};
    if (extent == Extent::quick) apply(first.setting, plan.quick);
    if (seed) first.setting.seed = *seed;
    expand(plan, extent, 0, first, out);
  }
  return out;
}

}  // namespace weft::lab

// A figure of cells as SVG: one axis across, another one or the series upwards, the metric as colour and as a number.
// The best cell of each row is framed.
#pragma once

#include "lab/report/picture.h"
#include "lab/study.h"

namespace weft::lab {

[[nodiscard]] Picture heat_map(const Study& study, const Plot& plot);

}  // namespace weft::lab

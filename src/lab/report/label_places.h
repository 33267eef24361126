// Where the words beside a point of a figure stand so that they cover nothing: not the points and lines of the figure,
// and not each other.
#pragma once

#include <string_view>
#include <vector>

namespace weft::lab {

struct Box {
  double left, top, right, bottom;
};

struct LabelPlace {
  double x, y;              // of the end or the middle of the text's base line, as `anchor` says
  std::string_view anchor;  // SVG's: start, middle or end
};

class LabelPlaces {
 public:
  // Words stay inside `room`.
  explicit LabelPlaces(Box room) : room_(room) {}

  void take(Box box) { taken_.push_back(box); }
  void take_point(double x, double y, double reach) { take({x - reach, y - reach, x + reach, y + reach}); }
  void take_segment(double x0, double y0, double x1, double y1);

  // For `text` beside (x, y). The place that covers the least is taken from then on.
  LabelPlace place(std::string_view text, double x, double y);

 private:
  [[nodiscard]] double covered(Box box) const;

  Box room_;
  std::vector<Box> taken_;
};

}  // namespace weft::lab

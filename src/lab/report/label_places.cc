#include "lab/report/label_places.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace weft::lab {
namespace {

// Measures of the figures' text, which is 12 units high. They are rather too wide than too narrow.
constexpr double kLetter = 7.2, kAscent = 10, kDescent = 4;

// The text is UTF-8: every byte counts but those that continue a letter.
double width_of(std::string_view text) {
  const auto letters = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
  return kLetter * static_cast<double>(letters);
}

double overlap(const Box& a, const Box& b) {
  const double across = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double down = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  return across > 0 && down > 0 ? across * down : 0;
}

}  // namespace

void LabelPlaces::take_segment(double x0, double y0, double x1, double y1) {
  constexpr double kStep = 4;
  const int steps = std::max(1, static_cast<int>(std::hypot(x1 - x0, y1 - y0) / kStep));
  for (int i = 0; i <= steps; ++i) {
    const double part = static_cast<double>(i) / steps;
    take_point(x0 + (x1 - x0) * part, y0 + (y1 - y0) * part, kStep / 2);
  }
}

double LabelPlaces::covered(Box box) const {
  double area = 0;
  for (const Box& other : taken_) area += overlap(box, other);
  const double inside = overlap(box, room_), all = (box.right - box.left) * (box.bottom - box.top);
  return area + 100 * (all - inside);  // what sticks out cannot be read at all
}

LabelPlace LabelPlaces::place(std::string_view text, double x, double y) {
  constexpr double kBeside = 9;
  const double width = width_of(text);
  LabelPlace best{x, y, "middle"};
  Box best_box{};
  double least = std::numeric_limits<double>::infinity();
  // Ever farther away, above before below: the first that covers nothing is the nearest.
  for (const double away : {0.0, 12.0, 24.0, 36.0, 54.0, 72.0, 96.0}) {
    for (const double line : {y - 11 - away, y + 20 + away, y + 4 - away, y + 4 + away}) {
      const bool beside = std::abs(line - (y + 4)) < 10;
      for (const std::string_view anchor : {"start", "end", "middle"}) {
        if (beside && anchor == "middle") continue;  // on the point itself
        for (const double shift : {anchor == "middle" ? 0 : -6.0, kBeside}) {
          const double at = anchor == "end" ? x - shift : x + shift;
          const double left = anchor == "start" ? at : anchor == "end" ? at - width : at - width / 2;
          const Box box{left, line - kAscent, left + width, line + kDescent};
          if (const double cost = covered(box); cost < least) {
            least = cost;
            best = {at, line, anchor};
            best_box = box;
          }
        }
      }
    }
    if (least == 0) break;
  }
  take(best_box);
  return best;
}

}  // namespace weft::lab

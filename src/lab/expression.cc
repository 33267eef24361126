#include "lab/expression.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include "lab/card_measures.h"
#include "lab/field.h"
#include "lab/metrics.h"

namespace weft::lab {
namespace {

using Problem = tl::unexpected<std::string>;
using Value = std::variant<double, Curve>;
using Result = tl::expected<Value, std::string>;

// ---- what functions do to curves ------------------------------------------------------------------------------------

using Pair = Curve::value_type;
bool less_y(const Pair& a, const Pair& b) { return a.second < b.second; }

double min(const Curve& c) { return std::min_element(c.begin(), c.end(), less_y)->second; }
double max(const Curve& c) { return std::max_element(c.begin(), c.end(), less_y)->second; }
double argmin(const Curve& c) { return std::min_element(c.begin(), c.end(), less_y)->first; }
double argmax(const Curve& c) { return std::max_element(c.begin(), c.end(), less_y)->first; }
double first(const Curve& c) { return c.front().second; }
double last(const Curve& c) { return c.back().second; }
double mean(const Curve& c) {
  double sum = 0;
  for (const Pair& p : c) sum += p.second;
  return sum / static_cast<double>(c.size());
}

// From the largest on, as far as it stays near that.
double knee(const Curve& c, double fraction) {
  const double largest = max(c);
  const auto top = std::find_if(c.begin(), c.end(), [&](const Pair& p) { return p.second == largest; });
  const auto below = std::find_if(top, c.end(), [&](const Pair& p) { return p.second < fraction * largest; });
  return std::prev(below)->first;
}
// Is every point behind x on that side of the one at x?
double all_later(const Curve& c, double x, const std::function<bool(double, double)>& beyond) {
  const auto at = std::find_if(c.begin(), c.end(), [&](const Pair& p) { return p.first == x; });
  if (at == c.end() || std::next(at) == c.end()) return 0;
  return std::all_of(std::next(at), c.end(), [&](const Pair& p) { return beyond(p.second, at->second); }) ? 1 : 0;
}
double rises(const Curve& c, double x) { return all_later(c, x, std::greater<>()); }
double falls(const Curve& c, double x) { return all_later(c, x, std::less<>()); }

struct Function {
  std::string_view name;
  double (*of_curve)(const Curve&);
  double (*with_number)(const Curve&, double);
};
constexpr std::array kFunctions{Function{"min", min, nullptr},       Function{"max", max, nullptr},
                                Function{"mean", mean, nullptr},     Function{"first", first, nullptr},
                                Function{"last", last, nullptr},     Function{"argmin", argmin, nullptr},
                                Function{"argmax", argmax, nullptr}, Function{"knee", nullptr, knee},
                                Function{"rises", nullptr, rises},   Function{"falls", nullptr, falls}};

double calculate(char sign, double a, double b) {
  switch (sign) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    default: return a / b;
  }
}

Result combine(char sign, const Value& a, const Value& b) {
  const auto* left = std::get_if<Curve>(&a);
  const auto* right = std::get_if<Curve>(&b);
  if (left == nullptr && right == nullptr) return calculate(sign, std::get<double>(a), std::get<double>(b));
  Curve out = left != nullptr ? *left : *right;
  if (left != nullptr && right != nullptr && left->size() != right->size()) {
    return Problem("two curves with different points");
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (left != nullptr && right != nullptr && (*left)[i].first != (*right)[i].first) {
      return Problem("two curves with different points");
    }
    out[i].second = calculate(sign, left != nullptr ? (*left)[i].second : std::get<double>(a),
                              right != nullptr ? (*right)[i].second : std::get<double>(b));
  }
  return out;
}

tl::expected<double, std::string> as_number(const Value& value) {
  if (const double* number = std::get_if<double>(&value)) return *number;
  const auto& curve = std::get<Curve>(value);
  if (curve.size() == 1) return curve.front().second;
  return Problem(fmt::format("a curve of {} points where a number is wanted: say min(), max() or [x]", curve.size()));
}

// ---- the language ---------------------------------------------------------------------------------------------------

class Reader {
 public:
  Reader(std::string_view text, const Study& study, const Sample& sample)
      : text_(text), study_(study), sample_(sample) {}

  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

  Result all() {
    Result value = sum();
    if (value && next() != '\0') return Problem(fmt::format("'{}' is not understood", text_.substr(at_)));
    return value;
  }

 private:
  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }
  std::string_view word() {
    (void)next();
    const std::size_t start = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }
  Problem missing(char c) {
    return Problem(fmt::format("'{}' is missing {}", c,
                               at_ < text_.size() ? fmt::format("before '{}'", text_.substr(at_)) : "at the end"));
  }

  Result chain(Result (Reader::*part)(), std::string_view signs) {
    Result left = (this->*part)();
    while (left && signs.find(next()) != std::string_view::npos && next() != '\0') {
      const char sign = text_[at_++];
      const Result right = (this->*part)();
      if (!right) return right;
      left = combine(sign, *left, *right);
    }
    return left;
  }
  Result sum() { return chain(&Reader::product, "+-"); }
  Result product() { return chain(&Reader::factor, "*/"); }

  Result factor() {
    if (take('-')) {
      const Result value = factor();
      return value ? combine('*', -1.0, *value) : value;
    }
    if (take('(')) {
      Result value = sum();
      if (value && !take(')')) return missing(')');
      return value;
    }
    if (const auto n = number()) return *n;
    const std::string_view name = word();
    if (name.empty())
      return Problem(at_ < text_.size() ? fmt::format("'{}' is not understood", text_.substr(at_))
                                        : "something is missing at the end");
    return next() == '(' ? call(name) : named(name);
  }

  std::optional<double> number() {
    (void)next();
    double value = 0;
    if (at_ >= text_.size() || (std::isdigit(static_cast<unsigned char>(text_[at_])) == 0 && text_[at_] != '.'))
      return {};
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc{}) return {};
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  Result call(std::string_view name) {
    const auto* function =
        std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Function& f) { return f.name == name; });
    if (function == kFunctions.end()) {
      std::vector<std::string_view> known;
      for (const Function& f : kFunctions) known.push_back(f.name);
      return Problem(
          fmt::format("there is no function '{}'.{} Known are {}", name, did_you_mean(name, known), in_a_row(known)));
    }
    (void)take('(');
    const Result argument = sum();
    if (!argument) return argument;
    const auto* curve = std::get_if<Curve>(&*argument);
    if (curve == nullptr) return Problem(fmt::format("{}() is of a curve, SERIES.METRIC", name));
    if (curve->empty()) return Problem(fmt::format("{}() of a curve without points", name));
    double value = 0;
    if (function->with_number != nullptr) {
      if (!take(',')) return missing(',');
      const Result second = sum();
      if (!second) return second;
      const auto n = as_number(*second);
      if (!n) return Problem(n.error());
      value = function->with_number(*curve, *n);
    } else {
      value = function->of_curve(*curve);
    }
    if (!take(')')) return missing(')');
    return value;
  }

  // SERIES.METRIC, card.MEASURE
  Result named(std::string_view name) {
    std::vector<Pin> pins;
    if (name != "card") {
      if (const auto problem = read_pins(pins)) return Problem(*problem);
    }
    if (!take('.')) return missing('.');
    const std::string_view what = word();
    if (name == "card") return measure(what);
    auto curve = find_curve(name, pins, what);
    if (!curve || next() != '[') return curve;
    (void)take('[');
    const auto x = number();
    if (!x) return Problem(fmt::format("[x] after {}.{} is a number", name, what));
    if (!take(']')) return missing(']');
    for (const Pair& p : std::get<Curve>(*curve)) {
      if (p.first == *x) return p.second;
    }
    return Problem(fmt::format("{}.{} has no point at {}", name, what, number_text(*x)));
  }

  std::optional<std::string> read_pins(std::vector<Pin>& pins) {
    if (!take('{')) return {};
    do {
      (void)next();
      const std::size_t start = at_;
      while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.')) ++at_;
      const std::string_view key = text_.substr(start, at_ - start);
      const auto& axes = study_.plan->axes;
      const auto axis = std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.key == key; });
      if (axis == axes.end()) return fmt::format("'{}' is not swept", key);
      if (!take('=')) return missing('=').value();
      const auto x = number();
      if (!x) return fmt::format("{}= wants a number", key);
      pins.push_back({static_cast<std::size_t>(axis - axes.begin()), *x});
    } while (take(','));
    return take('}') ? std::nullopt : std::optional(missing('}').value());
  }

  static Result measure(std::string_view name) {
    const CardMeasure* found = find_card_measure(name);
    if (found == nullptr) {
      std::vector<std::string_view> known;
      for (const CardMeasure& m : card_measures()) known.push_back(m.name);
      return Problem(fmt::format("there is no card.{}.{}", name, did_you_mean(name, known)));
    }
    const auto value = found->measure();
    if (!value) return Problem(fmt::format("this build has no {}", name));
    return *value;
  }

  Result find_curve(std::string_view name, const std::vector<Pin>& pins, std::string_view metric) {
    const auto& all = study_.plan->series;
    const auto series = std::find_if(all.begin(), all.end(), [&](const Series& s) { return s.name == name; });
    if (series == all.end()) {
      std::vector<std::string_view> known;
      for (const Series& s : all) known.push_back(s.name);
      return Problem(fmt::format("there is no series '{}'.{}", name, did_you_mean(name, known)));
    }
    if (std::none_of(kMetrics.begin(), kMetrics.end(), [&](const Metric& m) { return m.name == metric; })) {
      std::vector<std::string_view> known;
      for (const Metric& m : kMetrics) known.push_back(m.name);
      return Problem(fmt::format("there is no metric '{}'.{}", metric, did_you_mean(metric, known)));
    }
    std::optional<std::size_t> free;
    for (std::size_t i = 0; i < study_.plan->axes.size(); ++i) {
      if (std::any_of(pins.begin(), pins.end(), [i](const Pin& p) { return p.axis == i; })) continue;
      if (free) {
        const std::string& key = study_.plan->axes[i].key;
        return Problem(fmt::format("{} is swept too: say at which, {}{{{}=...}}", key, name, key));
      }
      free = i;
    }
    std::string failure;
    Curve curve = curve_of(study_, sample_, static_cast<std::size_t>(series - all.begin()), free.value_or(0), pins,
                           metric, &failure);
    if (!failure.empty()) return Problem(failure);
    if (curve.empty()) return Problem(fmt::format("{} has no points here", name));
    return curve;
  }

  std::string_view text_;
  const Study& study_;
  const Sample& sample_;
  std::size_t at_ = 0;
};

}  // namespace

bool mentions(std::string_view expression, std::string_view name) {
  for (std::size_t at = expression.find(name); at != std::string_view::npos; at = expression.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || !(Reader::is_word(expression[at - 1]) || expression[at - 1] == '.');
    const bool ends = end == expression.size() || !Reader::is_word(expression[end]);
    if (begins && ends) return true;
  }
  return false;
}

tl::expected<double, std::string> evaluate(std::string_view expression, const Study& study, const Sample& sample) {
  const Result value = Reader(expression, study, sample).all();
  if (!value) return Problem(value.error());
  return as_number(*value);
}

}  // namespace weft::lab

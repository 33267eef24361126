// What is measured: each by its own command, in its own unit.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cli {

struct Measure {
  std::string name, unit;
  std::string what;  // the command, for people
  // The measures it is compared with: the ratio shall be at least this, or at most if less is better.
  struct Beside {
    std::string name;
    double floor = 0;
  };
  std::vector<Beside> besides = {};
  bool less_is_better = false;
  double floor = 0;  // of the value itself; 0: it has none
  std::function<std::optional<double>()> run;
};

struct BenchSide {
  std::string address;
  int network = -1;  // a network namespace's descriptor; without: where we are
};

// Where the programs of a measure are.
struct BenchPlace {
  std::string weft;  // path of the weft command
  BenchSide server, client;
  std::string meeting;  // an IPv4 address of the server's, by which programs exchange what they need to begin

  [[nodiscard]] static BenchPlace here(const std::string& weft, const std::string& address) {
    return {.weft = weft, .server = {address}, .client = {address}, .meeting = address};
  }
};

// Weft's own, and what one would use instead.
[[nodiscard]] std::vector<Measure> own_measures(const BenchPlace& place);
[[nodiscard]] std::vector<Measure> peer_measures(const BenchPlace& place);

// Reading what programs print. Column counts from 0; of the last line that begins with a number.
[[nodiscard]] std::optional<double> number_in_last_row(std::string_view text, std::size_t column);
[[nodiscard]] std::optional<double> number_after(std::string_view text, std::string_view word);

}  // namespace weft::cli

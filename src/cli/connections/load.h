// The side that sends: every connection keeps as many requests under way as it may, all the time, as perftest does.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "cli/connections/histogram.h"
#include "cli/connections/options.h"
#include "cli/connections/side.h"

namespace weft::connections {

struct Measured {
  double messages_per_second = 0;
  double median_us = 0, p99_us = 0;  // from posting a request to polling its completion
  bool steady = false;               // as many had completed as were posted first; else the times are at least these
  std::uint64_t completed = 0;
  // What the connections with the fewest and the most completions had, of the mean.
  struct Shares {
    double least, most;
  };
  std::optional<Shares> shares;  // nothing: too few completions to tell
};

class LoadGenerator {
 public:
  LoadGenerator(const LoadSide& side, LoadVerb verb);

  // Loads the first `connections`, waits until all of them are at work, then measures. The load stays until `drain`.
  [[nodiscard]] Measured measure(std::chrono::nanoseconds how_long, std::uint32_t connections);
  // Waits for what is under way.
  void drain();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint32_t kBatch = 32, kList = 16, kAhead = 4;

  [[nodiscard]] std::uint64_t clock() const;
  void fill(std::uint32_t connections);
  void post(std::uint32_t connection, std::uint32_t count);
  void collect(bool post_again);
  void look_at_the_clock();
  [[nodiscard]] Measured summary(std::uint64_t from, std::uint32_t connections) const;

  const LoadSide& side_;
  LoadVerb verb_;
  Clock::time_point start_ = Clock::now();
  std::uint64_t now_, last_completion_;  // nanoseconds since the start
  std::uint64_t under_way_ = 0, completed_ = 0;
  std::uint32_t vain_ = 0;           // polls that found nothing
  std::vector<std::uint32_t> done_;  // of each connection
  Histogram times_;
  ibv_sge sges_[kList]{};
  ibv_send_wr requests_[kList]{};
};

}  // namespace weft::connections

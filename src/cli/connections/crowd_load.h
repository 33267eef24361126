// The server's part of a crowd: as many requests under way as it may have in all, each on the next connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "cli/connections/crowd_side.h"
#include "cli/connections/histogram.h"
#include "cli/connections/load.h"
#include "cli/connections/options.h"

namespace weft::connections {

class CrowdLoad {
 public:
  CrowdLoad(CrowdSide& side, const CrowdShape& shape, LoadVerb verb, std::vector<CrowdSide::Place> clients);

  // Over the first `connections`. The load stays until `drain`.
  [[nodiscard]] Measured measure(std::chrono::nanoseconds how_long, std::uint32_t connections);
  void drain();

  // Messages of each connection so far.
  [[nodiscard]] const std::vector<std::uint64_t>& messages() const { return posted_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint32_t kBatch = 32;

  [[nodiscard]] std::uint64_t clock() const;
  void look_at_the_clock();
  [[nodiscard]] std::uint32_t next(std::uint32_t connections);
  void post(std::uint32_t connection);
  void finish(std::uint32_t connection);
  void collect(std::uint32_t post_again_over);  // 0: it posts nothing

  CrowdSide& side_;
  CrowdShape shape_;
  LoadVerb verb_;
  std::vector<CrowdSide::Place> clients_;
  std::vector<std::uint64_t> posted_, done_;
  Clock::time_point start_ = Clock::now();
  std::uint64_t now_ = 0, last_completion_ = 0, under_way_ = 0, completed_ = 0;
  std::uint32_t turn_ = 0, vain_ = 0;
  Histogram times_;
};

}  // namespace weft::connections

#include "cli/bench/connections/table.h"

#include <algorithm>

namespace weft::cli {

void LoadCell::add(const tl::expected<LoadReading, std::string>& round) {
  const auto value = [&](auto member) -> std::optional<double> {
    return round ? std::optional<double>((*round).*member) : std::nullopt;
  };
  rate.add(value(&LoadReading::messages_per_second));
  median_us.add(value(&LoadReading::median_us));
  p99_us.add(value(&LoadReading::p99_us));
  least.add(round ? round->least_share : std::nullopt);
  most.add(round ? round->most_share : std::nullopt);
  if (!round) {
    failure = round.error();
    return;
  }
  sent_packets += round->sent_packets;
  again += round->again;
  steady = steady && round->steady;
}

std::optional<double> LoadCell::gbits() const {
  const auto messages = rate.median();
  return messages ? std::optional(*messages * bytes_of(point.verb) * 8 / 1e9) : std::nullopt;
}

std::optional<double> LoadCell::again_share() const {
  if (sent_packets == 0) return std::nullopt;
  return static_cast<double>(again) / static_cast<double>(sent_packets);
}

const LoadCell* LoadTable::find(const LoadPoint& point) const {
  const auto found = std::find_if(cells.begin(), cells.end(), [&](const LoadCell& c) { return c.point == point; });
  return found == cells.end() ? nullptr : &*found;
}

std::optional<double> of_best(const LoadTable& table, const LoadCell& cell) {
  const LoadCell* best = nullptr;
  std::size_t others = 0;
  for (const LoadCell& c : table.cells) {
    LoadPoint as_ours = c.point;
    as_ours.qps = cell.point.qps;
    if (!(as_ours == cell.point)) continue;
    others += &c != &cell ? 1 : 0;
    if (best == nullptr || c.rate.median().value_or(0) > best->rate.median().value_or(0)) best = &c;
  }
  return best == nullptr || others == 0 ? std::nullopt : Samples::ratio(cell.rate, best->rate);
}

std::optional<double> of_roce(const LoadTable& table, const LoadCell& cell) {
  if (cell.point.transport != "srnic") return std::nullopt;
  LoadPoint twin = cell.point;
  twin.transport = "roce";
  const LoadCell* other = table.find(twin);
  return other == nullptr ? std::nullopt : Samples::ratio(cell.rate, other->rate);
}

}  // namespace weft::cli

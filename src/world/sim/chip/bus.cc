#include "world/sim/chip/bus.h"

#include <cmath>

namespace weft::sim {
namespace {

// Bytes of transactions between two acknowledgements, and between two updates of credit.
double update_interval(std::uint32_t lanes, std::uint32_t max_payload) {
  if (lanes >= 16) return max_payload <= 128 ? 144 : max_payload <= 256 ? 168 : 182;
  return max_payload <= 128 ? 163 : max_payload <= 256 ? 203 : 182;
}

}  // namespace

double transaction_rate(const PcieSpec& spec) {
  constexpr std::array<double, 6> kTransfers{0, 2.5e9, 5e9, 8e9, 16e9, 32e9};  // a second, of a lane
  const double coding = spec.generation <= 2 ? 8.0 / 10 : 128.0 / 130;
  const double interval = update_interval(spec.lanes, spec.max_payload);
  const double left = 1 - 8 / interval - 8 / interval - 4.0 / 1538;  // acknowledgements, credits, skips
  return kTransfers.at(spec.generation) * coding * spec.lanes * left;
}

Bus::Bus(const PcieSpec& spec, std::uint64_t seed)
    : spec_(spec),
      free_(spec.generation == 0),
      byte_time_(free_ ? 0
                       : static_cast<std::uint64_t>(std::llround(8e12 * (1 << kFraction) / transaction_rate(spec)))),
      tags_(spec.tags),
      random_(seed) {}

}  // namespace weft::sim

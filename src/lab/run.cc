// A stand-in: formulas of about the right shape, until the chip's timing is there.
#include "lab/run.h"

#include <algorithm>
#include <cmath>

#include "lab/metrics.h"

namespace weft::lab {

Outcome run(const Setting& s) {
  const bool srnic = s.profile.device.dialect == nic::Dialect::srnic;
  const double entries = s.profile.chip.contexts.entries;
  const double miss = entries == 0 || s.qps <= entries ? 0 : 1 - entries / s.qps;
  const double line =
      static_cast<double>(s.link_bits_per_second ? s.link_bits_per_second : s.profile.link_bits_per_second) / 1e9;
  double mac = line * 0.97 * (1 - 0.48 * miss) * std::min(1.0, static_cast<double>(s.bytes) * s.depth * s.qps / 8192.0);
  const double waste = s.loss * (srnic ? 25 : 290);
  mac /= 1 + waste;
  const double payload = std::min<double>(s.bytes, s.mtu);
  const double good = mac * payload / (payload + (srnic ? 66 : 58));
  const double rate = good * 1e3 / 8 / s.bytes;
  const double latency = srnic ? 3.3 : 1.16;
  Outcome out;
  for (const Metric& m : kMetrics) {
    double v = 0.1;
    if (m.name == "goodput_gbps") v = good;
    if (m.name == "mac_gbps") v = mac;
    if (m.name == "raw_gbps") v = line * 0.97;
    if (m.name == "message_rate") v = s.qps == 1 ? std::min(rate, 6.6) : rate;
    if (m.name.starts_with("latency")) v = latency;
    if (m.name == "pcie_gbps") v = mac * 1.2;
    if (m.name == "pcie_extra_gbps") v = 12 + 30 * miss;
    if (m.name == "context_misses") v = miss * 2;
    if (m.name == "work_misses") v = miss;
    if (m.name == "pcie_control_percent") v = 250 * s.loss;
    out.emplace_back(m.name, v);
  }
  return out;
}

}  // namespace weft::lab

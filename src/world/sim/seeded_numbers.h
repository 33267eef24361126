// The unpredictable numbers of a simulated host: they follow from its seed.
#pragma once

#include <cstdint>

#include "host/device.h"
#include "world/random.h"

namespace weft::sim {

class SeededNumbers final : public host::RandomSource {
 public:
  explicit SeededNumbers(std::uint64_t seed) : random_(seed) {}
  std::uint64_t next() override { return random_.next(); }

 private:
  world::Random random_;
};

}  // namespace weft::sim

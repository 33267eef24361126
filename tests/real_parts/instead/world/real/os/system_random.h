// In the place of src/world/real/os/system_random.h: numbers from the seed.
#pragma once

#include <cstdint>

#include "host/device.h"
#include "real_parts/stage.h"

namespace weft::real {

class SystemRandom final : public host::RandomSource {
 public:
  std::uint64_t next() override { return scene::draw_number(); }
};

}  // namespace weft::real

// A card as hardware: what kind it is, and what it costs. Profiles are files (profiles/*.toml), the user's own as well.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/device.h"
#include "world/sim/chip/spec.h"

namespace weft::lab {

// A number of a profile, and where it comes from: one of the four.
struct Parameter {
  std::string key, value, source;
  std::string calibrated_on;  // the claim that it was chosen by, if it has no source
  std::string swept_by;       // the experiment that tries others, if nobody tells it
  std::string assumed;        // why it is so, if it has no source and no verdict depends on it
  std::string from;           // the profile whose file says so
};

struct Profile {
  std::string name, title;
  std::string what;  // more about it, in a sentence or two
  std::uint64_t link_bits_per_second = 100'000'000'000;
  host::DeviceConfig device{};
  sim::ChipSpec chip{};
  sim::ThreadSpec thread{};
  std::vector<Parameter> parameters;  // all that the file sets, in its order
};

}  // namespace weft::lab

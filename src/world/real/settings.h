// What a user may set about the card that runs inside a program: flags of `weft run`, then WEFT_* in the environment,
// then weft.toml.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "wire/types.h"

namespace weft::real {

enum class WireChoice : std::uint8_t { automatic, udp, shm };

struct Settings {
  std::vector<wire::Address> addresses;  // of the device's port; empty: those of the machine
  WireChoice wire = WireChoice::automatic;
  std::string impairments;  // a plan as world/fault_plan.h reads it; empty: none
  std::uint64_t seed = 1;   // of the impairments
  std::string pcap;         // file for the tap; empty: none
  bool stats = false;       // counters on standard error when the program ends
  std::uint32_t max_qps = 16384;

  // From WEFT_* and, below them, the file that WEFT_CONFIG names or ./weft.toml; or a sentence that says what is wrong.
  [[nodiscard]] static tl::expected<Settings, std::string> from_environment();
};

}  // namespace weft::real

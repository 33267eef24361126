// HyperLogLog: how many different values of eight bytes a stream has, about, in 16 KB. Sketches of several streams are
// merged by their registers, which can be written to the server's memory and read from it.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace weft::kernels {

inline constexpr std::uint64_t kDistinct = 0x4469'7374'696E'6374;  // "Distinct"

inline constexpr std::uint32_t kSketchBits = 14, kSketchBytes = 1U << kSketchBits;  // a register a byte

struct DistinctCall {
  StreamAsk ask{};
  std::uint32_t unused = 0;
  Outlet stream{};                            // begin: where the stream goes as it passes; address 0: nowhere
  std::uint64_t merge_from = 0, save_to = 0;  // result, finish: registers to be merged before, or written; 0: none
};
static_assert(sizeof(DistinctCall) == 56);

struct DistinctAnswer {
  std::uint64_t values = 0;     // of the stream
  double distinct = 0;          // of all that is merged; the standard error is 0.81 %
  std::uint64_t odd_bytes = 0;  // at the end, that are no value
};

// A call that begins answers nothing. The stream fails if there is no room to keep it.
[[nodiscard]] nic::Kernel distinct(std::uint32_t instances = 64);

}  // namespace weft::kernels

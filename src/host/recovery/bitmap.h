// Which packets of a stream have arrived, one bit each, in a circle of PSNs. It exists in host memory only while the
// stream recovers from loss.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "nic/control.h"

namespace weft::host {

class PacketBitmap {
 public:
  static constexpr std::uint32_t kBits = nic::kMaxWindow;

  [[nodiscard]] bool has(wire::Psn psn) const { return (word(psn) >> bit(psn) & 1) != 0; }
  void set(wire::Psn psn) { words_[index(psn)] |= std::uint64_t{1} << bit(psn); }
  void clear(wire::Psn psn) { words_[index(psn)] &= ~(std::uint64_t{1} << bit(psn)); }
  void clear() { words_ = {}; }

  // How many packets from `from` on are here without a gap, `most` at most.
  [[nodiscard]] std::uint32_t run_from(wire::Psn from, std::uint32_t most) const {
    std::uint32_t run = 0;
    while (run < most) {
      const wire::Psn at = from.plus(run);
      const std::uint32_t left = kWordBits - bit(at);
      const auto ones = static_cast<std::uint32_t>(std::countr_one(word(at) >> bit(at)));
      run += std::min(ones, left);
      if (ones < left) break;
    }
    return std::min(run, most);
  }
  // The first packet from `from` on that is not here, before `end`; `end` if there is none.
  [[nodiscard]] wire::Psn first_missing(wire::Psn from, wire::Psn end) const {
    return from.plus(run_from(from, end.since(from)));
  }

 private:
  static constexpr std::uint32_t kWordBits = 64;
  static constexpr std::uint32_t bit(wire::Psn psn) { return psn.raw() % kWordBits; }
  static constexpr std::size_t index(wire::Psn psn) { return psn.raw() / kWordBits % (kBits / kWordBits); }
  [[nodiscard]] std::uint64_t word(wire::Psn psn) const { return words_[index(psn)]; }

  std::array<std::uint64_t, kBits / kWordBits> words_{};
};

}  // namespace weft::host

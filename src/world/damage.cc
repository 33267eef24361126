#include "world/damage.h"

#include <algorithm>
#include <cassert>

namespace weft::world {
namespace {

constexpr std::size_t kBurstOneIn = 4;
constexpr std::size_t kMaxBurst = 4;  // bytes

}  // namespace

void damage(std::span<std::byte> bytes, Random& random) {
  assert(!bytes.empty());
  if (random.below(kBurstOneIn) != 0) {
    const std::uint64_t bit = random.below(bytes.size() * 8);
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    return;
  }
  const std::size_t length = 1 + random.below(std::min(kMaxBurst, bytes.size()));
  const std::size_t start = random.below(bytes.size() - length + 1);
  for (std::byte& byte : bytes.subspan(start, length)) byte ^= static_cast<std::byte>(random.between(1, 255));
}

}  // namespace weft::world

// What this machine moves from 64 KB buffers of one side to 64 KB buffers of the other, without a card: by one
// processor with one copy, and by two with two copies, through a ring between them. Both sides have so many buffers and
// use them in turn, as connections with a buffer each do. That tells what of a curve over connections is the caches'.
//
//   build/bench/copies [ROUNDS]
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "two_processors.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kBuffer = 65536, kPiece = 32768, kRing = 8 * kPiece;
constexpr std::size_t kMessages = 32'768;  // of a round: 2 GiB

struct Memory {
  explicit Memory(std::size_t buffers) : from(buffers * kBuffer, std::byte{1}), to(buffers * kBuffer) {}
  std::vector<std::byte> from, to;
};

double gigabits(std::size_t bytes, Clock::duration took) {
  return static_cast<double>(bytes) * 8 / static_cast<double>(std::chrono::nanoseconds(took).count());
}

double copy_once(Memory& m) {
  const auto begin = Clock::now();
  for (std::size_t i = 0, at = 0; i < kMessages; ++i, at = (at + kBuffer) % m.from.size()) {
    std::memcpy(m.to.data() + at, m.from.data() + at, kBuffer);
  }
  return gigabits(kMessages * kBuffer, Clock::now() - begin);
}

double copy_twice(Memory& m) {
  constexpr std::size_t kPieces = kMessages * (kBuffer / kPiece), kRoom = kRing / kPiece;
  std::vector<std::byte> ring(kRing, std::byte{1});
  alignas(128) std::atomic<std::size_t> written = 0;
  alignas(128) std::atomic<std::size_t> read = 0;
  std::thread reader([&] {
    stay_on(1);
    for (std::size_t i = 0, at = 0; i < kPieces; ++i, at = (at + kPiece) % m.to.size()) {
      while (written.load(std::memory_order_acquire) <= i) {
      }
      std::memcpy(m.to.data() + at, ring.data() + i % kRoom * kPiece, kPiece);
      read.store(i + 1, std::memory_order_release);
    }
  });
  const auto begin = Clock::now();
  for (std::size_t i = 0, at = 0; i < kPieces; ++i, at = (at + kPiece) % m.from.size()) {
    while (i - read.load(std::memory_order_acquire) >= kRoom) {
    }
    std::memcpy(ring.data() + i % kRoom * kPiece, m.from.data() + at, kPiece);
    written.store(i + 1, std::memory_order_release);
  }
  reader.join();
  return gigabits(kMessages * kBuffer, Clock::now() - begin);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int run(std::size_t rounds) {
  double first_once = 0, first_twice = 0;
  for (const std::size_t buffers : {1, 16, 128, 1024, 4096}) {
    Memory memory(buffers);
    std::vector<double> once, twice;
    for (std::size_t round = 0; round < rounds; ++round) {
      once.push_back(copy_once(memory));
      twice.push_back(copy_twice(memory));
    }
    const double one = median(once), two = median(twice);
    if (buffers == 1) first_once = one, first_twice = two;
    fmt::print("{:>5} buffers  one copy {:6.1f} Gb/s, {:.2f} of one buffer's  two copies {:6.1f} Gb/s, {:.2f}\n",
               buffers, one, one / first_once, two, two / first_twice);
  }
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::run_rounds(argc, argv, weft::run); }

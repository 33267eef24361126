// PCI Express between a card and its host's memory: two directions that are busy independently, transactions with their
// overhead, and latency. Reads cost a request one way and completions the other; writes are posted.
//
// Overheads of a transaction (framing, sequence number, LCRC and header) and the share of the raw rate that
// acknowledgements and credits leave are those of Neugebauer et al., "Understanding PCIe performance for end host
// networking" (SIGCOMM 2018).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/time.h"
#include "world/random.h"
#include "world/sim/chip/concurrency_limit.h"
#include "world/sim/chip/reservations.h"
#include "world/sim/chip/spec.h"

namespace weft::sim {

// What bytes cross the bus for.
enum class BusUse : std::uint8_t {
  payload,
  work,
  receive,
  under_way,  // what is under way, when the card does not keep it
  completion,
  doorbell,
  context,
  translation,
  control,
  count_
};

// What transactions can use of the raw rate, in bits a second.
[[nodiscard]] double transaction_rate(const PcieSpec& spec);

class Bus {
 public:
  explicit Bus(const PcieSpec& spec, std::uint64_t seed = 1);

  // Each is asked for at `from`, and answers when it has come to its end. A read is as many requests as its bytes need.
  Time read(Time now, Time from, std::size_t bytes, BusUse use) {
    if (free_) return from;
    Time end = from;
    for (std::size_t left = bytes; left > 0;) {
      const std::size_t piece = std::min<std::size_t>(left, spec_.max_read_request);
      end = std::max(end, request(now, from, piece, use));
      left -= piece;
    }
    return end;
  }
  Time write(Time now, Time from, std::size_t bytes, BusUse use) {
    if (free_) return from;
    const std::size_t all = pieces(bytes, spec_.max_payload) * kWrite + bytes;
    count(use, all);
    return up_.take(now, from, time_of(all) + std::exchange(requests_, 0)) + spec_.write_latency;
  }
  // A store of the host to the card.
  Time store(Time now, Time from, std::size_t bytes, BusUse use) {
    if (free_) return from;
    count(use, kWrite + bytes);
    return down_.take(now, from, time_of(kWrite + bytes)) + spec_.doorbell_latency;
  }

  // What so many bytes take, written in the largest pieces.
  [[nodiscard]] Time write_time(std::size_t bytes) const {
    return free_ ? 0 : time_of(pieces(bytes, spec_.max_payload) * kWrite + bytes);
  }

  [[nodiscard]] std::uint64_t bytes(BusUse use) const { return bytes_[static_cast<std::size_t>(use)]; }
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t n : bytes_) sum += n;
    return sum;
  }
  [[nodiscard]] Time up_busy() const { return up_.total() + requests_; }
  [[nodiscard]] Time down_busy() const { return down_.total(); }

 private:
  // One request has one tag until all of its bytes are here.
  Time request(Time now, Time from, std::size_t bytes, BusUse use) {
    const std::size_t down = pieces(bytes, spec_.max_payload) * kCompletion + bytes;
    count(use, kReadRequest + down);
    return tags_.enter(from, [&](Time start) {
      // Payload is asked for in long lists, and everything else by engines of their own, which take turns with it.
      const Time answered = start + time_of(kReadRequest) + spec_.read_latency + jitter();
      requests_ += time_of(kReadRequest);
      return use == BusUse::payload ? down_.take(now, answered, time_of(down))
                                    : down_.take_first(now, answered, time_of(down));
    });
  }
  Time jitter() {
    if (spec_.read_jitter == 0) return 0;
    return static_cast<Time>(random_.below(2 * static_cast<std::uint64_t>(spec_.read_jitter) + 1)) - spec_.read_jitter;
  }

  static constexpr std::size_t kWrite = 24, kReadRequest = 24, kCompletion = 20;  // bytes around the data

  // In 32 bits: to divide 64 takes twice as long.
  static std::size_t pieces(std::size_t bytes, std::uint32_t largest) {
    return (static_cast<std::uint32_t>(bytes) + largest - 1) / largest;
  }
  [[nodiscard]] Time time_of(std::size_t bytes) const {
    return static_cast<Time>((bytes * byte_time_ + (1U << kFraction) - 1) >> kFraction);
  }
  void count(BusUse use, std::size_t bytes) { bytes_[static_cast<std::size_t>(use)] += bytes; }

  static constexpr int kFraction = 16;
  PcieSpec spec_;
  bool free_;
  std::uint64_t byte_time_;  // ps, with kFraction bits behind the point
  ConcurrencyLimit tags_;
  world::Random random_;
  Reservations up_, down_;  // from the card, to the card
  // Requests to read are so short that nobody notices when one goes first; what they take is added to the next write.
  Time requests_ = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(BusUse::count_)> bytes_{};
};

}  // namespace weft::sim

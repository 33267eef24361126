// Kernels of our own card, on what we send: they take it from our memory, and send what they make of it.
#include <cstdio>

#include "ends.h"

namespace tour {
namespace {

std::span<const std::byte> fill(Ends& ends, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) std::memcpy(ends.here(i * 8), &i, sizeof i);
  return {ends.here(0), count * 8};
}

// Only records that count leave.
bool send_what_counts(Ends& ends) {
  weft_filter_call filter{};
  filter.record_bytes = 8;
  filter.least = 100;
  filter.most = 199;
  filter.matches.address = number_of(ends.there(0));
  filter.matches.room_bytes = 800;
  filter.matches.sends = 1;
  filter.matches.key = ends.rkey();
  if (ends.call_own("filter", bytes_of(filter)).outcome != WEFT_CALL_SUCCESS) return false;
  ends.feed_own("filter", fill(ends, 5000));
  filter.ask = WEFT_STREAM_FINISH;
  const auto a = ends.call_own("filter", bytes_of(filter)).as<weft_filter_answer>();
  std::printf("own filter  %llu of %llu records are with the peer\n", static_cast<unsigned long long>(a.count),
              static_cast<unsigned long long>(a.records));
  return a.count == 100 && *place_of<std::uint64_t>(number_of(ends.there(792))) == 199;
}

// Values go to two peers, by their lowest bits.
bool send_to_two_peers(Ends& ends) {
  constexpr std::uint64_t kPartitions = 8, kValues = 4000, kRoom = kValues / kPartitions * 8;
  const std::size_t table = 64 << 10;
  for (std::uint64_t p = 0; p < kPartitions; ++p) {
    weft_outlet to{};
    to.address = number_of(ends.there(p * kRoom));
    to.room_bytes = kRoom;
    to.sends = 1;
    to.key = ends.rkey();
    to.qpn = ends.way(p % 2);
    std::memcpy(ends.here(table + p * sizeof to), &to, sizeof to);
  }
  weft_shuffle_call shuffle{};
  shuffle.partitions = kPartitions;
  shuffle.sends = 1;
  shuffle.partitions_at = number_of(ends.here(table));
  if (ends.call_own("shuffle", bytes_of(shuffle)).outcome != WEFT_CALL_SUCCESS) return false;
  ends.feed_own("shuffle", fill(ends, kValues));
  shuffle.ask = WEFT_STREAM_FINISH;
  const auto a = ends.call_own("shuffle", bytes_of(shuffle)).as<weft_shuffle_answer>();
  std::printf("own shuffle %llu values are with two peers\n", static_cast<unsigned long long>(a.values));
  for (std::uint64_t v = 0; v < kValues; ++v) {
    const std::uint64_t at = v % kPartitions * kRoom + v / kPartitions * 8;
    if (*place_of<std::uint64_t>(number_of(ends.there(at))) != v) return false;
  }
  return a.values == kValues;
}

}  // namespace

bool call_own_kernels(Ends& ends) { return send_what_counts(ends) && send_to_two_peers(ends); }

}  // namespace tour

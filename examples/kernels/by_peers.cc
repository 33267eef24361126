// Kernels of the peer's card: on what lies in its memory, and on what arrives there.
#include <array>
#include <cmath>
#include <cstdio>

#include "ends.h"

namespace tour {
namespace {

// A list of three elements: a key, the next one, and where the value is.
struct Element {
  std::uint64_t key = 0, next = 0, value = 0;
  std::uint64_t unused[5] = {};
};
static_assert(sizeof(Element) == WEFT_TRAVERSE_ELEMENT_BYTES);

bool traverse_a_list(Ends& ends) {
  const std::string value = "the third element's value";
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Element e{.key = 10 + i,
                    .next = i < 2 ? number_of(ends.there((i + 1) * sizeof(Element))) : 0,
                    .value = number_of(ends.there(1024))};
    std::memcpy(ends.there(i * sizeof e), &e, sizeof e);
  }
  std::memcpy(ends.there(1024), value.data(), value.size());
  weft_traverse_call find{};  // positions are in words of four bytes
  find.address = number_of(ends.there(0));
  find.key = 12;
  find.value_bytes = static_cast<std::uint32_t>(value.size());
  find.key_mask = 1;
  find.predicate = WEFT_TRAVERSE_EQUAL;
  find.has_next = true;
  find.next_position = 2;
  find.value_position = 4;
  const Answer a = ends.call("traverse", bytes_of(find));
  const std::string found(place_of<char>(number_of(a.bytes.data())), a.bytes.size());
  std::printf("traverse    key 12 has '%s'\n", found.c_str());
  return a.outcome == WEFT_CALL_SUCCESS && found == value;
}

bool get_from_a_table(Ends& ends) {
  const std::string value = "forty-two";
  weft_get_entry entry{};
  entry.keys[1] = 42;
  entry.values[1] = std::uint64_t{value.size()} << 48 | number_of(ends.there(1024));
  std::memcpy(ends.there(0), &entry, sizeof entry);
  std::memcpy(ends.there(1024), value.data(), value.size());
  weft_get_call get{.entry = number_of(ends.there(0)), .key = 42};
  const Answer a = ends.call("get", bytes_of(get));
  const std::string found(place_of<char>(number_of(a.bytes.data())), a.bytes.size());
  get.key = 43;
  const bool misses = ends.call("get", bytes_of(get)).bytes.empty();
  std::printf("get         key 42 has '%s', key 43 nothing\n", found.c_str());
  return found == value && misses;
}

bool read_a_whole_object(Ends& ends) {
  constexpr std::uint32_t kObject = 1000;
  for (std::uint32_t i = 0; i < kObject; ++i) *ends.there(i) = static_cast<std::byte>(i);
  const std::uint64_t checksum = weft_checksum(ends.there(0), kObject);
  std::memcpy(ends.there(kObject), &checksum, sizeof checksum);
  const weft_consistent_call read{.address = number_of(ends.there(0)), .bytes = kObject + 8, .tries = 4};
  const bool whole = ends.call("consistent", bytes_of(read)).bytes.size() == kObject;
  *ends.there(7) ^= std::byte{1};  // as if its owner never came to an end
  const bool torn = ends.call("consistent", bytes_of(read)).outcome == WEFT_CALL_FAILED;
  std::printf("consistent  %u bytes, and none of an object that stays torn\n", kObject);
  return whole && torn;
}

bool update_a_record(Ends& ends) {
  std::memcpy(ends.there(0), "version 1, and more", 20);
  struct {
    weft_update_call head;
    char words[9 + 20];
  } update{{number_of(ends.there(0)), 9, 20}, {}};
  std::memcpy(update.words, "version 1version 2, much more.", 29);
  const auto parameters = bytes_of(update).first(sizeof update.head + 29);
  const auto happens = [&] {
    weft_update_answer answer{};
    std::memcpy(&answer, ends.call("update", parameters).bytes.data(), sizeof answer);
    return answer.is_updated != 0;
  };
  const bool first = happens(), second = happens();
  std::printf("update      a record becomes '%.20s', once\n", place_of<char>(number_of(ends.there(0))));
  return first && !second;
}

// Numbers from 0 on, eight bytes each.
std::span<const std::byte> fill(Ends& ends, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) std::memcpy(ends.here(i * 8), &i, sizeof i);
  return {ends.here(0), count * 8};
}

bool filter_a_stream(Ends& ends) {
  weft_filter_call filter{};
  filter.ask = WEFT_STREAM_BEGIN;
  filter.record_bytes = 8;
  filter.least = 100;
  filter.most = 199;
  filter.matches.address = number_of(ends.there(0));
  filter.matches.room_bytes = 800;
  if (ends.call("filter", bytes_of(filter)).outcome != WEFT_CALL_SUCCESS) return false;
  ends.feed("filter", fill(ends, 5000));
  filter.ask = WEFT_STREAM_FINISH;
  const auto a = ends.call("filter", bytes_of(filter)).as<weft_filter_answer>();
  std::printf("filter      %llu of %llu records, their sum is %llu\n", static_cast<unsigned long long>(a.count),
              static_cast<unsigned long long>(a.records), static_cast<unsigned long long>(a.sum));
  return a.count == 100 && a.sum == 14'950 && *place_of<std::uint64_t>(number_of(ends.there(792))) == 199;
}

bool count_different_values(Ends& ends) {
  weft_distinct_call distinct{};
  if (ends.call("distinct", bytes_of(distinct)).outcome != WEFT_CALL_SUCCESS) return false;
  for (int again = 0; again < 2; ++again) ends.feed("distinct", fill(ends, 10'000));
  distinct.ask = WEFT_STREAM_FINISH;
  const auto a = ends.call("distinct", bytes_of(distinct)).as<weft_distinct_answer>();
  std::printf("distinct    about %.0f different values of %llu\n", a.distinct,
              static_cast<unsigned long long>(a.values));
  return std::abs(a.distinct - 10'000) < 400 && a.values == 20'000;
}

bool check_a_stream(Ends& ends) {
  weft_checksum_call check{};
  if (ends.call("checksum", bytes_of(check)).outcome != WEFT_CALL_SUCCESS) return false;
  const auto stream = fill(ends, 5000);
  ends.feed("checksum", stream);
  check.ask = WEFT_STREAM_FINISH;
  const auto a = ends.call("checksum", bytes_of(check)).as<weft_checksum_answer>();
  std::printf("checksum    %016llx of %llu bytes\n", static_cast<unsigned long long>(a.checksum),
              static_cast<unsigned long long>(a.bytes));
  return a.checksum == weft_checksum(stream.data(), stream.size());
}

bool spread_a_stream(Ends& ends) {
  constexpr std::uint64_t kPartitions = 4, kValues = 1000, kRoom = kValues / kPartitions * 8;
  for (std::uint64_t p = 0; p < kPartitions; ++p) {  // a histogram says how much room each has to have
    const weft_partition place{number_of(ends.there(4096 + p * kRoom)), kRoom};
    std::memcpy(ends.there(p * sizeof place), &place, sizeof place);
  }
  weft_shuffle_call shuffle{};
  shuffle.partitions = kPartitions;
  shuffle.partitions_at = number_of(ends.there(0));
  if (ends.call("shuffle", bytes_of(shuffle)).outcome != WEFT_CALL_SUCCESS) return false;
  ends.feed("shuffle", fill(ends, kValues));
  shuffle.ask = WEFT_STREAM_FINISH;
  const auto a = ends.call("shuffle", bytes_of(shuffle)).as<weft_shuffle_answer>();
  std::printf("shuffle     %llu values into %llu partitions\n", static_cast<unsigned long long>(a.values),
              static_cast<unsigned long long>(kPartitions));
  return a.values == kValues && *place_of<std::uint64_t>(number_of(ends.there(4096 + kRoom))) == 1;
}

}  // namespace

bool call_kernels_of_a_peer(Ends& ends) {
  return traverse_a_list(ends) && get_from_a_table(ends) && read_a_whole_object(ends) && update_a_record(ends) &&
         filter_a_stream(ends) && count_different_values(ends) && check_a_stream(ends) && spread_a_stream(ends);
}

}  // namespace tour

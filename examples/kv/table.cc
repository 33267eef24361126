#include "table.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "common/address.h"

namespace kv {

using namespace examples;

namespace {

constexpr std::size_t kEntryBytes = sizeof(weft_get_entry), kBuckets = 3;
// Objects that are free beyond those that keys need: a reader has so many PUTs of time before what it reads is reused.
constexpr std::size_t kSpareObjects = 1024;

// A word that clients read while it is written.
void publish(std::uint64_t& word, std::uint64_t value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

std::uint64_t place_word(const std::byte* object, std::size_t bytes) {
  return std::uint64_t{bytes} << 48 | number_of(object);
}
std::byte* object_at(const Place& place) { return place_of<std::byte>(place.address); }

}  // namespace

std::optional<Bytes> value_in(Bytes object, std::uint64_t key) {
  if (object.size() < kObjectExtra) return std::nullopt;
  std::uint64_t there = 0, checksum = 0;
  std::memcpy(&there, object.data(), sizeof there);
  std::memcpy(&checksum, object.last(sizeof checksum).data(), sizeof checksum);
  if (there != key || checksum != weft_checksum(object.data(), object.size() - sizeof checksum)) return std::nullopt;
  return object.subspan(sizeof there, object.size() - kObjectExtra);
}

std::uint64_t hash_of(std::uint64_t key) {
  key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9;
  key = (key ^ key >> 27) * 0x94D049BB133111EB;
  return key ^ key >> 31;
}

std::optional<Place> find_in(const weft_get_entry& entry, std::uint64_t key) {
  for (std::size_t i = 0; i < kBuckets; ++i) {
    if (entry.keys[i] == key)
      return Place{entry.values[i] & 0xFFFF'FFFF'FFFF, static_cast<std::uint32_t>(entry.values[i] >> 48)};
  }
  return std::nullopt;
}

// Two buckets for each key, and as many entries again for chains as there are keys: then a chain never finds no room.
Table::Table(std::size_t keys, std::size_t most_value)
    : entries_(std::bit_ceil(std::max<std::size_t>(2 * keys / kBuckets, 1))),
      overflow_(keys),
      slot_bytes_((most_value + kObjectExtra + 7) / 8 * 8) {
  const std::size_t slots = keys + kSpareObjects, table_bytes = (entries_ + overflow_) * kEntryBytes;
  memory_.resize(kEntryBytes + table_bytes + slots * slot_bytes_);
  first_entry_ = (kEntryBytes - number_of(memory_.data()) % kEntryBytes) % kEntryBytes;
  slots_ = memory_.data() + first_entry_ + table_bytes;
  for (std::size_t i = 0; i < slots; ++i) free_slots_.push_back(static_cast<std::uint32_t>(i));
}

std::uint64_t Table::entries_at() const { return number_of(entry(0)); }

weft_get_entry* Table::entry(std::size_t n) const {
  const std::byte* at = memory_.data() + first_entry_ + n * kEntryBytes;
  return place_of<weft_get_entry>(number_of(at));
}

std::optional<Table::Bucket> Table::look_up(std::uint64_t key) const {
  weft_get_entry* e = entry(hash_of(key) & entry_mask());
  while (e != nullptr) {
    for (std::size_t i = 0; i < kBuckets; ++i) {
      if (e->keys[i] == key) return Bucket{e, i};
    }
    e = place_of<weft_get_entry>(e->next);
  }
  return std::nullopt;
}

std::optional<Table::Bucket> Table::free_bucket(std::uint64_t key) {
  weft_get_entry* e = entry(hash_of(key) & entry_mask());
  for (;;) {
    for (std::size_t i = 0; i < kBuckets; ++i) {
      if (e->keys[i] == 0) return Bucket{e, i};
    }
    if (e->next == 0) break;
    e = place_of<weft_get_entry>(e->next);
  }
  if (used_overflow_ == overflow_) return std::nullopt;
  weft_get_entry* const more = entry(entries_ + used_overflow_++);
  publish(e->next, number_of(more));
  return Bucket{more, 0};
}

bool Table::put(std::uint64_t key, Bytes value) {
  if (key == 0 || value.size() + kObjectExtra > slot_bytes_ || free_slots_.empty()) return false;
  std::optional<Bucket> bucket = look_up(key);
  const bool is_new = !bucket;
  if (is_new) bucket = free_bucket(key);
  if (!bucket) return false;
  std::byte* const object = slots_ + free_slots_.front() * slot_bytes_;
  const std::size_t bytes = value.size() + kObjectExtra;
  std::memcpy(object, &key, sizeof key);
  if (!value.empty()) std::memcpy(object + sizeof key, value.data(), value.size());
  const std::uint64_t checksum = weft_checksum(object, bytes - sizeof checksum);
  std::memcpy(object + bytes - sizeof checksum, &checksum, sizeof checksum);

  const std::uint64_t before = bucket->entry->values[bucket->number];
  publish(bucket->entry->values[bucket->number], place_word(object, bytes));
  if (is_new) {
    publish(bucket->entry->keys[bucket->number], key);
  } else {
    const std::byte* const old = object_at({before & 0xFFFF'FFFF'FFFF, 0});
    free_slots_.push_back(static_cast<std::uint32_t>((old - slots_) / static_cast<std::ptrdiff_t>(slot_bytes_)));
  }
  free_slots_.pop_front();
  return true;
}

bool Table::erase(std::uint64_t key) {
  const std::optional<Bucket> bucket = key == 0 ? std::nullopt : look_up(key);
  if (!bucket) return false;
  const Place place = *find_in(*bucket->entry, key);
  publish(bucket->entry->keys[bucket->number], 0);
  const std::ptrdiff_t at = object_at(place) - slots_;
  free_slots_.push_back(static_cast<std::uint32_t>(at / static_cast<std::ptrdiff_t>(slot_bytes_)));
  return true;
}

Bytes Table::find(std::uint64_t key) const {
  const std::optional<Bucket> bucket = key == 0 ? std::nullopt : look_up(key);
  if (!bucket) return {};
  const Place place = *find_in(*bucket->entry, key);
  return {object_at(place), place.bytes};
}

}  // namespace kv

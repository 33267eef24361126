// The server's memory: a hash table with three buckets an entry and chains, as Pilaf's, and the objects that it points
// to. Clients read it with nobody's help while the server changes it, so all that they may find half done shows: an
// object has its key and a checksum, and never changes while the table points to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "weft/shipped_kernels.h"

namespace kv {

using Bytes = std::span<const std::byte>;

// An object is its key, the value, and the checksum of both.
inline constexpr std::size_t kObjectExtra = 16, kMostValue = 0xFFFF - kObjectExtra;

// What a reader has got of an object, if it is whole and of this key.
[[nodiscard]] std::optional<Bytes> value_in(Bytes object, std::uint64_t key);

// The entry where keys begin that have this hash.
[[nodiscard]] std::uint64_t hash_of(std::uint64_t key);

// Where an entry says that the object of `key` is.
struct Place {
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
};
[[nodiscard]] std::optional<Place> find_in(const weft_get_entry& entry, std::uint64_t key);

class Table {
 public:
  // For so many keys, with values of at most so many bytes.
  Table(std::size_t keys, std::size_t most_value);

  // False: the value is too long, the key is 0, or there is no room left.
  [[nodiscard]] bool put(std::uint64_t key, Bytes value);
  bool erase(std::uint64_t key);
  // The object; empty: there is none.
  [[nodiscard]] Bytes find(std::uint64_t key) const;

  // All that clients read.
  [[nodiscard]] std::span<std::byte> memory() { return memory_; }
  [[nodiscard]] std::uint64_t entries_at() const;
  [[nodiscard]] std::uint64_t entry_mask() const { return entries_ - 1; }
  [[nodiscard]] std::size_t most_object() const { return slot_bytes_; }

 private:
  struct Bucket {
    weft_get_entry* entry = nullptr;
    std::size_t number = 0;
  };
  [[nodiscard]] weft_get_entry* entry(std::size_t n) const;
  [[nodiscard]] std::optional<Bucket> look_up(std::uint64_t key) const;
  // One that is nobody's, in the key's chain, which may become longer.
  [[nodiscard]] std::optional<Bucket> free_bucket(std::uint64_t key);

  std::size_t entries_, overflow_, used_overflow_ = 0, slot_bytes_;
  std::vector<std::byte> memory_;
  std::size_t first_entry_;               // in memory_: entries are not to cross more pages than they must
  std::deque<std::uint32_t> free_slots_;  // the one that was given back longest ago is taken next
  std::byte* slots_;
};

}  // namespace kv

// A map as a sorted vector. It keeps the memory that it once had, so what comes and goes allocates nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace weft {

template <class Key, class Value>
class FlatMap {
 public:
  struct Entry {
    Key key;
    Value value;
  };

  [[nodiscard]] Value* find(const Key& key) {
    const auto at = place_of(key);
    return at != entries_.end() && at->key == key ? &at->value : nullptr;
  }
  [[nodiscard]] bool contains(const Key& key) { return find(key) != nullptr; }
  // For a key that has none yet.
  Value& add(const Key& key, Value value) { return entries_.insert(place_of(key), {key, std::move(value)})->value; }
  // Takes it out; `otherwise` if there is none.
  [[nodiscard]] Value take(const Key& key, Value otherwise) {
    const auto at = place_of(key);
    if (at == entries_.end() || at->key != key) return otherwise;
    Value value = std::move(at->value);
    entries_.erase(at);
    return value;
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] auto begin() const { return entries_.begin(); }
  [[nodiscard]] auto end() const { return entries_.end(); }

 private:
  [[nodiscard]] auto place_of(const Key& key) {
    return std::lower_bound(entries_.begin(), entries_.end(), key,
                            [](const Entry& e, const Key& k) { return e.key < k; });
  }

  std::vector<Entry> entries_;
};

}  // namespace weft

// Records of streams that recover from loss. A record that is given back keeps its memory for the next stream, so where
// packets are lost all the time nothing is allocated. At most kSpare records wait unused; the others are freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/flat_map.h"

namespace weft::host {

template <class Record>
class RecordPool {
 public:
  static constexpr std::size_t kSpare = 256;
  using Key = std::uint64_t;

  // The record of this stream. A new one begins with Record::restart(how...).
  template <class... How>
  [[nodiscard]] Record& get(Key key, How&&... how) {
    if (auto* have = records_.find(key)) return **have;
    std::unique_ptr<Record> record = spare_.empty() ? std::make_unique<Record>() : std::move(spare_.back());
    if (!spare_.empty()) spare_.pop_back();
    record->restart(std::forward<How>(how)...);
    return *records_.add(key, std::move(record));
  }
  [[nodiscard]] bool contains(Key key) { return records_.contains(key); }
  void give_back(Key key) {
    std::unique_ptr<Record> record = records_.take(key, nullptr);
    if (record != nullptr && spare_.size() < kSpare) spare_.push_back(std::move(record));
  }

  [[nodiscard]] std::size_t size() const { return records_.size(); }
  // Held by streams that recover.
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& entry : records_) sum += entry.value->bytes();
    return sum;
  }

 private:
  FlatMap<Key, std::unique_ptr<Record>> records_;
  std::vector<std::unique_ptr<Record>> spare_;
};

}  // namespace weft::host

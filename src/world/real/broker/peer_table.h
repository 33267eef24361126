// What the broker remembers of others' messages, by who sent them and by a number. Anybody can send messages, so there
// is a limit for each peer and one for all. Who is beyond its own loses its oldest entry. Beyond that of all, whoever
// has the most loses one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "wire/types.h"

namespace weft::real {

template <class Value>
class PeerTable {
 public:
  PeerTable(std::size_t most, std::size_t most_of_a_peer) : most_(most), most_of_a_peer_(most_of_a_peer) {}

  void put(const wire::Address& peer, std::uint32_t number, const Value& value) {
    if (Value* known = find(peer, number); known != nullptr) {
      *known = value;
      return;
    }
    if (size_of(peer.bytes) >= most_of_a_peer_) {
      drop_oldest(peer.bytes);
    } else if (size_ >= most_) {
      drop_oldest(by_size_.rbegin()->second);
    }
    Entries& entries = peers_[peer.bytes];
    entries.oldest_first.push_back({number, value});
    entries.by_number[number] = std::prev(entries.oldest_first.end());
    resized(peer.bytes, entries.oldest_first.size() - 1);
    ++size_;
  }

  [[nodiscard]] Value* find(const wire::Address& peer, std::uint32_t number) {
    const auto entries = peers_.find(peer.bytes);
    if (entries == peers_.end()) return nullptr;
    const auto it = entries->second.by_number.find(number);
    return it != entries->second.by_number.end() ? &it->second->value : nullptr;
  }

  void erase(const wire::Address& peer, std::uint32_t number) {
    if (find(peer, number) != nullptr) drop(peer.bytes, number);
  }

  // Removes those for which this holds: take(number, value).
  template <class Take>
  void take_if(Take&& take) {
    std::vector<std::pair<Peer, std::uint32_t>> taken;
    for (const auto& [peer, entries] : peers_) {
      for (const Entry& e : entries.oldest_first) {
        if (take(e.number, e.value)) taken.emplace_back(peer, e.number);
      }
    }
    for (const auto& [peer, number] : taken) drop(peer, number);
  }

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  using Peer = std::array<std::uint8_t, 16>;
  struct Entry {
    std::uint32_t number;
    Value value;
  };
  struct Entries {
    std::list<Entry> oldest_first;
    std::map<std::uint32_t, typename std::list<Entry>::iterator> by_number;
  };

  [[nodiscard]] std::size_t size_of(const Peer& peer) const {
    const auto it = peers_.find(peer);
    return it != peers_.end() ? it->second.oldest_first.size() : 0;
  }
  void resized(const Peer& peer, std::size_t before) {
    by_size_.erase({before, peer});
    const std::size_t now = size_of(peer);
    if (now > 0) by_size_.insert({now, peer});
    if (now == 0) peers_.erase(peer);
  }
  void drop_oldest(const Peer peer) { drop(peer, peers_.at(peer).oldest_first.front().number); }
  void drop(const Peer& peer, std::uint32_t number) {
    Entries& entries = peers_.at(peer);
    const auto it = entries.by_number.find(number);
    entries.oldest_first.erase(it->second);
    entries.by_number.erase(it);
    --size_;
    resized(peer, entries.oldest_first.size() + 1);
  }

  std::size_t most_, most_of_a_peer_, size_ = 0;
  std::map<Peer, Entries> peers_;
  std::set<std::pair<std::size_t, Peer>> by_size_;
};

}  // namespace weft::real

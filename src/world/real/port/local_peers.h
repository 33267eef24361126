// The lanes on this host that a lane has met: who they are, whom something was written for, and whether one of them
// takes no more. A registry over shared memory: times come in as arguments, and there is no socket and no broker in it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "wire/types.h"
#include "world/real/os/time.h"
#include "world/real/port/local_peer.h"

namespace weft::real {

class LocalPeers {
 public:
  // A local peer that takes nothing is waited for this long. After that it loses packets, as on any wire.
  static constexpr Time kPatience = milliseconds(100);

  // -- who is there
  // The broker says who has a lane number, and at which addresses. Only addresses that it has named are local.
  void name(std::uint8_t lane_number, std::span<const wire::Address> addresses) {
    unname(lane_number);
    names_.push_back({lane_number, {addresses.begin(), addresses.end()}});
  }
  // The memory that is shared with one of them. There must be none of this lane number yet.
  LocalPeer& add(std::unique_ptr<LocalPeer> peer) {
    rings_ += peer->ring ? 1 : 0;
    return *peers_.emplace_back(std::move(peer));
  }
  // The local peer has gone. All that was written for it must have been published.
  void remove(std::uint8_t lane_number) {
    unname(lane_number);
    if (LocalPeer* const peer = find(lane_number); peer != nullptr) {
      rings_ -= peer->ring ? 1 : 0;
      if (tight_ == peer) tight_ = nullptr;
      std::erase(used_, peer);
      std::erase_if(peers_, [&](const auto& each) { return each.get() == peer; });
    }
  }
  // All memory goes, because it will be shared anew. Names stay: their owners are still here, as far as anybody knows.
  void let_go_of_memory() {
    tight_ = nullptr;
    used_.clear();
    peers_.clear();
    rings_ = 0;
  }

  [[nodiscard]] std::size_t size() const { return peers_.size(); }
  [[nodiscard]] bool empty() const { return peers_.empty(); }
  // By index, because more may be added meanwhile.
  [[nodiscard]] LocalPeer& operator[](std::size_t index) const { return *peers_[index]; }
  [[nodiscard]] LocalPeer* find(std::uint32_t lane_number) const {
    for (const auto& peer : peers_) {
      if (peer->lane_number() == lane_number) return peer.get();
    }
    return nullptr;
  }
  [[nodiscard]] LocalPeer* find(std::uint32_t lane_number, const wire::Address& address) const {
    const bool is_there = std::any_of(names_.begin(), names_.end(), [&](const Name& name) {
      return name.lane_number == lane_number && name.has(address);
    });
    return is_there ? find(lane_number) : nullptr;
  }
  [[nodiscard]] bool has_address(const wire::Address& address) const {
    return std::any_of(names_.begin(), names_.end(), [&](const Name& name) { return name.has(address); });
  }
  [[nodiscard]] bool has_rings() const { return rings_ > 0; }
  // One of them may mark packets as a congested switch would.
  [[nodiscard]] bool may_mark() const {
    return std::any_of(peers_.begin(), peers_.end(),
                       [](const auto& peer) { return peer->shared_status().marks.load() != 0; });
  }

  // -- out
  // Something is written for it, and leaves with publish().
  void use(LocalPeer& peer) {
    if (peer.used) return;
    peer.used = true;
    used_.push_back(&peer);
  }
  [[nodiscard]] bool has_unpublished() const { return !used_.empty(); }
  // What is in rings can be seen; nobody is woken yet.
  void show() {
    for (LocalPeer* peer : used_) peer->show();
  }
  // Before the datagrams for them leave.
  void announce(Time now) {
    for (LocalPeer* peer : used_) peer->announce(now);
  }
  // After that.
  void publish(Time now) {
    for (LocalPeer* peer : used_) {
      peer->publish();
      peer->used = false;
      if (tight_ == nullptr && !peer->has_room()) wait_for(*peer, now);
    }
    used_.clear();
  }
  // A local peer takes no more for now. As long as this holds, nothing more should be written.
  [[nodiscard]] bool blocked(Time now) {
    if (tight_ == nullptr) {
      for (LocalPeer* peer : used_) {
        if (!peer->has_room()) wait_for(*peer, now);
      }
      return tight_ != nullptr;
    }
    if (!tight_->has_room()) {
      if (now - tight_since_ < kPatience) return true;
      tight_->numb = true;  // nobody waits for it again before it takes something
    }
    tight_ = nullptr;
    return false;
  }

  // -- in
  // One whose ring has something, if there is any.
  [[nodiscard]] LocalPeer* readable() const {
    for (const auto& peer : peers_) {
      if (!peer->in.empty()) return peer.get();
    }
    return nullptr;
  }

  // -- exported payloads
  // Something that a local peer has not fetched yet.
  [[nodiscard]] bool has_exported() const {
    return std::any_of(peers_.begin(), peers_.end(), [](const auto& peer) { return peer->out.has_exported(); });
  }
  void revoke(std::uint64_t from, std::uint64_t to) {
    for (const auto& peer : peers_) peer->out.revoke(from, to);
  }
  void revoke_all() { revoke(0, ~std::uint64_t{0}); }

 private:
  struct Name {
    std::uint8_t lane_number = 0;
    std::vector<wire::Address> addresses;

    [[nodiscard]] bool has(const wire::Address& address) const {
      return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
    }
  };

  void unname(std::uint8_t lane_number) {
    std::erase_if(names_, [&](const Name& name) { return name.lane_number == lane_number; });
  }
  void wait_for(LocalPeer& peer, Time now) {
    if (peer.numb) return;
    tight_ = &peer;
    tight_since_ = now;
  }

  std::vector<std::unique_ptr<LocalPeer>> peers_;
  std::vector<Name> names_;
  std::vector<LocalPeer*> used_;  // since the last publish()
  std::size_t rings_ = 0;         // of those who have one
  LocalPeer* tight_ = nullptr;    // takes no more
  Time tight_since_ = 0;
};

}  // namespace weft::real

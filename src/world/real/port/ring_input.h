// What arrives through the rings of local peers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/world.h"
#include "world/real/port/local_peers.h"
#include "world/real/settings/settings.h"

namespace weft::real {

// An exported payload in a local peer's ring.
struct RingExport : wire::Export {
  LocalPeer* exporter = nullptr;
  std::uint64_t position = 0;
};

class RingInput {
 public:
  explicit RingInput(LocalPeers& peers) : peers_(peers) {}

  // Whether long payloads are to be copied from their senders' memory.
  void set_one_copy(OneCopy wanted) { one_copy_ = wanted; }

  // Calls take(flow, datagram, how) for what has arrived, and settle() before the bytes go. False: nothing had.
  template <class Take, class Settle>
  bool receive(Take& take, Settle& settle) {
    bool any = false;
    // By index: what is settled may be answered to a lane that we have not met yet. None leaves meanwhile: only
    // Engine::on_met hears of that.
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      LocalPeer& peer = peers_[i];
      if (peer.in.empty()) continue;
      any = true;
      hear(peer, take, settle);
    }
    return any;
  }
  // The oldest record of this ring.
  template <class Take, class Settle>
  void hear_one(LocalPeer& peer, Take& take, Settle& settle) {
    peer.measure([&] {
      read(peer, 1, take);
      settle();
    });
    peer.in.done();
  }
  // All that a local peer who has gone left behind: one ring full at most.
  template <class Take, class Settle>
  void hear_out(std::uint32_t lane_number, Take& take, Settle& settle) {
    LocalPeer* const peer = peers_.find(lane_number);
    if (peer == nullptr) return;
    for (const std::uint64_t end = peer->in.position() + Ring::kBytes;
         !peer->in.empty() && peer->in.position() < end;) {
      read(*peer, kBatch, take);
      settle();
    }
  }

  // Who exports the payload that take() is called with. Without an exporter: the sender was told that we do not fetch.
  [[nodiscard]] const RingExport& exported_by() const { return export_; }
  // Fetches from the first one's exporter, as many as are its. How many of them, from the first, were all there.
  [[nodiscard]] static std::size_t fetch(std::span<const nic::OneCopyPiece> pieces);

 private:
  static constexpr std::uint32_t kBatch = 64;  // records of one ring, before the next ring is looked at

  // Apart, like what comes by sockets: whoever waits for one should not have the code of the other in between.
  template <class Take, class Settle>
  [[gnu::noinline]] void hear(LocalPeer& peer, Take& take, Settle& settle) {
    // An acknowledgement follows the message that answered ours: carrying that out, there is time for it to come.
    for (const bool again : {true, false}) {
      bool looks = false;
      peer.measure([&] {
        read(peer, kBatch, take);
        looks = again && !peer.in.streams();
        if (looks) peer.in.ask_for_next();
        settle();
      });
      if (!looks || peer.in.empty()) break;
    }
    peer.in.done();
  }
  // At most so many records.
  template <class Take>
  void read(LocalPeer& peer, std::uint32_t most, Take& take) {
    peer.in.read(most, [&](const wire::Flow& flow, std::span<const std::byte> datagram, DatagramTraits how) {
      if (how.one_copy) [[unlikely]] {
        export_.exporter = peer.takes_one_copy() ? &peer : nullptr;
        export_.position = peer.in.position();
      } else if (how.packets > 1 && one_copy_ != OneCopy::off) {
        peer.came_by_ring(datagram.size(), one_copy_);
      }
      take(flow, datagram, how);
    });
  }

  LocalPeers& peers_;
  OneCopy one_copy_ = OneCopy::off;
  RingExport export_{};
};

inline std::size_t RingInput::fetch(std::span<const nic::OneCopyPiece> pieces) {
  const auto export_of = [](const nic::OneCopyPiece& piece) -> const RingExport& {
    return static_cast<const RingExport&>(piece.from.exported_by());
  };
  LocalPeer& exporter = *export_of(pieces.front()).exporter;
  PeerReads reads;
  for (const nic::OneCopyPiece& piece : pieces) {
    if (export_of(piece).exporter != &exporter || !reads.add(piece.to, piece.from.address(), piece.from.size())) break;
  }
  return exporter.fetch(reads, export_of(pieces.front()).position);
}

}  // namespace weft::real

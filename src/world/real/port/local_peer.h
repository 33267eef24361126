// Another lane on this host that this one has met.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <sys/eventfd.h>

#include "base/time.h"
#include "world/real/os/descriptor.h"
#include "world/real/os/mapping.h"
#include "world/real/settings/settings.h"
#include "world/real/shm/ring.h"

namespace weft::real {

// What a packet takes of a socket's buffer, about.
constexpr std::int64_t udp_cost(std::size_t bytes) { return static_cast<std::int64_t>(bytes + bytes / 8) + 256; }
// What is sent or taken is told to the other side when it is so much: each word costs both a cache line.
constexpr std::int64_t udp_account(std::int64_t room) { return std::min<std::int64_t>(room / 64, 64 * 1024); }

class LocalPeer {
 public:
  LocalPeer(std::uint8_t mine, std::uint8_t lane_number, Mapping<Channel> channel, Mapping<SharedStatus> shared_status,
            Descriptor wake)
      : lane_number_(lane_number),
        channel_(std::move(channel)),
        shared_status_(std::move(shared_status)),
        wake_(std::move(wake)),
        out(channel_->rings[mine <= lane_number ? 0 : 1]),
        in(channel_->rings[mine < lane_number ? 1 : 0]) {}

 private:
  static constexpr std::uint64_t kTurn = 64 * 1024;
  static constexpr Time kSoon = microseconds(10);

  std::uint8_t lane_number_;
  Mapping<Channel> channel_;
  Mapping<SharedStatus> shared_status_;
  Descriptor wake_;
  std::int64_t unannounced_ = 0;  // what was sent to its sockets, and it has not been told
  std::int64_t credit_ = 0;       // what may be sent before we look at its account again
  std::int64_t account_ = 0;
  Time last_sent_ = 0;
  bool shown_ = false;  // and nobody has looked yet whether it sleeps
  PeerMemory peer_memory_;
  bool one_copy_tried_ = false, takes_one_copy_ = false;
  CopyChoice choice_;

  void try_one_copy(OneCopy wanted) {
    peer_memory_ = PeerMemory(in.sender());
    takes_one_copy_ = peer_memory_.is_there();
    if (takes_one_copy_ && wanted == OneCopy::measured) choice_.begin();
    in.allow_one_copy(takes_one_copy_ && wanted == OneCopy::on);
  }

 public:
  RingWriter out;
  RingReader in;
  bool ring = true;   // packets to it go through the ring; else over UDP, counted so that its sockets do not overflow
  bool numb = false;  // has taken nothing for long
  bool used = false;  // since the last publish()

  [[nodiscard]] std::uint8_t lane_number() const { return lane_number_; }
  [[nodiscard]] SharedStatus& shared_status() const { return *shared_status_; }
  [[nodiscard]] bool takes_bursts() const { return shared_status_->takes_bursts.load(std::memory_order_relaxed) != 0; }

  // -- exported payloads (peer_memory.h)
  // When the first burst has come: its sender's memory may be readable, and then payloads may stay there.
  void came_by_ring(std::uint64_t bytes, OneCopy wanted) {
    if (!std::exchange(one_copy_tried_, true)) [[unlikely]]
      try_one_copy(wanted);
    choice_.came(CopyChoice::Way::ring, bytes);
  }
  [[nodiscard]] bool takes_one_copy() const { return takes_one_copy_; }
  // How many of them, from the first. The others have been revoked, or cannot be read. In that case nothing more shall
  // stay there: what is sent again comes through the ring. `position` is that of the first one's record: if it is not
  // void, those behind it are not.
  [[nodiscard]] std::size_t fetch(const PeerReads& reads, std::uint64_t position) {
    const std::size_t got = peer_memory_.read(reads);
    if (in.is_void(position)) return 0;
    choice_.came(CopyChoice::Way::one_copy, reads.bytes());
    if (got < reads.size()) {
      takes_one_copy_ = false;
      choice_.end();
      in.allow_one_copy(false);
    }
    return got;
  }
  // Carries out what has come, and measures how long that takes while somebody wants to know.
  template <class CarryOut>
  void measure(CarryOut&& carry_out) {
    if (!choice_.measures()) [[likely]]
      return carry_out();
    const std::uint64_t begin = processor_ticks();
    carry_out();
    if (choice_.took(processor_ticks() - begin, in.write_cost())) {
      in.allow_one_copy(choice_.wanted() == CopyChoice::Way::one_copy);
    }
  }

  // Room for what one turn of the scheduler may send.
  [[nodiscard]] bool has_room() {
    const bool room = ring ? out.room() >= kTurn : has_udp_room();
    if (room) numb = false;
    return room;
  }
  [[nodiscard]] bool has_udp_room() {
    if (credit_ > 0) return true;
    const std::int64_t waiting = shared_status_->udp_sent.load(std::memory_order_relaxed) -
                                 shared_status_->udp_taken.load(std::memory_order_relaxed) + unannounced_;
    const std::int64_t room = shared_status_->udp_room.load(std::memory_order_relaxed);
    account_ = udp_account(room);
    credit_ = std::min(room / 4 - waiting, account_);
    return credit_ > 0;
  }
  void count_sent(std::size_t bytes) {
    unannounced_ += udp_cost(bytes);
    credit_ -= udp_cost(bytes);
  }

  // Before datagrams leave. One after a pause is always announced: the receiver looks at its sockets for that. Little
  // that follows soon is not: it still looks, and so much more than it has promised fits into its sockets.
  void announce(Time now) {
    const bool soon = now - last_sent_ < kSoon;
    if (unannounced_ == 0) return;
    last_sent_ = now;
    if (soon && unannounced_ < account_) return;
    shared_status_->udp_sent.fetch_add(unannounced_, std::memory_order_relaxed);
    unannounced_ = 0;
  }
  // What was written becomes visible.
  void show() { shown_ |= ring && out.publish(); }
  // And a sleeper is woken.
  void publish() {
    show();
    if (!std::exchange(shown_, false)) return;
    std::atomic_thread_fence(
        std::memory_order_seq_cst);  // against the sleeper's: it sees the record, or we see it asleep
    if (shared_status_->asleep.load(std::memory_order_relaxed) != 0 && shared_status_->asleep.exchange(0) != 0) {
      (void)eventfd_write(wake_.get(), 1);
    }
  }
};

}  // namespace weft::real

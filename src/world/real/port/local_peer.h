// Another lane on this host that this one has met.
#pragma once

#include <cstdint>
#include <utility>

#include <sys/eventfd.h>

#include "world/real/os/descriptor.h"
#include "world/real/os/mapping.h"
#include "world/real/os/preemption.h"
#include "world/real/os/time.h"
#include "world/real/port/flow_account.h"
#include "world/real/settings/settings.h"
#include "world/real/shm/ring.h"

namespace weft::real {

class LocalPeer {
 public:
  LocalPeer(std::uint8_t mine, std::uint8_t lane_number, Mapping<Channel> channel, Mapping<SharedStatus> shared_status,
            Descriptor wake)
      : lane_number_(lane_number),
        channel_(std::move(channel)),
        shared_status_(std::move(shared_status)),
        wake_(std::move(wake)),
        credit_(*shared_status_),
        out(channel_->rings[mine <= lane_number ? 0 : 1]),
        in(channel_->rings[mine < lane_number ? 1 : 0]) {}

 private:
  static constexpr std::uint64_t kTurn = 64 * 1024;

  std::uint8_t lane_number_;
  Mapping<Channel> channel_;
  Mapping<SharedStatus> shared_status_;
  Descriptor wake_;
  FlowCredit credit_;   // of its sockets
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
    const bool room = ring ? out.room() >= kTurn : credit_.has_room();
    if (room) numb = false;
    return room;
  }
  // A packet of so many bytes goes to its sockets.
  void count_sent(std::size_t bytes) { credit_.count_sent(bytes); }
  // Before datagrams leave.
  void announce(Time now) { credit_.announce(now); }
  // What was written becomes visible.
  void show() { shown_ |= ring && out.publish(); }
  // And a sleeper is woken.
  void publish() {
    show();
    if (!std::exchange(shown_, false)) return;
    std::atomic_thread_fence(
        std::memory_order_seq_cst);  // against the sleeper's: it sees the record, or we see it asleep
    may_be_preempted();
    if (shared_status_->asleep.load(std::memory_order_relaxed) != 0 && shared_status_->asleep.exchange(0) != 0) {
      (void)eventfd_write(wake_.get(), 1);
    }
  }
};

}  // namespace weft::real

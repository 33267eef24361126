// The software half of selective repeat: it keeps the bitmaps, in host memory and only while there is loss, and decides
// what is sent again. The card's loss events come in, control messages go out (nic/control.h); the world carries both.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/flat_map.h"
#include "host/recovery/receiver_record.h"
#include "host/recovery/record_pool.h"
#include "host/recovery/sender_record.h"
#include "nic/card_state.h"

namespace weft::host {

class Retransmission {
 public:
  explicit Retransmission(nic::CardState& card);

  // What the card is told goes to answer(const nic::ControlMessage&).
  template <class Answer>
  void on_event(const nic::LossEvent& e, Answer&& answer) {
    answers_.clear();
    handle(e);
    for (const nic::ControlMessage& m : answers_) answer(m);
  }

  // The queue pair is no more, or starts anew.
  void forget(std::uint32_t slot);

  // Streams in recovery, and the memory held for them.
  [[nodiscard]] std::size_t records() const { return receivers_.size() + senders_.size(); }
  [[nodiscard]] std::size_t bytes() const;

 private:
  using Key = std::uint64_t;  // slot and stream
  static Key key_of(std::uint32_t slot, nic::Stream stream) {
    return Key{slot} << 2 | static_cast<std::uint8_t>(stream);
  }

  void handle(const nic::LossEvent& e);
  void on_arrived(const nic::LossEvent& e);
  void on_outbound(const nic::LossEvent& e);
  void retry_lost(const nic::LossEvent& e, SenderRecord& record);
  std::optional<std::uint16_t> retry(const nic::LossEvent& e, wire::Psn psn, std::uint16_t count);  // its entry
  [[nodiscard]] std::uint32_t reordering_room(const nic::LossEvent& e) const;
  void leave(const nic::LossEvent& e);
  [[nodiscard]] nic::ControlMessage message(const nic::LossEvent& e, nic::ControlMessage::Kind kind) const;
  [[nodiscard]] wire::Sequence locate(const nic::LossEvent& e, wire::Psn psn) const;
  [[nodiscard]] std::optional<std::uint16_t> ring_of(const nic::LossEvent& e);
  void give_back_ring(std::uint32_t slot);

  nic::CardState& card_;
  RecordPool<ReceiverRecord> receivers_;
  RecordPool<SenderRecord> senders_;
  FlatMap<std::uint32_t, std::uint16_t> rings_;  // of queue pairs that have something to send again
  std::vector<std::uint16_t> free_rings_;
  std::vector<nic::ControlMessage> answers_;
};

// The control queue that carries loss events from the card to the software: bounded, and what does not fit is lost.
class LossQueue {
 public:
  void push(const nic::LossEvent& e) {
    if (tail_ - head_ == kEntries) {
      ++lost_;
      return;
    }
    events_[tail_++ % kEntries] = e;
  }
  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] nic::LossEvent pop() { return events_[head_++ % kEntries]; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  static constexpr std::uint32_t kEntries = 1024;
  std::vector<nic::LossEvent> events_ = std::vector<nic::LossEvent>(kEntries);
  std::uint32_t head_ = 0, tail_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace weft::host

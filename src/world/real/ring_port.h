// The two ends of a ring in shared memory. A record is a flow and a RoCEv2 datagram, usually with its ICRC left blank:
// memory does not corrupt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "nic/world.h"
#include "wire/codec.h"
#include "world/real/shared_page.h"

namespace weft::real {

struct RecordHead {
  std::uint32_t bytes = 0;     // of the datagram; kSkip: go on at the start of the ring
  std::uint32_t has_icrc = 0;  // a sender that damages packets on purpose says so: they are to be found out
  wire::Flow flow{};

  static constexpr std::uint32_t kSkip = ~0U;
};
static_assert(sizeof(RecordHead) == 48);

constexpr std::uint64_t record_bytes(std::uint64_t datagram) { return (sizeof(RecordHead) + datagram + 15) & ~15ULL; }
inline constexpr std::uint64_t kMaxRecord = record_bytes(4096 + wire::kMaxHeaderBytes + 3 + wire::kIcrcBytes);

class RingWriter {
 public:
  explicit RingWriter(Ring& ring)
      : ring_(&ring),
        at_(ring.written.load(std::memory_order_relaxed)),
        taken_(ring.taken.load(std::memory_order_acquire)) {}

  [[nodiscard]] std::uint64_t room() {
    taken_ = ring_->taken.load(std::memory_order_acquire);
    const std::uint64_t used = at_ - taken_;
    return used <= Ring::kBytes ? Ring::kBytes - used : 0;
  }

  // False: no room, the packet is lost. Others see it after publish().
  bool write(const wire::Flow& flow, const nic::OutPacket& p) {
    const std::uint8_t pad = p.headers.bth.pad;
    const std::uint64_t bytes =
        wire::info(p.headers.bth.opcode).header_bytes + p.payload_bytes + pad + wire::kIcrcBytes;
    std::byte* at = start(flow, bytes, false);
    if (at == nullptr) return false;
    at += wire::encode_headers(p.headers, std::span<std::byte, wire::kMaxHeaderBytes>(at, wire::kMaxHeaderBytes));
    for (const nic::Fragment& piece : p.payload) {
      std::memcpy(at, piece.data, piece.bytes);
      at += piece.bytes;
    }
    std::memset(at, 0, pad);
    return true;
  }
  bool write(const wire::Flow& flow, std::span<const std::byte> datagram) {
    std::byte* at = start(flow, datagram.size(), true);
    if (at != nullptr) std::memcpy(at, datagram.data(), datagram.size());
    return at != nullptr;
  }
  void publish() { ring_->written.store(at_, std::memory_order_release); }

 private:
  std::byte* start(const wire::Flow& flow, std::uint64_t bytes, bool has_icrc) {
    const std::uint64_t need = record_bytes(bytes), offset = at_ % Ring::kBytes;
    // Headers are encoded with room for the longest: the record's end may be written before its payload is.
    const std::uint64_t span = need + wire::kMaxHeaderBytes;
    const std::uint64_t skip = offset + span > Ring::kBytes ? Ring::kBytes - offset : 0;
    if (Ring::kBytes - (at_ - taken_) < skip + span && room() < skip + span) return nullptr;
    if (skip > 0) {
      std::memcpy(ring_->data + offset, &RecordHead::kSkip, sizeof RecordHead::kSkip);
      at_ += skip;
    }
    std::byte* record = ring_->data + at_ % Ring::kBytes;
    const RecordHead head{static_cast<std::uint32_t>(bytes), has_icrc ? 1U : 0U, flow};
    std::memcpy(record, &head, sizeof head);
    at_ += need;
    return record + sizeof head;
  }

  Ring* ring_;
  std::uint64_t at_, taken_;
};

class RingReader {
 public:
  explicit RingReader(Ring& ring) : ring_(&ring), at_(ring.taken.load(std::memory_order_relaxed)) {}

  [[nodiscard]] bool empty() const { return ring_->written.load(std::memory_order_acquire) == at_; }

  // Calls take(flow, datagram, has_icrc) for at most `budget` records. What they were read from is the sender's again
  // only after done(). Nothing a sender writes can make this read outside of the ring.
  template <class Take>
  std::uint32_t read(std::uint32_t budget, Take&& take) {
    const std::uint64_t written = ring_->written.load(std::memory_order_acquire);
    if (written - at_ > Ring::kBytes) at_ = written;  // nonsense: as if all of it were lost
    std::uint32_t count = 0;
    while (at_ != written && count < budget) {
      const std::uint64_t offset = at_ % Ring::kBytes;
      RecordHead head;
      std::memcpy(&head.bytes, ring_->data + offset, sizeof head.bytes);
      if (head.bytes == RecordHead::kSkip) {
        at_ += Ring::kBytes - offset;
        continue;
      }
      const std::uint64_t need = record_bytes(head.bytes);
      if (head.bytes > kMaxRecord || offset + need > Ring::kBytes || need > written - at_) {
        at_ = written;
        break;
      }
      std::memcpy(&head.has_icrc, ring_->data + offset + offsetof(RecordHead, has_icrc),
                  sizeof head - offsetof(RecordHead, has_icrc));
      take(head.flow, std::span<const std::byte>(ring_->data + offset + sizeof head, head.bytes), head.has_icrc != 0);
      at_ += need;
      ++count;
    }
    return count;
  }
  void done() { ring_->taken.store(at_, std::memory_order_release); }

 private:
  Ring* ring_;
  std::uint64_t at_;
};

}  // namespace weft::real

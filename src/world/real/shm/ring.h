// The two ends of a ring in shared memory. A record is a RoCEv2 datagram, usually with its ICRC left blank: memory does
// not corrupt. What takes time is every cache line that goes from one processor to the other. So records say themselves
// that they are there, and the receiver waits for the line that it will read first; and the flow of a record is left
// out if it is that of the record before.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "base/prefetch.h"
#include "nic/world.h"
#include "wire/datagram.h"
#include "wire/star.h"
#include "world/real/os/lane_clock.h"
#include "world/real/shm/copy_choice.h"
#include "world/real/shm/peer_memory.h"
#include "world/real/shm/shared_page.h"

namespace weft::real {

struct RecordHead {
  std::uint32_t next = 0;  // bytes from here to the next head; 0: nothing yet; kSkip: go on at the start of the ring
  std::uint32_t rest = 0;  // what() and the parts of it

  // One word, made in registers: a processor that reads a word of which it has just written a part waits until
  // everything that it wrote before has left it, and what was written before is a packet.
  static constexpr std::uint32_t what(std::uint64_t bytes, std::uint32_t flags, std::uint32_t packets = 1) {
    return static_cast<std::uint32_t>(bytes) | flags << 16 | packets << 24;
  }
  [[nodiscard]] constexpr std::uint32_t bytes() const { return rest & 0xFFFF; }  // of the datagram
  [[nodiscard]] constexpr std::uint32_t packets() const { return rest >> 24; }   // more: a burst (wire/packet.h)
  [[nodiscard]] constexpr bool has(std::uint32_t flag) const { return (rest >> 16 & flag) != 0; }

  static constexpr std::uint32_t kSkip = ~0U;
  // Flags. A sender that damages packets on purpose says so: they are to be found out.
  static constexpr std::uint32_t kHasIcrc = 1;
  static constexpr std::uint32_t kHasFlow = 2;  // it follows the head
  static constexpr std::uint32_t kLast = 4;     // of those that were published together
  static constexpr std::uint32_t kOneCopy = 8;  // a ExportNote is where the payload would be
};
static_assert(sizeof(RecordHead) == 8);

// What a record holds instead of a payload that stays in its sender's memory.
struct ExportNote {
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
  std::uint32_t packets = 0;
};
static_assert(sizeof(ExportNote) == 16);

// How a datagram came. Small: it is handed on with every packet.
struct DatagramTraits {
  bool has_icrc = true;       // to be checked
  bool one_copy = false;      // its payload is a ExportNote
  std::uint32_t packets = 1;  // as its sender says
};
static_assert(sizeof(DatagramTraits) == 8);

constexpr std::uint64_t record_bytes(std::uint64_t datagram, bool has_flow) {
  return (sizeof(RecordHead) + (has_flow ? sizeof(wire::Flow) : 0) + datagram + 7) & ~7ULL;
}
inline constexpr std::uint64_t kLine = 64;              // bytes of a cache line
inline constexpr std::uint64_t kAskedFor = 10 * kLine;  // what a writer asks for ahead
inline constexpr std::uint64_t kSmall = 4 * kLine;      // records of so much, published together, are handed over
// What one end does before the other hears of it, in bytes: they are to copy at the same time, not in turn.
inline constexpr std::uint64_t kShare = 32 * 1024;
inline constexpr std::uint32_t kLongestBurst = 32 * 1024;  // bytes; of 256 each it is 128 packets
// Exported bursts: what the kernel takes to find pages is spread over more bytes. Below kOneCopyFrom two copies are
// quicker. They also are for messages that do not fit twice into one processor's cache: two processors have two.
inline constexpr std::uint32_t kLongestOneCopy = 128 * 1024, kOneCopyFrom = 40 * 1024, kOneCopyMessage = 512 * 1024;
inline constexpr std::uint32_t kOneCopyShare = nic::kOneCopyPieces;  // that a receiver fetches before it says so
inline constexpr std::uint64_t kMaxDatagram = kLongestBurst + wire::kMaxHeaderBytes + 3 + wire::kIcrcBytes;
static_assert(kMaxDatagram < 1U << 16 && kLongestBurst / 256 < 1U << 8);

// Where the presence of a record is told. Heads lie at multiples of eight.
inline std::atomic_ref<std::uint32_t> next_of(std::byte* head) {
  return std::atomic_ref<std::uint32_t>(*static_cast<std::uint32_t*>(static_cast<void*>(head)));
}

class RingWriter {
 public:
  explicit RingWriter(Ring& ring) : ring_(&ring), taken_(ring.taken.load(std::memory_order_acquire)) {}

  [[nodiscard]] std::uint64_t room() {
    taken_ = ring_->taken.load(std::memory_order_acquire);
    const std::uint64_t used = at_ - taken_;
    return used <= Ring::kBytes ? Ring::kBytes - used : 0;
  }

  // False: no room, the packet is lost. Others see it after publish().
  bool write(const wire::Flow& flow, const nic::OutPacket& p) {
    if (p.one_copy) [[unlikely]]
      return write_exported(flow, p);
    if (p.packets > 1 && ++bursts_ % kTimed == 0) [[unlikely]]
      return write_timed(flow, p);
    return write_near(flow, p);
  }
  bool write(const wire::Flow& flow, std::span<const std::byte> datagram) {
    std::byte* at = start(flow, datagram.size(), RecordHead::kHasIcrc);
    if (at != nullptr) std::memcpy(at, datagram.data(), datagram.size());
    return at != nullptr;
  }

  // -- exported payloads
  // The receiver may try whether it can read our memory.
  void export_memory(const PeerMemory::Token& token) {
    ring_->token_address.store(token.address, std::memory_order_relaxed);
    ring_->token.store(token.value, std::memory_order_relaxed);
    ring_->process.store(token.process, std::memory_order_release);
    exports_memory_ = true;
  }
  [[nodiscard]] bool may_export() const {
    return exports_memory_ && ring_->takes_one_copy.load(std::memory_order_relaxed) != 0;
  }

  // Something that has not been fetched, as far as we know.
  [[nodiscard]] bool has_exported() const {
    return exported_end_ != 0 && ring_->fetched.load(std::memory_order_acquire) < exported_end_;
  }

  // What lies in [from, to) is the program's again when this returns: nothing of it that is fetched later counts.
  // As with a seqlock: we write the word, then the program writes its memory; the reader copies that memory, then reads
  // the word (RingReader::is_void). If it has copied anything that the program wrote later, it sees the word. Of all
  // records up to here, because a word is enough for that: those that are not meant are sent again.
  void revoke(std::uint64_t from, std::uint64_t to) {
    if (!has_exported()) {
      forget_exported();
    } else if (from < exported_to_ && to > exported_from_) {
      ring_->void_before.store(at_, std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      forget_exported();
    }
  }

  // Bytes that have been written and cannot be seen yet.
  [[nodiscard]] std::uint64_t unpublished() const { return at_ - published_; }

  // All records since the last time are seen from now on. What follows them begins with a cache line of its own: it is
  // written while these are read. False: there are none.
  bool publish() {
    if (published_ == at_) return false;
    const std::uint64_t aligned = (at_ + kLine - 1) / kLine * kLine;
    newest_.next += static_cast<std::uint32_t>(aligned - at_);
    newest_.rest |= RecordHead::what(0, RecordHead::kLast, 0);
    at_ = aligned;
    finish_newest();
    next_of(address_of(at_)).store(0, std::memory_order_relaxed);
    next_of(address_of(published_)).store(first_next_, std::memory_order_release);
    const std::uint64_t begin = std::exchange(published_, at_);
    // A small one is waited for.
    if (at_ - begin <= kSmall) {
      for (std::uint64_t line = begin; line < at_; line += kLine) hand_over(address_of(line));
    }
    // Where the next small record goes on, and the one after it begins; its first line is the reader's, who waits.
    prefetch_to_write(address_of(at_ + kLine));
    prefetch_to_write(address_of(at_ + 2 * kLine));
    return true;
  }

 private:
  [[nodiscard]] std::byte* address_of(std::uint64_t position) const { return ring_->data + position % Ring::kBytes; }

  // What follows is probably as long. Its lines are with the reader, who has read them: asked for now, they have come
  // when they are written. As many as a processor asks for at once.
  void ask_for_as_much() const {
    const std::uint64_t end = std::min(at_ + (at_ - newest_at_), at_ + kAskedFor);
    for (std::uint64_t line = at_; line < end; line += kLine) prefetch_to_write(address_of(line));
  }

  bool write_near(const wire::Flow& flow, const nic::OutPacket& p) {
    const std::uint8_t pad = p.headers.bth.pad;
    const std::uint64_t bytes = wire::header_bytes(p.headers) + p.payload_bytes + pad + wire::kIcrcBytes;
    std::byte* at = start(flow, bytes, 0, p.packets);
    if (at == nullptr) return false;
    wire::encode_datagram(p.headers, p.payload, at);
    if (!p.last) ask_for_as_much();
    return true;
  }
  // Tells the receiver what long payloads cost here, smoothed.
  [[gnu::noinline]] bool write_timed(const wire::Flow& flow, const nic::OutPacket& p) {
    const std::uint64_t begin = processor_ticks();
    if (!write_near(flow, p)) return false;
    const std::int64_t cost = copy_cost(processor_ticks() - begin, p.payload_bytes);
    const std::int64_t before = ring_->write_cost.load(std::memory_order_relaxed);
    const std::int64_t now = before == 0 ? cost : before + (std::min(cost, 4 * before) - before) / 8;
    ring_->write_cost.store(static_cast<std::uint32_t>(now), std::memory_order_relaxed);
    return true;
  }
  bool write_exported(const wire::Flow& flow, const nic::OutPacket& p) {
    wire::Headers headers = p.headers;
    headers.bth.pad = 0;
    const ExportNote note{.address = std::bit_cast<std::uint64_t>(p.payload.front().data),
                          .bytes = p.payload_bytes,
                          .packets = p.packets};
    const std::uint64_t bytes = wire::info(headers.bth.opcode).header_bytes + sizeof note + wire::kIcrcBytes;
    std::byte* at = start(flow, bytes, RecordHead::kOneCopy);
    if (at == nullptr) return false;
    const nic::Fragment piece{static_cast<const std::byte*>(static_cast<const void*>(&note)), sizeof note};
    wire::encode_datagram(headers, std::span(&piece, 1), at);
    if (!has_exported()) forget_exported();
    exported_from_ = std::min(exported_from_, note.address);
    exported_to_ = std::max(exported_to_, note.address + note.bytes);
    exported_end_ = at_;
    return true;
  }
  void forget_exported() {
    exported_from_ = ~std::uint64_t{0};
    exported_to_ = exported_end_ = 0;
  }

  // Writes the head of the newest record, last of all: the headers of the one before may have spilled over its place.
  // The first since publish() does not say yet that it is there.
  void finish_newest() {
    std::memcpy(address_of(newest_at_) + offsetof(RecordHead, rest), &newest_.rest, sizeof newest_.rest);
    if (newest_at_ == published_) {
      first_next_ = newest_.next;
    } else {
      next_of(address_of(newest_at_)).store(newest_.next, std::memory_order_relaxed);
    }
  }

  std::byte* start(const wire::Flow& flow, std::uint64_t bytes, std::uint32_t flags, std::uint32_t packets = 1) {
    const bool has_flow = at_ == 0 || flow != flow_;
    const std::uint64_t need = record_bytes(bytes, has_flow), offset = at_ % Ring::kBytes;
    // Behind a record there must be room for the next head, a line further at most. Headers are encoded with room for
    // the longest: the record's end may be written before its payload is.
    const std::uint64_t span = need + kLine + wire::kMaxHeaderBytes;
    const std::uint64_t skip = offset + span > Ring::kBytes ? Ring::kBytes - offset : 0;
    if (Ring::kBytes - (at_ - taken_) < skip + span && room() < skip + span) return nullptr;
    if (published_ != at_) finish_newest();
    if (skip > 0) begin(skip, {.next = RecordHead::kSkip});
    if (skip > 0) finish_newest();
    if (has_flow) flags |= RecordHead::kHasFlow;
    begin(need, {.next = static_cast<std::uint32_t>(need), .rest = RecordHead::what(bytes, flags, packets)});
    std::byte* record = address_of(newest_at_) + sizeof(RecordHead);
    if (!has_flow) return record;
    flow_ = flow;
    std::memcpy(record, &flow, sizeof flow);
    return record + sizeof flow;
  }
  void begin(std::uint64_t bytes, RecordHead head) {
    newest_at_ = at_;
    newest_ = head;
    at_ += bytes;
  }

  static constexpr std::uint32_t kTimed = 8;  // one burst of so many

  Ring* ring_;
  std::uint64_t taken_;
  std::uint32_t bursts_ = 0;
  std::uint64_t at_ = 0, published_ = 0;  // where the next record begins; what others can see
  std::uint64_t newest_at_ = 0;
  RecordHead newest_{};
  std::uint32_t first_next_ = 0;  // what the first record since publish() will say
  wire::Flow flow_{};             // of the last record
  bool exports_memory_ = false;
  // Where the exported payloads lie that may not have been fetched, and where the last of their records ends.
  std::uint64_t exported_from_ = ~std::uint64_t{0}, exported_to_ = 0, exported_end_ = 0;
};

class RingReader {
 public:
  explicit RingReader(Ring& ring) : ring_(&ring) {}

  // If it is not, the rest of what may be a small record is on its way from the sender's processor, and so is what
  // may follow it.
  [[nodiscard]] bool empty() const {
    const std::uint32_t next = next_of(here()).load(std::memory_order_acquire);
    if (next == 0 || broken_) return true;
    prefetch(here() + kLine);  // inside of the channel, or just behind it: it is only asked for
    prefetch(ring_->data + (at_ + next) % Ring::kBytes);
    return false;
  }

  // The next record is fetched into the cache, if there is one by now.
  void ask_for_next() const { prefetch(here()); }
  // Did much come at once?
  [[nodiscard]] bool streams() const { return streams_ || fetches_; }

  // Calls take(flow, datagram, how) for at most `budget` records, and hardly more bytes than kShare. What they were
  // read from is the sender's again some time after done(). Nothing that a sender writes can make this read outside of
  // the ring.
  template <class Take>
  std::uint32_t read(std::uint32_t budget, Take&& take) {
    std::uint32_t count = 0, one_copy = 0;
    const std::uint64_t enough = at_ + kShare;
    while (count < budget && at_ < enough && one_copy < kOneCopyShare) {
      const std::uint64_t offset = at_ % Ring::kBytes;
      const std::uint32_t next = next_of(here()).load(std::memory_order_acquire);
      if (next == 0) break;
      if (next == RecordHead::kSkip) {
        at_ += Ring::kBytes - offset;
        ++count;
        continue;
      }
      RecordHead head;
      std::memcpy(&head, here(), sizeof head);
      const bool has_flow = head.has(RecordHead::kHasFlow), is_exported = head.has(RecordHead::kOneCopy);
      const bool possible = next % sizeof head == 0 && record_bytes(head.bytes(), has_flow) <= next &&
                            offset + next < Ring::kBytes && head.bytes() <= kMaxDatagram;
      if (!possible) {
        broken_ = true;
        break;
      }
      // Records of a stream are alike: the one after next lies where it would if they were. Where one message answers
      // another that line is the sender's, who has asked for it to write the next: taken away, it makes that one late.
      if (streams_ || is_exported || next > kSmall)
        prefetch(ring_->data + (at_ + 2 * std::uint64_t{next}) % Ring::kBytes);
      const std::byte* record = here() + sizeof head;
      if (has_flow) {
        std::memcpy(&flow_, record, sizeof flow_);
        record += sizeof flow_;
        // Such a record is for nobody, and neither are those that follow with the same flow: the card refuses them.
        if (wire::is_mixed(flow_) || !wire::is_known(flow_.to)) [[unlikely]]
          flow_ = {};
      }
      take(flow_, std::span<const std::byte>(record, head.bytes()),
           DatagramTraits{
               .has_icrc = head.has(RecordHead::kHasIcrc), .one_copy = is_exported, .packets = head.packets()});
      one_copy += is_exported ? 1 : 0;
      at_ += next;
      ++count;
      // Where the next one will be, the sender may be writing: that line would be long in coming. A stream has it here,
      // and beside an exported payload it is nothing.
      if (head.has(RecordHead::kLast) && !streams_ && !is_exported) break;
    }
    streams_ = count > 1;
    fetches_ |= one_copy > 0;
    return count;
  }
  // The sender is told when it is worth a cache line.
  void done() {
    if (fetches_) [[unlikely]] {
      fetches_ = false;
      ring_->fetched.store(at_, std::memory_order_release);
    }
    if (at_ - told_ < kShare) return;
    told_ = at_;
    ring_->taken.store(at_, std::memory_order_release);
  }

  // -- exported payloads
  [[nodiscard]] PeerMemory::Token sender() const {
    const std::int32_t process = ring_->process.load(std::memory_order_acquire);
    return {.process = process,
            .address = ring_->token_address.load(std::memory_order_relaxed),
            .value = ring_->token.load(std::memory_order_relaxed)};
  }
  [[nodiscard]] std::uint32_t write_cost() const { return ring_->write_cost.load(std::memory_order_relaxed); }
  void allow_one_copy(bool on) { ring_->takes_one_copy.store(on ? 1 : 0, std::memory_order_relaxed); }
  // The position of the record that take() is called with.
  [[nodiscard]] std::uint64_t position() const { return at_; }
  // To be asked after a payload has been copied: was it still to be had?
  [[nodiscard]] bool is_void(std::uint64_t position) const {
    std::atomic_thread_fence(std::memory_order_acquire);
    return position < ring_->void_before.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] std::byte* here() const { return ring_->data + at_ % Ring::kBytes; }

  Ring* ring_;
  std::uint64_t at_ = 0, told_ = 0;
  wire::Flow flow_{};     // of the last record
  bool streams_ = false;  // there were several the last time
  bool fetches_ = false;  // exported payloads were among those since done()
  bool broken_ = false;   // the sender wrote nonsense: it is not heard any more
};

}  // namespace weft::real

#include <arpa/inet.h>
#include <fcntl.h>
#include <unistd.h>

#include "pattern.h"
#include "session.h"

namespace soak {
namespace {

constexpr std::uint64_t kFullCheckEvery = 16;  // batches: then all memory that may be written is looked at

}  // namespace

void Answerer::on_hello(const Hello& hello) {
  seed_ = hello.seed;
  const std::uint32_t receives = 2 + static_cast<std::uint32_t>(seed_ % 15);  // few: senders meet RNR
  open_link(receives);
  if (self_.sabotage == Sabotage::leak) (void)::open("/dev/null", O_RDONLY | O_CLOEXEC);
  fill(link_->memory(kFrom, kFromBytes), background_of(seed_), kFrom);
  fill(link_->memory(kInto, kIntoBytes), first_read_seed(seed_), kInto);
  link_->connect(hello.address);
  for (std::uint64_t slot = 0; slot < receives; ++slot) link_->receive(slot);
  say_hello(seed_);
}

void Answerer::on_completion(const ibv_wc& wc) {
  if (wc.opcode == IBV_WC_SEND) {
    replying_ = false;
    reply();
    return;
  }
  if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
    if (ntohl(wc.imm_data) != static_cast<std::uint32_t>(sequence_++))
      wrong("sequence of immediate data", sequence_, 0);
  } else {
    on_message(wc.wr_id, wc.byte_len);
  }
  link_->receive(wc.wr_id);
}

void Answerer::on_message(std::uint64_t slot, std::uint32_t bytes) {
  const std::span<std::byte> message = link_->memory(kSlots + slot * kSlotBytes, bytes);
  Header header;
  if (bytes < sizeof header) wrong("a SEND shorter than any that is sent", 0, bytes);
  std::memcpy(&header, message.data(), sizeof header);
  if (header.bytes != bytes) wrong("length of a SEND", header.bytes, bytes);
  if (header.sequence != sequence_++) wrong("sequence of a SEND", header.sequence, bytes);
  if (header.kind == MessageKind::note) {
    Note note;
    if (bytes != sizeof note) wrong("length of a note", sizeof note, bytes);
    std::memcpy(&note, message.data(), sizeof note);
    on_note(note);
  } else if (header.kind != MessageKind::data) {
    wrong("header of a SEND", 0, bytes);
  } else if (const auto at = first_wrong(message.subspan(sizeof header), header.seed, sizeof header)) {
    wrong("a SEND", *at + sizeof header, bytes);
  } else {
    self_.totals.bytes += bytes;
  }
}

void Answerer::check_written(const Note& note) {
  const std::uint64_t background = background_of(seed_);
  if (note.writes > kMaxOps) wrong("a note", 0, note.writes);
  for (const Written& w : std::span(note.written).first(note.writes)) {
    if (const auto at = first_wrong(link_->memory(w.offset, w.bytes), w.seed, w.offset)) {
      wrong("a WRITE", *at, w.bytes);
    }
    fill(link_->memory(w.offset, w.bytes), background, w.offset);
    self_.totals.bytes += w.bytes;
  }
  // With what was written gone, everything is as it was; most of the time a look around the writes must do.
  if (note.writes == 0 || ++notes_ % kFullCheckEvery == 0) {
    if (const auto at = first_wrong(link_->memory(kFrom, kFromBytes), background, kFrom)) {
      wrong("memory that nobody wrote to", *at, kFromBytes);
    }
    return;
  }
  for (const Written& w : std::span(note.written).first(note.writes)) {
    const std::size_t from = w.offset - std::min<std::size_t>(w.offset, kGap);
    const std::size_t to = std::min(w.offset + w.bytes + kGap, kFromBytes);
    if (const auto at = first_wrong(link_->memory(from, to - from), background, from)) {
      wrong("memory beside a WRITE", from + *at, w.bytes);
    }
  }
}

void Answerer::on_note(const Note& note) {
  check_written(note);
  fill(link_->memory(kInto, kIntoBytes), note.next_read_seed, kInto);
  ++self_.totals.batches;
  owed_ = note;
  reply();
}

// One at a time: the outbox is the card's until the last one has completed.
void Answerer::reply() {
  if (replying_ || !owed_) return;
  fill(link_->memory(kOutbox, owed_->reply_bytes), owed_->reply_seed, kOutbox);
  link_->send({.opcode = IBV_WR_SEND, .from = kOutbox, .bytes = owed_->reply_bytes});
  replying_ = true;
  owed_.reset();
}

}  // namespace soak

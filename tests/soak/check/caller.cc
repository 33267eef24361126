#include <sys/socket.h>
#include <unistd.h>

#include "pattern.h"
#include "session.h"

namespace soak {
namespace {

constexpr std::uint32_t kReplySlots = 2;
constexpr std::uint32_t kMostWrite = 18, kMostSend = 15, kMostRead = 16;  // bits of a length
constexpr std::uint64_t kSabotagedBatch = 20;

}  // namespace

Caller::Caller(Self& self, int socket, std::uint64_t seed) : Session(self, socket), seed_(seed), random_(seed) {}

void Caller::on_connected() {
  int failed = 0;
  socklen_t size = sizeof failed;
  getsockopt(socket(), SOL_SOCKET, SO_ERROR, &failed, &size);
  connecting_ = false;
  if (failed != 0) return drop();
  open_link(kReplySlots);
  say_hello(seed_);
}

void Caller::on_hello(const Hello& hello) {
  read_seed_ = first_read_seed(seed_);
  link_->connect(hello.address);
  for (std::uint64_t slot = 0; slot < kReplySlots; ++slot) link_->receive(slot);
  begin_batch();
}

void Caller::finish() {
  finishing_ = true;
  if (posted_ == 0) end(nullptr);
}

void Caller::post(Request request, bool must_signal) {
  request.id = ++posted_;
  request.signaled = must_signal || draw(3) != 0;
  if (request.signaled) ++signaled_;
  request.pieces = 1 + static_cast<std::uint32_t>(draw(kPieces));
  const bool sends = request.opcode == IBV_WR_SEND || request.opcode == IBV_WR_RDMA_WRITE ||
                     request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  request.inlined = sends && request.bytes <= kInlineBytes && draw(2) == 0;
  if (request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) request.pieces = 1;
  batch_bytes_ += request.bytes;
  link_->send(request);
}

// Each add_ is false when there is no room left for it. `room`: how far its memory is used.
bool Caller::add_write(std::size_t& room) {
  const std::size_t from = room + kGap + draw(16);
  const std::uint32_t bytes = draw_bytes(kMostWrite);
  if (from + bytes + kGap > kFromBytes) return false;
  const std::uint64_t pattern = random_();
  fill(link_->memory(kFrom + from, bytes), pattern, kFrom + from);
  note_.written[note_.writes++] = {static_cast<std::uint32_t>(from), bytes, pattern};
  if (self_.sabotage == Sabotage::damage && batches_ >= kSabotagedBatch && bytes > 0) {
    link_->memory(kFrom + from + bytes - 1, 1)[0] ^= std::byte{1};
  }
  const bool immediate = draw(4) == 0;
  post({.opcode = immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
        .from = kFrom + from,
        .bytes = bytes,
        .to = kFrom + from,
        .immediate = static_cast<std::uint32_t>(sequence_)},
       false);
  if (immediate) ++sequence_;
  room = from + bytes;
  return true;
}

bool Caller::add_send(std::size_t& room) {
  Header header{.kind = MessageKind::data,
                .bytes = static_cast<std::uint32_t>(sizeof(Header)) + draw_bytes(kMostSend),
                .sequence = sequence_,
                .seed = random_()};
  if (room + header.bytes > kFromBytes) return false;
  const std::span<std::byte> message = link_->memory(kFrom + room, header.bytes);
  std::memcpy(message.data(), &header, sizeof header);
  fill(message.subspan(sizeof header), header.seed, sizeof header);
  post({.opcode = IBV_WR_SEND, .from = kFrom + room, .bytes = header.bytes}, false);
  ++sequence_;
  room += header.bytes;
  return true;
}

bool Caller::add_read(std::size_t& room) {
  const std::uint32_t bytes = draw_bytes(kMostRead);
  if (room + bytes > kIntoBytes) return false;
  const std::size_t from = draw(kIntoBytes - bytes);
  expected_.push_back({kInto + room, kInto + from, bytes, false});
  post({.opcode = IBV_WR_RDMA_READ, .from = kInto + room, .bytes = bytes, .to = kInto + from}, true);
  room += bytes;
  return true;
}

// Exactly once: what a counter was before is known, as nobody else has it.
bool Caller::add_atomic() {
  const std::size_t place = draw(kCounters), word = kWords + 8 * next_word_++;
  std::uint64_t& value = counters_[place];
  Request request{.from = word, .bytes = 8, .to = kWords + 8 * place};
  expected_.push_back({word, value, 8, true});
  if (draw(2) == 0) {
    request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    request.compare_add = random_();
    value += request.compare_add;
  } else {
    const bool matches = draw(3) != 0;
    request.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
    request.compare_add = matches ? value : ~value;
    request.swap = random_();
    if (matches) value = request.swap;
  }
  post(request, true);
  return true;
}

void Caller::begin_batch() {
  if (finishing_) return end(nullptr);
  if (self_.sabotage == Sabotage::hang && batches_ >= kSabotagedBatch) {
    for (;;) pause();
  }
  replied_ = noted_ = false;
  batch_bytes_ = next_word_ = 0;
  expected_.clear();
  note_ = {};
  std::size_t room = 0, into = 0;
  for (std::uint64_t n = 1 + draw(kMaxOps - 1); n > 0; --n) {
    const std::uint64_t kind = draw(8);
    const bool fits = kind < 3 ? add_write(room) : kind < 5 ? add_send(room) : kind < 7 ? add_read(into) : add_atomic();
    if (!fits) break;
  }
  // What is read changes when the note is read. WRITEs and SENDs before a note are there before it, waited for or not.
  late_note_ = !expected_.empty() || draw(2) == 0;
  if (!late_note_ || signaled_ == completed_) post_note();
}

void Caller::post_note() {
  noted_ = true;
  note_.header = {MessageKind::note, sizeof note_, sequence_++, 0};
  note_.next_read_seed = random_();
  note_.reply_seed = random_();
  note_.reply_bytes = draw_bytes(kMostSend);
  std::memcpy(link_->memory(kOutbox, sizeof note_).data(), &note_, sizeof note_);
  post({.opcode = IBV_WR_SEND, .from = kOutbox, .bytes = sizeof note_}, true);
}

void Caller::check_results() {
  for (const Expected& e : expected_) {
    if (e.atomic) {
      std::uint64_t found = 0;
      std::memcpy(&found, link_->memory(e.from, 8).data(), sizeof found);
      if (found != e.at) wrong("an atomic", found, e.at);
    } else if (const auto at = first_wrong(link_->memory(e.from, e.bytes), read_seed_, e.at)) {
      wrong("a READ", *at, e.bytes);
    }
  }
}

void Caller::check_reply(const ibv_wc& wc) {
  if (wc.byte_len != note_.reply_bytes) wrong("length of a reply", note_.reply_bytes, wc.byte_len);
  const std::span<std::byte> found = link_->memory(kSlots + wc.wr_id * kSlotBytes, wc.byte_len);
  if (const auto at = first_wrong(found, note_.reply_seed, kOutbox)) wrong("a reply", *at, wc.byte_len);
  if (replied_ || !noted_) wrong("a reply that nobody asked for", 0, wc.byte_len);
  replied_ = true;
  batch_bytes_ += wc.byte_len;
  link_->receive(wc.wr_id);
}

void Caller::on_completion(const ibv_wc& wc) {
  if (wc.opcode == IBV_WC_RECV) {
    check_reply(wc);
  } else {
    if (wc.wr_id <= last_id_ || wc.wr_id > posted_) wrong("order of completions", wc.wr_id, last_id_);
    last_id_ = wc.wr_id;
    ++completed_;
  }
  advance();
}

void Caller::advance() {
  if (signaled_ != completed_) return;
  if (!noted_) {
    check_results();
    post_note();
  } else if (replied_) {
    check_results();
    read_seed_ = note_.next_read_seed;
    ++batches_;
    ++self_.totals.batches;
    self_.totals.bytes += batch_bytes_;
    begin_batch();
  }
}

}  // namespace soak

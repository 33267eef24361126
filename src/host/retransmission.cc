#include "host/retransmission.h"

#include "host/posted_work.h"
#include "nic/srnic/streams.h"

namespace weft::host {

using nic::ControlMessage;
using nic::LossEvent;
using nic::Stream;

Retransmission::Retransmission(nic::CardState& card) : card_(card) {
  const auto rings = static_cast<std::uint32_t>(card.retries.size());
  free_rings_.reserve(rings);
  for (std::uint32_t i = rings; i > 0; --i) free_rings_.push_back(static_cast<std::uint16_t>(i - 1));
}

void Retransmission::handle(const LossEvent& e) {
  const nic::Context& c = card_.contexts[e.slot];
  if (c.qpn != e.qpn || e.kind == LossEvent::Kind::gone || c.dialect != nic::Dialect::srnic) return forget(e.slot);
  switch (e.kind) {
    case LossEvent::Kind::arrived: return on_arrived(e);
    case LossEvent::Kind::exited: return receivers_.give_back(key_of(e.slot, e.stream));
    default: return on_outbound(e);
  }
}

// ---- what comes in ---------------------------------------------------------------------------------------

void Retransmission::on_arrived(const LossEvent& e) {
  ReceiverRecord& record = receivers_.get(key_of(e.slot, e.stream), e.base);
  if (const auto expected = record.arrived(e.psn, e.base)) {
    ControlMessage m = message(e, ControlMessage::Kind::advance);
    m.psn = *expected;
    answers_.push_back(m);
  }
  record.each_new_gap([&](const ReceiverRecord::Gap& gap) {
    if (card_.config.requester_bitmaps) return;
    ControlMessage m = message(e, ControlMessage::Kind::missing);
    m.psn = gap.psn;
    m.count = gap.count;
    answers_.push_back(m);
  });
}

// ---- what goes out ---------------------------------------------------------------------------------------

void Retransmission::on_outbound(const LossEvent& e) {
  SenderRecord& record = senders_.get(key_of(e.slot, e.stream), e.base, nic::srnic_window(card_.config));
  record.note_sent(e.retried, e.next);  // first: what arrives may be what was sent again just now
  record.acked(e.base);
  switch (e.kind) {
    case LossEvent::Kind::sacked: record.sacked(e.psn, e.run); break;
    case LossEvent::Kind::missing:
      if (const auto entry = retry(e, e.psn, e.run)) record.note_asked(e.psn, e.run, *entry, e.next);
      break;
    case LossEvent::Kind::refused:
      record.forget_resending();
      record.assume_lost(e.next);
      break;
    case LossEvent::Kind::silence: record.forget_resending(); break;
    case LossEvent::Kind::probed:
      e.silences > 1 ? record.doubt_everything() : record.doubt_oldest();
      if (e.run > 0) record.sacked(e.run_end.minus(1), e.run);
      record.assume_lost(e.psn);
      break;
    default: break;
  }
  if (card_.config.requester_bitmaps || e.kind == LossEvent::Kind::refused || e.kind == LossEvent::Kind::probed) {
    record.each_lost(e.next, reordering_room(e),
                     [&](wire::Psn psn, std::uint16_t count) { return retry(e, psn, count); });
  }
  if (record.over()) leave(e);
}

std::uint32_t Retransmission::reordering_room(const LossEvent& e) const {
  const nic::Context& c = card_.contexts[e.slot];
  return c.peer_slot == nic::kNoPeer ? nic::ReorderingRoom{}.packets() : card_.peers[c.peer_slot].reordering.packets();
}

void Retransmission::leave(const LossEvent& e) {
  senders_.give_back(key_of(e.slot, e.stream));
  const Stream other = e.stream == Stream::requests_out ? Stream::responses_out : Stream::requests_out;
  if (!senders_.contains(key_of(e.slot, other))) give_back_ring(e.slot);
  ControlMessage m = message(e, ControlMessage::Kind::leave);
  m.count = e.told;
  answers_.push_back(m);
}

std::optional<std::uint16_t> Retransmission::retry(const LossEvent& e, wire::Psn psn, std::uint16_t count) {
  const auto ring = ring_of(e);
  if (!ring || card_.retries[*ring].full()) return std::nullopt;
  nic::RetryEntry entry{.psn = psn, .count = count, .stream = e.stream, .refused = e.kind == LossEvent::Kind::refused};
  if (e.stream == Stream::requests_out) entry.at = locate(e, psn);
  const bool idle = card_.retries[*ring].empty();
  const auto number = static_cast<std::uint16_t>(card_.retries[*ring].posted);
  card_.retries[*ring].post(entry);
  if (!idle && !answers_.empty() && answers_.back().kind == ControlMessage::Kind::retry) return number;
  ControlMessage m = message(e, ControlMessage::Kind::retry);
  m.ring = *ring;
  answers_.push_back(m);
  return number;
}

// From the place that the peer has echoed, back to the packet that is missing: message by message, as far as the work
// entries say how long each is.
wire::Sequence Retransmission::locate(const LossEvent& e, wire::Psn psn) const {
  const nic::Context& c = card_.contexts[e.slot];
  const bool anchored = e.kind == LossEvent::Kind::sacked && psn.ahead_of(e.psn) <= 0;
  const auto packets_at = [&](std::uint32_t entry) { return nic::request_packets(posted_work(c, entry), c.mtu_shift); };
  const auto from_oldest = [&] {
    const nic::WorkPosition at =
        nic::locate_request(c, psn, [&](std::uint32_t entry) -> const nic::Work& { return posted_work(c, entry); });
    return wire::Sequence(at.entry, 0, at.offset);
  };
  if (!anchored) return from_oldest();
  std::uint32_t back = e.psn.since(psn), offset = e.anchor.offset();
  std::uint32_t entry = wire::Sequence::unfold(e.anchor.msn(), c.sq_done);
  while (back > offset) {
    // An entry that is not under way: the echo does not fit what was sent.
    if (entry == c.sq_done || entry - c.sq_done > c.sq_next - c.sq_done) return from_oldest();
    back -= offset + 1;
    --entry;
    std::uint32_t packets = packets_at(entry);
    while (packets == 0 && entry != c.sq_done) packets = packets_at(--entry);
    offset = packets - 1;
  }
  return wire::Sequence(entry, 0, offset - back);
}

ControlMessage Retransmission::message(const LossEvent& e, ControlMessage::Kind kind) const {
  return {.slot = e.slot, .qpn = e.qpn, .stream = e.stream, .kind = kind};
}

// ---- retry queues ----------------------------------------------------------------------------------------

std::optional<std::uint16_t> Retransmission::ring_of(const LossEvent& e) {
  if (const std::uint16_t* have = rings_.find(e.slot)) return *have;
  if (free_rings_.empty()) return std::nullopt;
  const std::uint16_t ring = free_rings_.back();
  free_rings_.pop_back();
  rings_.add(e.slot, ring);
  card_.retries.make(ring).owner = e.qpn;
  return ring;
}

void Retransmission::give_back_ring(std::uint32_t slot) {
  const std::uint16_t ring = rings_.take(slot, nic::RetryRing::kNoRing);
  if (ring == nic::RetryRing::kNoRing) return;
  card_.retries.erase(ring);
  free_rings_.push_back(ring);
}

void Retransmission::forget(std::uint32_t slot) {
  for (const Stream in : {Stream::requests_in, Stream::responses_in}) receivers_.give_back(key_of(slot, in));
  for (const Stream out : {Stream::requests_out, Stream::responses_out}) senders_.give_back(key_of(slot, out));
  give_back_ring(slot);
}

std::size_t Retransmission::bytes() const {
  return rings_.size() * sizeof(nic::RetryRing) + receivers_.bytes() + senders_.bytes();
}

}  // namespace weft::host

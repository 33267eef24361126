#include "victim.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <type_traits>

#include "frames.h"
#include "wire/frame.h"

template class weft::nic::Card<weft::trust::RecordingWorld>;

namespace weft::trust {

using host::QpMask;
using nic::QpState;

// ---- the world ------------------------------------------------------------------------------------------------

void RecordingWorld::emit(const nic::OutPacket& packet) {
  Crafted& copy = sent.emplace_back(Crafted{packet.flow, packet.headers, {}});
  for (const nic::Fragment& piece : packet.payload) {
    copy.payload.insert(copy.payload.end(), piece.data, piece.data + piece.bytes);
  }
  assert(copy.payload.size() == packet.payload_bytes);
}

void RecordingWorld::complete(std::uint32_t cq, const nic::Completion&) { nic::reveal(device_.card(), *this, now, cq); }

void RecordingWorld::notify(const nic::HostEvent& event) {
  events.push_back(event);
  device_.on_event(event);
}

void RecordingWorld::dma_write(std::byte* to, std::span<const std::byte> data) {
  std::memcpy(to, data.data(), data.size());
}

std::size_t RecordingWorld::fetch(std::span<const nic::OneCopyPiece> pieces) {
  ++fetches;
  return fetcher != nullptr ? fetcher(pieces) : 0;
}

// ---- the peer -------------------------------------------------------------------------------------------------

Crafted Connection::answer(wire::Opcode opcode, wire::Psn psn) const {
  Crafted p;
  p.flow.source = peer;
  p.flow.destination = ours;
  p.headers.bth.opcode = opcode;
  p.headers.bth.destination = qpn();
  p.headers.bth.psn = psn;
  p.headers.aeth.syndrome = wire::Syndrome::ack().encode();
  p.headers.deth = {qkey, peer_qpn};
  return p;
}

Crafted Connection::request(wire::Opcode opcode) const { return answer(opcode, next).ack_request(); }

Crafted Connection::next_request(wire::Opcode opcode, std::uint32_t psns) {
  Crafted p = request(opcode);
  next = next.plus(psns);
  return p;
}

std::vector<Crafted> Connection::next_message(const nic::MessageOpcodes& opcodes, std::uint32_t bytes, unsigned seed) {
  const auto payload = pattern(bytes, seed);
  std::vector<Crafted> packets;
  for (std::uint32_t at = 0; at == 0 || at < bytes; at += mtu) {
    const std::uint32_t part = std::min(mtu, bytes - at);
    packets.push_back(next_request(opcodes.at(at == 0, at + part == bytes)));
    packets.back().payload.assign(payload.begin() + at, payload.begin() + at + part);
    packets.back().headers.bth.ack_request = at + part == bytes;
  }
  return packets;
}

std::vector<Crafted> Connection::next_write(const Area& area, std::uint32_t bytes, unsigned seed) {
  const bool rc = service == wire::Service::rc;
  auto packets =
      next_message(rc ? nic::rc_opcodes(nic::WorkKind::write) : nic::uc_opcodes(nic::WorkKind::write), bytes, seed);
  packets[0].headers.reth = {area.address, area.key, bytes};
  return packets;
}

std::vector<Crafted> Connection::next_send(std::uint32_t bytes, unsigned seed) {
  const bool rc = service == wire::Service::rc;
  return next_message(rc ? nic::rc_opcodes(nic::WorkKind::send) : nic::uc_opcodes(nic::WorkKind::send), bytes, seed);
}

Crafted Connection::ack(wire::Psn psn, wire::Syndrome syndrome) const {
  return answer(wire::Opcode::rc_ack, psn).saying(syndrome);
}

// ---- what is there --------------------------------------------------------------------------------------------

host::DeviceConfig Victim::config() {
  host::DeviceConfig c;
  c.card.max_qps = 16;
  c.card.max_cqs = 8;
  c.card.max_srqs = 4;
  c.card.region_slot_bits = 6;
  c.card.reorder_notes = 128;  // a fuzzer makes a card for each input: what takes time to make is small
  c.card.retry_rings = 16;
  c.gids = {kOurAddress, kOurSecondAddress, kOurSixAddress};
  c.mtu = 1024;
  return c;
}

Victim::Victim(std::uint64_t seed, std::size_t memory_bytes)
    : numbers_(seed),
      device_(config(), numbers_),
      world_(device_),
      card_(device_.card(), world_),
      domain_(*device_.create_domain()),
      other_domain_(*device_.create_domain()),
      cq_(*device_.create_cq(kCqEntries)),
      memory_(memory_bytes, std::byte{0xA5}),
      guarded_(memory_bytes, 1),
      contexts_before_(device_.card().contexts.size()) {
  memory_before_ = memory_;
  (void)collect();
}

Area Victim::allocate(std::size_t bytes, nic::Rights rights) {
  return allocate_at(0x1'0000'0000 + allocated_, bytes, rights, domain_);
}

Area Victim::allocate_at(std::uint64_t address, std::size_t bytes, nic::Rights rights, host::Domain domain,
                         std::size_t shift) {
  Area area;
  area.offset = allocated_ + kGuardBytes + shift;
  allocated_ = (area.offset + bytes + kGuardBytes + 63) / 64 * 64;
  assert(allocated_ <= memory_.size());
  area.bytes = std::span(memory_).subspan(area.offset, bytes);
  area.address = includes(rights, nic::Rights::zero_based) ? 0 : address;
  area.key = *device_.register_region(domain, {area.bytes.data(), bytes, address, rights});
  fill_with_pattern(area.bytes.data(), bytes, static_cast<unsigned>(area.offset));
  std::memcpy(memory_before_.data() + area.offset, area.bytes.data(), bytes);
  std::fill_n(guarded_.begin() + static_cast<std::ptrdiff_t>(area.offset), bytes, char{0});
  (void)collect();
  return area;
}

Connection Victim::connect(const ConnectOptions& options) {
  host::CompletionQueue* cq = options.cq != nullptr ? options.cq : cq_;
  host::QpAttributes a = options.attributes;
  Connection c;
  c.service = options.service;
  host::QpOptions made;
  made.service = options.service;
  made.send_cq = made.receive_cq = cq;
  made.srq = options.srq;
  made.limits = options.limits;
  c.qp = *device_.create_qp(options.domain, made);
  device_.card().contexts[c.qp->slot()].dialect = options.dialect;
  a.peer_qpn = wire::Qpn(a.peer_qpn.raw() + next_peer_++);
  c.ours = device_.config().gids[a.gid_index];
  c.peer = a.peer;
  c.peer_qpn = a.peer_qpn;
  c.next = a.receive_psn;
  c.qkey = a.qkey;
  c.mtu = a.mtu;
  constexpr QpState kWay[] = {QpState::init, QpState::rtr, QpState::rts, QpState::sqd};
  for (const QpState to : kWay) {
    if (options.until == QpState::reset || c.state() == options.until) break;
    a.state = options.until == QpState::error ? QpState::error : to;
    if (c.state() == QpState::reset) a.state = QpState::init;
    const auto& table = options.service == wire::Service::rc   ? host::kRcTransitions
                        : options.service == wire::Service::uc ? host::kUcTransitions
                                                               : host::kUdTransitions;
    const auto& step = table[static_cast<std::size_t>(c.state())][static_cast<std::size_t>(a.state)];
    const host::Error e = c.qp->modify(a, QpMask::state | step.required);
    assert(e == host::Error::none);
    (void)e;
  }
  drive();
  const bool srnic = options.dialect == nic::Dialect::srnic;
  if (options.greeted && !srnic) {
    const Crafted greeting = c.request(wire::Opcode::cnp);
    hear(greeting.packet());
    drive();
  }
  if (options.greeted && srnic) device_.card().contexts[c.qp->slot()].established = true;
  (void)collect();
  return c;
}

// ---- inputs ---------------------------------------------------------------------------------------------------

void Victim::hear(const wire::Packet& packet) { card_.on_packet(world_.now, packet); }

void Victim::hear_frame(std::span<const std::byte> frame) {
  wire::Packet packet;
  const Refusal refusal = wire::parse_frame(frame, packet);
  refusal == Refusal::none ? hear(packet) : card_.on_refused(refusal);
}

Effects Victim::receive(const Crafted& packet) {
  hear(packet.packet());
  return settle();
}

Effects Victim::receive_burst(const Crafted& packet, std::uint32_t packets, std::size_t one_copy_bytes) {
  const wire::Export exported_by;
  wire::Packet burst = packet.packet();
  burst.packets = packets;
  burst.payload = wire::Payload::exported(exported_by, 0xDEAD'0000, one_copy_bytes);
  hear(burst);
  return settle();
}

Effects Victim::receive_all(std::span<const Crafted> packets) {
  std::vector<wire::Packet> batch;
  for (const Crafted& p : packets) batch.push_back(p.packet());
  return receive_packets(batch);
}

Effects Victim::receive_packets(std::span<const wire::Packet> packets) {
  card_.on_packets(world_.now, packets);
  return settle();
}

Effects Victim::receive_frame(std::span<const std::byte> frame) {
  hear_frame(frame);
  return settle();
}

Effects Victim::receive_datagram(std::span<const std::byte> udp_payload, const wire::Flow& flow) {
  return receive_frame(frame_around(udp_payload, flow));
}

Effects Victim::post(Connection& c, const host::WorkRequest& request) {
  const host::Error e = c.qp->post_send(request);
  assert(e == host::Error::none);
  (void)e;
  return settle();
}

Effects Victim::post_receive(Connection& c, const nic::Sge& sge, std::uint64_t id) {
  const host::Error e = c.qp->post_receive({.id = id, .sges = {&sge, 1}});
  assert(e == host::Error::none);
  (void)e;
  return settle();
}

Effects Victim::modify(Connection& c, const host::QpAttributes& attributes, std::uint32_t mask) {
  const host::Error e = c.qp->modify(attributes, mask);
  assert(e == host::Error::none);
  (void)e;
  return settle();
}

void Victim::destroy(const Connection& c) {
  (void)device_.destroy(c.qp);
  (void)settle();
}

Effects Victim::wait(Time duration) {
  const Time until = world_.now + duration;
  while (card_.next_deadline() <= until) {
    world_.now = std::max(world_.now, card_.next_deadline());
    card_.on_time(world_.now);
    drive();
  }
  world_.now = until;
  return collect();
}

Effects Victim::settle() {
  drive();
  return collect();
}

Effects Victim::take_turns(std::uint32_t turns) {
  card_.transmit(world_.now, turns);
  return collect();
}

void Victim::drive() {
  device_.take_doorbells([&](std::uint32_t slot) { card_.on_doorbell(world_.now, slot); });
  const auto answer = [&](const nic::ControlMessage& m) { card_.on_control(world_.now, m); };
  device_.take_losses(answer);
  while (!held_ && card_.has_work()) {
    card_.transmit(world_.now, 1);
    device_.take_losses(answer);
  }
}

// ---- what has happened ----------------------------------------------------------------------------------------

namespace {

// Are these the same bytes? There are so many words of eight.
WEFT_NOT_SANITIZED bool same(const void* one, const void* other, std::size_t bytes) {
  std::uint64_t difference = 0;
  for (std::size_t at = 0; at < bytes; at += sizeof difference) {
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, static_cast<const std::byte*>(one) + at, sizeof a);
    std::memcpy(&b, static_cast<const std::byte*>(other) + at, sizeof b);
    difference |= a ^ b;
  }
  return difference == 0;
}

// The first word of eight bytes, of those between, that differs; `end`: none.
WEFT_NOT_SANITIZED std::size_t first_difference(const void* one, const void* other, std::size_t from, std::size_t end) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  for (; from < end; ++from) {
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, static_cast<const std::byte*>(one) + from * kWord, kWord);
    std::memcpy(&b, static_cast<const std::byte*>(other) + from * kWord, kWord);
    if (a != b) break;
  }
  return from;
}

}  // namespace

Effects Victim::collect() {
  Effects out;
  if (being_set_up_) return out;
  out.sent = std::exchange(world_.sent, {});
  out.events = std::exchange(world_.events, {});
  while (device_.next_async_event()) {
  }
  nic::Completion done;
  while (cq_->poll({&done, 1}) == 1) out.completions.push_back(done);
  collect_refusals(out);
  collect_contexts(out);
  collect_memory(out);
  return out;
}

WEFT_NOT_TRACED void Victim::collect_refusals(Effects& out) {
  static_assert(std::is_trivially_copyable_v<nic::Counters>);
  const nic::Counters& counters = device_.card().counters;
  if (same(&counters, &counters_before_, sizeof counters)) return;
  constexpr auto kCounts = static_cast<std::size_t>(nic::Counter::count_);
  constexpr auto kAll = kCounts + static_cast<std::size_t>(Refusal::count_);  // refusals stand behind the counts
  static_assert(sizeof counters == kAll * sizeof(std::uint64_t));
  for (std::size_t i = kCounts; (i = first_difference(&counters, &counters_before_, i, kAll)) != kAll; ++i) {
    const auto refusal = static_cast<Refusal>(i - kCounts);
    out.refusals.emplace_back(refusal, counters.get(refusal) - counters_before_.get(refusal));
  }
  counters_before_ = counters;
}

WEFT_NOT_TRACED void Victim::collect_contexts(Effects& out) {
  nic::ContextTable& contexts = device_.card().contexts;
  for (std::uint32_t slot = 0; slot < contexts.size(); ++slot) {
    if (same(&contexts[slot], contexts_before_[slot].data(), sizeof(nic::Context))) continue;
    ContextBytes bytes;
    std::memcpy(bytes.data(), &contexts[slot], bytes.size());
    // Where the timers keep it is their business: others' timers move it.
    std::memcpy(bytes.data() + offsetof(nic::Context, timer),
                contexts_before_[slot].data() + offsetof(nic::Context, timer), sizeof(nic::Context::timer));
    if (same(bytes.data(), contexts_before_[slot].data(), bytes.size())) continue;
    contexts_before_[slot] = bytes;
    out.touched.push_back(contexts[slot].qpn);
  }
}

// Most of it is as it was: large stretches are compared at once, and only the bytes of small ones one by one.
WEFT_NOT_TRACED void Victim::collect_memory(Effects& out) {
  constexpr std::size_t kLarge = 1024, kSmall = 64;
  const std::size_t end = std::min((allocated_ / kLarge + 4) * kLarge, memory_.size());
  const auto unchanged = [&](std::size_t at, std::size_t bytes) {
    return same(memory_.data() + at, memory_before_.data() + at, bytes);
  };
  if (unchanged(0, end)) return;
  for (std::size_t large = 0; large < end; large += kLarge) {
    if (unchanged(large, kLarge)) continue;
    for (std::size_t small = large; small < large + kLarge; small += kSmall) {
      if (unchanged(small, kSmall)) continue;
      for (std::size_t i = small; i < small + kSmall; ++i) {
        if (memory_[i] != memory_before_[i]) note_written(i, out);
      }
      std::memcpy(memory_before_.data() + small, memory_.data() + small, kSmall);
    }
  }
}

WEFT_NOT_TRACED void Victim::note_written(std::size_t at, Effects& out) const {
  if (guarded_[at] != 0) out.guards_broken = true;
  const bool adjoins = !out.written.empty() && out.written.back().offset + out.written.back().bytes == at;
  if (!adjoins) out.written.push_back({at, 0});
  ++out.written.back().bytes;
}

}  // namespace weft::trust

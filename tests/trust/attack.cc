#include "attack.h"

#include <algorithm>

#include "host/posted_work.h"
#include "nic/scatter_gather.h"
#include "nic/srnic/streams.h"
#include "wire/frame.h"

namespace weft::trust {

using nic::QpState;
using nic::Rights;
using nic::WorkKind;
using wire::Opcode;
using wire::Psn;
using wire::Service;
using wire::Verb;

namespace {

constexpr std::size_t kSrnic = 1;  // the life that always speaks srnic

// The furthest ever sent is next in srnic, where nothing is rewound.
std::uint32_t under_way(const nic::Context& c) {
  const Psn sent = c.dialect == nic::Dialect::srnic ? c.next_psn : c.sent_psn;
  return sent.since(c.unacked_psn);
}

}  // namespace

Attack::Attack(Choices& choices) : choices_(choices), victim_(1, kMemoryBytes) {
  victim_.begin_set_up();
  for (Area& a : areas_) a = victim_.allocate(2048 + choices_.next(2048));
  untouchable_[0] = victim_.allocate_at(0x7'0000'0000, 1024, kAllRights, victim_.other_domain());
  untouchable_[1] = victim_.allocate(1024, Rights::remote_read);
  for (int type = 1; type <= 2; ++type) windows_.push_back(*victim_.device().create_window(victim_.domain(), type));
  srq_ = *victim_.device().create_srq(victim_.domain(), 16, 2);
  bystander_ = victim_.connect();
  for (std::size_t i = 0; i < kLives; ++i) new_life(i);
  victim_.end_set_up();
}

void Attack::new_life(std::size_t i) {
  constexpr Service kServices[kLives] = {Service::rc, Service::rc, Service::rc, Service::uc, Service::uc, Service::ud};
  Life& l = lives_[i];
  if (l.c.qp != nullptr) victim_.destroy(l.c);
  ConnectOptions o{.service = kServices[i]};
  if (i == kSharing) o.srq = srq_;
  if (i == kSrnic || (i == kSharing && choices_.one_in(2))) o.dialect = nic::Dialect::srnic;
  o.attributes.receive_psn =
      choices_.one_in(4) ? Psn(0xFF'FFF0) : Psn(static_cast<std::uint32_t>(choices_.next(1 << 24)));
  o.attributes.send_psn = choices_.one_in(4) ? Psn(0xFF'FFF8) : Psn(static_cast<std::uint32_t>(choices_.next(1 << 24)));
  o.attributes.max_peer_reads = static_cast<std::uint8_t>(choices_.next(4));
  o.attributes.retry_count = static_cast<std::uint8_t>(choices_.next(8));
  o.attributes.rnr_retry = static_cast<std::uint8_t>(choices_.next(8));
  if (choices_.one_in(8)) o.attributes.rights = Rights::remote_read;
  const Life last = l;
  l = Life{.c = victim_.connect(o)};
  if (i == kSharing) {
    l.receives = last.receives;
    l.receives_done = last.receives_done;
  }
  post_receives(l, choices_.next(16));
  (void)victim_.settle();
}

void Attack::step() {
  if (!choices_.one_in(4)) return packet();
  switch (choices_.next(8)) {
    case 0:
    case 1: return work();
    case 2:
    case 3:
    case 4: return receive();
    case 5: return check(victim_.wait(static_cast<Time>(choices_.next(1U << 31))), nullptr);
    case 6: return change();
    default: break;
  }
  for (std::size_t i = 0; i < kLives; ++i) {
    if (lives_[i].c.state() == QpState::error || choices_.one_in(16)) new_life(i);
  }
}

// ---- what can happen --------------------------------------------------------------------------------------------

void Attack::packet() {
  const std::size_t chosen = choices_.next(kLives);
  if (lives_[chosen].c.state() == QpState::error && !choices_.one_in(8)) new_life(chosen);
  Life& l = lives_[chosen];
  const bool srnic = l.c.qp->context().dialect == nic::Dialect::srnic;
  const bool asked = under_way(l.c.qp->context()) > 0;
  const bool answers = l.c.service == Service::rc && choices_.one_in(asked ? 2 : 16);
  Bytes frame =
      frame_of(srnic ? (answers ? srnic_response(l.c) : srnic_request(l.c)) : (answers ? response(l.c) : request(l.c)));
  if (choices_.one_in(2)) damage(frame);
  if (!choices_.one_in(64)) seal(frame);
  wire::Packet parsed;
  const bool heard = wire::parse_frame(frame, parsed) == Refusal::none;
  const Life* addressed = nullptr;
  for (const Life& other : lives_) {
    if (heard && other.c.qpn() == parsed.headers.bth.destination) addressed = &other;
  }
  ++packets_;
  const std::uint32_t again = addressed != nullptr ? under_way(addressed->c.qp->context()) : 0;
  const Effects got = victim_.receive_frame(frame);
  // An ACK may cost all that is under way, once.
  require(got.sent.size() <= (srnic ? 3U * victim_.device().card().config.window_packets : 96U + again),
          "one packet caused a flood");
  require(addressed != nullptr || got.touched.empty(), "a packet for nobody changed a queue pair");
  check(got, addressed);
}

void Attack::work() {
  Life& l = life();
  const nic::Sge sges[] = {sge(), sge(), sge()};
  host::WorkRequest r{.id = l.sends, .sges = std::span(sges).first(choices_.next(4))};
  r.kind = static_cast<WorkKind>(choices_.next(10));
  r.fence = choices_.one_in(4);
  r.remote_address = area().address;
  r.remote_key = r.invalidate = key();
  r.to.destination = kPeerAddress;
  nic::Sge eight = sge();
  eight.length = 8;
  if (nic::is_atomic(r.kind)) r.sges = {&eight, 1};
  const wire::Key window = windows_[choices_.next(windows_.size())];
  const Area& below = area();
  r.binding = {window, below.key, below.address, choices_.next(2) * 512, Rights::remote_write | Rights::remote_read,
               window};
  for (std::uint64_t times = 1 + choices_.next(4); times > 0; --times, r.id = l.sends) {
    if (l.c.qp->post_send(r) == host::Error::none) ++l.sends;
  }
  check(victim_.settle(), &l);
}

void Attack::receive() {
  Life& l = life();
  post_receives(l, choices_.next(8));
  check(victim_.settle(), &l);
}

void Attack::post_receives(Life& l, std::uint64_t count) {
  const nic::Sge sges[] = {choices_.one_in(4) ? sge() : area().sge(), sge()};
  for (; count > 0; --count) {
    const host::ReceiveRequest r{.id = l.receives, .sges = std::span(sges).first(1 + choices_.next(2))};
    const bool shared = &l == &lives_[kSharing];
    if ((shared ? srq_->post(r) : l.c.qp->post_receive(r)) == host::Error::none) ++l.receives;
  }
}

// A region goes and another comes, or a queue pair is told to change its state.
void Attack::change() {
  if (choices_.one_in(2)) {
    Area& a = areas_[choices_.next(areas_.size())];
    if (victim_.device().deregister_region(a.key) == host::Error::none) {
      const host::RegionOptions again{a.bytes.data(), a.bytes.size(), a.address, kAllRights};
      a.key = *victim_.device().register_region(victim_.domain(), again);
    }
    return check(victim_.settle(), nullptr);
  }
  Life& l = life();
  host::QpAttributes a;
  a.state = choices_.one_in(8) ? QpState::error : choices_.one_in(2) ? QpState::sqd : QpState::rts;
  (void)l.c.qp->modify(a, host::QpMask::state);
  check(victim_.settle(), &l);
}

// ---- choices ----------------------------------------------------------------------------------------------------

wire::Key Attack::key() {
  switch (choices_.next(12)) {
    case 0: return untouchable_[0].key;
    case 1: return untouchable_[1].key;
    case 2:
    case 3: return windows_[choices_.next(windows_.size())];
    case 4: return wire::Key(static_cast<std::uint32_t>(choices_.next(1ULL << 32)));
    default: return area().key;
  }
}

nic::Sge Attack::sge() {
  const Area& a = area();
  const auto from = choices_.next(a.bytes.size());
  auto length = static_cast<std::uint32_t>(choices_.next(a.bytes.size() - from + 1));
  if (choices_.one_in(16)) length = static_cast<std::uint32_t>(choices_.next(1ULL << 32));
  return {a.address + from, length, choices_.one_in(16) ? key() : a.key};
}

// ---- packets ----------------------------------------------------------------------------------------------------

Opcode Attack::choose_request(const nic::Context& context, Service service) {
  if (service == Service::ud) return choices_.one_in(2) ? Opcode::ud_send_only : Opcode::ud_send_only_imm;
  if (choices_.one_in(32)) return Opcode::cnp;
  const unsigned base = service == Service::rc ? 0x00 : 0x20;
  if (context.inbound != nic::Inbound::none && !choices_.one_in(8)) {  // what the message under way needs
    const unsigned verb = context.inbound == nic::Inbound::send ? 0 : 6;
    const bool ends = context.inbound == nic::Inbound::write ? context.roce.write_left <= 256 : choices_.one_in(2);
    return static_cast<Opcode>(base + verb + (ends ? 2 + choices_.next(2) : 1));
  }
  constexpr unsigned kReliable[] = {0x00, 0x04, 0x05, 0x06, 0x0A, 0x0B, 0x0C, 0x13, 0x14, 0x17};
  constexpr unsigned kUnreliable[] = {0x00, 0x04, 0x05, 0x06, 0x0A, 0x0B};
  return static_cast<Opcode>(base + (service == Service::rc ? kReliable[choices_.next(std::size(kReliable))]
                                                            : kUnreliable[choices_.next(std::size(kUnreliable))]));
}

Crafted Attack::request(const Connection& c) {
  const nic::Context& context = c.qp->context();
  const Opcode opcode = choose_request(context, c.service);
  const wire::OpcodeInfo& info = wire::info(opcode);
  const Area& a = area();
  std::size_t bytes = info.ends() ? choices_.next(257) : 256;
  if (info.verb == Verb::write && info.step == wire::Step::last) bytes = std::min(context.roce.write_left, 256U);
  if (!info.payload) bytes = 0;
  const std::uint64_t from = choices_.next(choices_.one_in(8) ? 512 : 128) * 8;
  auto announced = static_cast<std::uint32_t>(info.ends() ? bytes : 256 + 1 + choices_.next(1024));
  if (info.verb == Verb::read_request) announced = static_cast<std::uint32_t>(choices_.next(4096));
  Psn psn = context.expected_psn;
  if (choices_.one_in(8)) psn = psn.plus(static_cast<std::uint32_t>(choices_.next(8)) - 4);
  return c.request(opcode)
      .psn(psn)
      .carrying(bytes, static_cast<unsigned>(packets_))
      .at(a.address + from, choices_.one_in(8) ? key() : a.key, announced)
      .atomic(a.address + from, choices_.one_in(8) ? key() : a.key, 1, 2)
      .invalidating(key())
      .srnic_ack(
          choices_.one_in(4) ? static_cast<std::uint8_t>(choices_.next(256)) : std::uint8_t{0},
          context.unacked_psn.plus(static_cast<std::uint32_t>(choices_.next(std::min(under_way(context), 64U) + 2))));
}

Crafted Attack::response(const Connection& c) {
  constexpr Opcode kOpcodes[] = {Opcode::rc_ack,
                                 Opcode::rc_ack,
                                 Opcode::rc_ack,
                                 Opcode::rc_atomic_ack,
                                 Opcode::rc_read_response_first,
                                 Opcode::rc_read_response_middle,
                                 Opcode::rc_read_response_last,
                                 Opcode::rc_read_response_only};
  const Opcode opcode = kOpcodes[choices_.next(std::size(kOpcodes))];
  const nic::Context& context = c.qp->context();
  const auto ahead = static_cast<std::uint32_t>(choices_.next(std::min(under_way(context), 64U) + 2));
  const bool whole = !wire::info(opcode).ends() || choices_.one_in(2);
  const std::size_t bytes = whole ? 256 : choices_.next(257);
  Crafted p = c.answer(opcode, context.unacked_psn.plus(ahead)).carrying(wire::info(opcode).payload ? bytes : 0);
  if (choices_.one_in(8)) p.headers.aeth.syndrome = static_cast<std::uint8_t>(choices_.next(256));
  return p;
}

// A request that stands where it might, or a little ahead; what it says of its message is often true.
Crafted Attack::srnic_request(const Connection& c) {
  constexpr unsigned kOpcodes[] = {0xC0, 0xC1, 0xC2, 0xC4, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA,
                                   0xCA, 0xCB, 0xCC, 0xCC, 0xD3, 0xD4, 0xD6, 0xD7, 0xE4, 0xEA};
  const nic::Context& context = c.qp->context();
  const auto opcode = static_cast<Opcode>(kOpcodes[choices_.next(std::size(kOpcodes))]);
  const wire::OpcodeInfo& info = wire::info(opcode);
  const auto ahead = static_cast<std::uint32_t>(choices_.one_in(2) ? 0 : choices_.next(choices_.one_in(16) ? 5000 : 8));
  const auto number = [&](std::uint32_t near) {
    return near + static_cast<std::uint32_t>(choices_.next(choices_.one_in(8) ? 1U << 20 : std::min(ahead, 3U) + 1));
  };
  const auto place = static_cast<std::uint32_t>(choices_.next(choices_.one_in(16) ? 1U << 24 : 4));
  const std::size_t bytes = !info.payload ? 0 : info.ends() ? choices_.next(257) : 256;
  const Area& a = area();
  const std::uint64_t from = choices_.next(choices_.one_in(8) ? 512 : 128) * 8;
  Psn psn = context.expected_psn.plus(ahead);
  if (choices_.one_in(16)) psn = psn.minus(static_cast<std::uint32_t>(choices_.next(8)));
  return c.request(opcode)
      .psn(psn)
      .in(static_cast<std::uint32_t>(choices_.next(8)), number(context.rq_done), info.starts() ? 0 : place)
      .carrying(bytes, static_cast<unsigned>(packets_))
      .at(a.address + from, choices_.one_in(8) ? key() : a.key, static_cast<std::uint32_t>(choices_.next(4096)))
      .atomic(a.address + from, choices_.one_in(8) ? key() : a.key, 1, 2)
      .invalidating(key());
}

Crafted Attack::srnic_response(const Connection& c) {
  constexpr unsigned kOpcodes[] = {0xD1, 0xD1, 0xD1, 0xD1, 0xDE, 0xDE, 0xCD, 0xCE, 0xCF, 0xD0, 0xD2};
  constexpr std::uint8_t kSyndromes[] = {0x00, 0x00, 0x60, 0x60, 0x60, 0x80, 0x80, 0x22, 0x61, 0x62, 0x63};
  const nic::Context& context = c.qp->context();
  const auto opcode = static_cast<Opcode>(kOpcodes[choices_.next(std::size(kOpcodes))]);
  const wire::OpcodeInfo& info = wire::info(opcode);
  const auto small = [&](std::uint32_t most) {
    return static_cast<std::uint32_t>(choices_.next(choices_.one_in(16) ? 1U << 16 : most));
  };
  const bool of_responses = opcode == Opcode::srnic_response_ack;
  const Psn unacked = of_responses ? nic::responses_out(context).unacked : context.unacked_psn;
  const std::uint32_t reach = of_responses ? context.responses.out_next.since(unacked) : under_way(context);
  const Psn base = info.srnic_ack ? unacked : context.responses.in_expected;
  Crafted p = c.answer(opcode, base.plus(small(std::min(reach, 64U) + 2)))
                  .in(context.sq_done + small(4), 0, info.starts() && !info.srnic_ack ? 0 : small(4))
                  .srnic_ack(kSyndromes[choices_.next(std::size(kSyndromes))],
                             unacked.plus(choices_.one_in(2) ? 0 : small(std::min(reach, 64U) + 2)),
                             static_cast<std::uint16_t>(small(6)))
                  .carrying(!info.payload        ? 0
                            : choices_.one_in(2) ? 256
                                                 : choices_.next(257));
  p.headers.srnic_ack.marked = static_cast<std::uint16_t>(small(4));
  return p;
}

// A few bytes become others, or the frame shorter or longer; mostly from the transport header on.
void Attack::damage(Bytes& frame) {
  for (std::uint64_t times = 1 + choices_.next(2); times > 0; --times) {
    const std::size_t from = choices_.one_in(8) ? kIpAt : std::min(bth_at(false), frame.size() - 1);
    const std::size_t room = choices_.one_in(2) ? std::min<std::size_t>(frame.size() - from, 40) : frame.size() - from;
    const std::size_t at = from + choices_.next(room);
    const auto place = frame.begin() + static_cast<std::ptrdiff_t>(at);
    switch (choices_.next(8)) {
      case 0:
      case 1:
      case 2: *place ^= static_cast<std::byte>(1U << choices_.next(8)); break;
      case 3: *place = static_cast<std::byte>(choices_.next(256)); break;
      case 4: *place = choices_.one_in(2) ? std::byte{0} : std::byte{0xFF}; break;
      case 5: frame.resize(std::max((at - from) / 4 * 4 + from, bth_at(false))); break;
      case 6: frame.insert(place, 4 * choices_.next(64) + (choices_.one_in(4) ? 1 : 0), std::byte{0x5A}); break;
      default: std::reverse(place, place + static_cast<std::ptrdiff_t>(std::min<std::size_t>(4, frame.size() - at)));
    }
    if (choices_.one_in(8)) continue;
    const std::size_t ip = frame.size() - kIpAt, udp = frame.size() - udp_at(false);  // lengths that agree
    frame[kIpAt + 2] = static_cast<std::byte>(ip >> 8);
    frame[kIpAt + 3] = static_cast<std::byte>(ip);
    frame[udp_at(false) + 4] = static_cast<std::byte>(udp >> 8);
    frame[udp_at(false) + 5] = static_cast<std::byte>(udp);
  }
}

// ---- what must hold ---------------------------------------------------------------------------------------------

void Attack::check(const Effects& effects, const Life* only) {
  require(!effects.guards_broken, "memory that nobody registered was written");
  for (const Area& a : untouchable_) {
    for (const Written& w : effects.written) {
      require(w.offset + w.bytes <= a.offset || w.offset >= a.offset + a.bytes.size(),
              "memory that nobody here may write was written");
    }
  }
  for (const wire::Qpn qpn : effects.touched) {
    require(only == nullptr || qpn == only->c.qpn(), "another queue pair was changed");
    require(qpn != bystander_.qpn(), "a connection that nobody attacked was changed");
  }
  check_completions(effects);
  for (const Life& l : lives_) {
    if (l.c.service == Service::rc) check_requester(l.c.qp->context());
  }
  check_shared();
}

// What a requester believes of itself agrees with itself: entries done, next and posted stand in this order, and so do
// the PSNs of the oldest work, of what is acknowledged, of what comes next and of the furthest ever sent.
void Attack::check_requester(const nic::Context& c) {
  const std::uint32_t posted = c.sq_posted - c.sq_done, next = c.sq_next - c.sq_done;
  require(posted <= 1U << c.sq_shift && next <= posted, "entries in no order");
  if (c.state == QpState::error) return;
  const std::uint32_t sent = c.unacked_psn.plus(under_way(c)).since(c.done_psn),
                      unacked = c.unacked_psn.since(c.done_psn);
  require(unacked <= sent && c.next_psn.since(c.done_psn) <= sent, "PSNs in no order");
  require(posted != 0 || sent == 0, "PSNs under way without work");
  std::uint32_t reads = 0;
  for (std::uint32_t i = c.sq_done; i != c.sq_next; ++i) {
    const nic::Work& w = host::posted_work(c, i);
    const bool answered = c.dialect == nic::Dialect::srnic && (w.flags & nic::WorkFlags::answered) != 0;
    reads += nic::reads_back(w.kind) && !answered ? 1 : 0;
  }
  require(reads == c.reads_under_way && reads <= std::max<std::uint32_t>(c.max_reads, 1), "READs miscounted");
}

// Every entry of the shared receive queue is posted, free, or held by the one queue pair that uses it.
void Attack::check_shared() {
  const nic::SharedReceiveRing& ring = victim_.device().card().srqs[srq_->number()];
  const nic::Context& c = lives_[kSharing].c.qp->context();
  std::uint32_t held = c.receive_entry != nic::kNone ? 1 : 0;
  if (c.dialect == nic::Dialect::srnic) {
    nic::ReorderNotes& notes = victim_.device().card().reorder_notes;
    for (std::uint16_t at = c.srnic.in.notes; at != nic::ReorderNotes::kNothing; at = notes[at].next) {
      if (notes[at].kind == nic::ReorderNote::Kind::taken) ++held;
    }
  }
  require(ring.free_count + ring.available() + held == srq_->capacity(), "an entry of the shared queue was lost");
}

void Attack::check_completions(const Effects& effects) {
  for (const nic::Completion& done : effects.completions) {
    const auto owner = std::find_if(lives_.begin(), lives_.end(), [&](Life& l) { return l.c.qpn() == done.qpn; });
    require(owner != lives_.end(), "a completion of a queue pair that is no more");
    const bool received =
        done.kind == nic::CompletionKind::receive || done.kind == nic::CompletionKind::receive_write_immediate;
    std::uint64_t& expected = received ? owner->receives_done : owner->sends_done;
    const bool shared = received && owner == &lives_[kSharing];
    if (shared) expected = std::max(expected, done.id);  // a queue pair that goes takes the entry that it holds with it
    require(done.id == expected++, "work completed out of order, or twice");
    require(expected <= (received ? owner->receives : owner->sends), "work completed that was never posted");
  }
}

void Attack::check_bystander() {
  const Area& a = areas_[0];
  const Crafted write = bystander_.next_request(Opcode::rc_write_only).at(a.address, a.key, 64).carrying(64, 99);
  Effects got = victim_.receive(write);
  require(got.sent.size() == 1 && got.sent[0].headers.bth.psn == write.headers.bth.psn, "the bystander got no answer");
  require(std::equal(write.payload.begin(), write.payload.end(), a.bytes.begin()),
          "the bystander's bytes are not there");
  const nic::Sge from = a.sge(0, 64);
  got = victim_.post(bystander_, {.id = 7, .kind = WorkKind::write, .sges = {&from, 1}});
  require(got.sent.size() == 1, "the bystander cannot send");
  got = victim_.receive(bystander_.ack(got.sent[0].headers.bth.psn));
  require(got.completions.size() == 1 && got.completions[0].status == nic::Status::success,
          "the bystander's work does not complete");
}

}  // namespace weft::trust

#include "world/sim/chip/chip_host.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "wire/star.h"
#include "wire/syndrome.h"

template class weft::nic::Card<weft::sim::ChipWorld>;

namespace weft::sim {
namespace {

constexpr std::uint32_t kDoorbellBytes = 8;
// The scheduler may be asked this much ahead of time, so that not every turn needs an event of its own.
constexpr Time kAhead = nanoseconds(50);
constexpr std::uint32_t kUsualBuffer = 64 * 1024;

// What receivers are shown as payload: parcels here have only its length.
constexpr std::array<std::byte, 4096> kNoBytes{};

bool asks_to_go_back(const wire::Headers& h) {
  if (h.bth.opcode != wire::Opcode::rc_ack) return false;
  return h.aeth.syndrome == wire::Syndrome::nak(wire::NakCode::psn_sequence).encode();
}

// Does a card act on what is in it?
bool is_of_kernels(wire::Opcode opcode) {
  using enum wire::Verb;
  const wire::Verb verb = wire::info(opcode).verb;
  return verb == rpc || verb == rpc_write || verb == reply;
}

void copy(std::span<const nic::Fragment> pieces, std::span<std::byte> to) {
  for (const nic::Fragment& piece : pieces) {
    std::copy_n(piece.data, piece.bytes, to.begin());
    to = to.subspan(piece.bytes);
  }
}

}  // namespace

// ---- effects -------------------------------------------------------------------------------------------

void ChipWorld::emit(const nic::OutPacket& packet) {
  ParcelPool& parcels = host_.fabric_.parcels();
  const bool are_bytes = packet.passing || is_of_kernels(packet.headers.bth.opcode);
  const ParcelId id = are_bytes ? parcels.make(packet.payload_bytes) : parcels.make_hollow(packet.payload_bytes);
  Parcel& parcel = parcels[id];
  parcel.flow = packet.flow;
  parcel.headers = packet.headers;
  if (are_bytes) copy(packet.payload, parcel.payload());
  const wire::OpcodeInfo& info = wire::info(packet.headers.bth.opcode);
  const auto bytes = static_cast<std::uint32_t>(packet.payload_bytes + wire::header_bytes(packet.headers));
  if (packet.flow.to == wire::UdpPort::stateful) return host_.send_stateless(id, shell_.send(bytes), bytes);
  Time& last = host_.orders_[slot_].left[info.is_response() ? 1 : 0];
  last = host_.last_left_ = std::max(shell_.send(bytes), last + 1);
  // An acknowledgement with nothing before it needs no event: what is sent after it has payload to fetch first.
  if (info.is_response() && packet.payload_bytes == 0 && host_.leaving_.empty()) {
    return host_.fabric_.send(host_.index_, id, last);
  }
  host_.leaving_.add(last, id, bytes);
  host_.look_after_departures();
}

void ChipWorld::complete(std::uint32_t cq, const nic::Completion&) {
  Coming& coming = host_.coming_[cq];
  const Time seen = coming.add(shell_.complete());
  if (coming.sleeper) {
    host_.event(std::max(seen, coming.sleeper->from), ChipHost::What::thread, coming.sleeper->thread);
    coming.sleeper.reset();
  }
  if (host_.device_.card().cqs[cq].armed != nic::Notify::none) host_.event(seen, ChipHost::What::reveal, cq);
}

void ChipWorld::notify(const nic::HostEvent& event) { host_.device_.on_event(event); }

void ChipWorld::tell(const nic::LossEvent& e) {
  host_.losses_.push_back(e);
  const ChipSpec& spec = shell_.spec();
  const Time takes = e.kind == nic::LossEvent::Kind::arrived ? spec.control_arrival_time : spec.control_news_time;
  host_.software_free_ = std::max(shell_.tell(), host_.software_free_ + 1) + takes;
  host_.event(host_.software_free_, ChipHost::What::loss, 0);
}

void ChipWorld::turn_given(std::uint32_t slot) {
  ChipHost::Order& order = host_.orders_[slot];
  order.turn_ends = shell_.cursor() + shell_.cycles(shell_.spec().turn_cycles);
  order.in_turn = true;
}

// Most turns leave nothing to do, and their end needs no event.
void ChipWorld::turn_wanted(std::uint32_t slot) {
  ChipHost::Order& order = host_.orders_[slot];
  if (!std::exchange(order.in_turn, false)) return;  // it stands in the schedule queue, or will
  host_.event(std::max(order.turn_ends, host_.fabric_.now()), ChipHost::What::dequeue, slot);
}

void ChipWorld::written(const void* at, std::size_t bytes) {
  const std::less_equal<const std::byte*> not_behind;
  const auto* begin = static_cast<const std::byte*>(at);
  for (const ChipHost::Watched& w : host_.watched_) {
    if (not_behind(begin, w.at) && !not_behind(begin + bytes, w.at))
      host_.event(shell_.placed(), ChipHost::What::written, w.number);
  }
}

void ChipWorld::about_to_read(const void* from, std::size_t bytes) {
  if (host_.program_ != nullptr) host_.program_->before_kernel_reads(from, bytes);
}

// ---- the host -------------------------------------------------------------------------------------------

ChipHost::ChipHost(ChipFabric& fabric, const wire::Address& address, const host::DeviceConfig& config,
                   const ChipSpec& chip, std::uint64_t seed)
    : fabric_(fabric),
      address_(address),
      numbers_(seed),
      device_(with_address(config, address), numbers_),
      index_(fabric.attach(*this, address)),
      shell_(chip, device_.card().contexts.size(), numbers_.next()),
      effects_(*this, shell_),
      card_(device_.card(), effects_),
      orders_(device_.card().contexts.size()),
      coming_(device_.card().cqs.size()) {}

host::DeviceConfig ChipHost::with_address(host::DeviceConfig config, const wire::Address& address) {
  config.gids = {address};
  return config;
}

host::Error ChipHost::post(Time at, const host::Poster& poster, const host::WorkRequest& request) {
  const host::Error e = poster.post(request);
  ring_doorbells(at);
  return e;
}

std::uint32_t ChipHost::poll(Time now, host::CompletionQueue& cq, std::span<nic::Completion> done) {
  reveal(now, cq.number());
  return cq.poll(done);
}

void ChipHost::sleep(Time at, std::uint32_t thread, const host::CompletionQueue& cq) {
  Coming& coming = coming_[cq.number()];
  const Time first = cq.waiting() > 0 ? at : coming.next();
  if (first == kNever) {
    coming.sleeper = {at, thread};
  } else {
    event(std::max(at, first), What::thread, thread);
  }
}

void ChipHost::wake_sleeper(Time now, std::uint32_t cq) {
  Coming& coming = coming_[cq];
  if (!coming.sleeper) return;  // it is at work, or about to be
  const auto sleeper = *std::exchange(coming.sleeper, std::nullopt);
  event(std::max(now, sleeper.from), What::thread, sleeper.thread);
}

void ChipHost::reveal(Time now, std::uint32_t cq) {
  while (coming_[cq].take(now)) nic::reveal(device_.card(), effects_, now, cq);
}

void ChipHost::ring_doorbells(Time at) {
  device_.take_doorbells([&](std::uint32_t slot) { ring(at, slot); });
  ring_stateless(at, false);
}

void ChipHost::ring(Time at, std::uint32_t slot) {
  const nic::Context& c = device_.card().contexts[slot];
  const bool only_one = c.sq_posted - c.sq_next == 1;
  const bool carries = shell_.spec().doorbell_carries_work && only_one;
  if (carries) orders_[slot].carried = true;
  shell_.overwritten(nic::ring_entry(c.sq, c.sq_posted - 1, c.sq_shift, c.sq_stride), c.sq_stride);
  if (estats_.watches(slot)) estats_.note(slot, c.sq_posted - 1, c.sq_posted, 0, at);
  const std::uint32_t bytes = carries || shell_.spec().posts_on_chip ? c.sq_stride : kDoorbellBytes;
  // Each store takes its time on the bus. But the card sees all that has been posted when it hears the first, and those
  // behind it tell it nothing: they need no event, unless each makes the card look for the context.
  const Time heard = shell_.bus().store(fabric_.now(), at, bytes, BusUse::doorbell);
  if (heard >= orders_[slot].rings && !shell_.contexts().enabled()) return;
  orders_[slot].rings = heard;
  event(heard, What::doorbell, slot);
}

void ChipHost::hear_doorbell(Time now, std::uint32_t slot) {
  Order& order = orders_[slot];
  if (order.rings <= now) order.rings = kNever;
  shell_.begin(now, now);
  card_.on_doorbell(now, slot);
  order.heard = std::max(order.heard, shell_.cursor());
}

void ChipHost::on_event(Time now, std::uint32_t argument) {
  const std::uint32_t number = argument & ((1U << kWhatShift) - 1);
  switch (static_cast<What>(argument >> kWhatShift)) {
    case What::doorbell: hear_doorbell(now, number); break;
    case What::dequeue:
      shell_.begin(now, now);
      card_.on_dequeue(now, number);
      break;
    case What::depart:
      if (look_at_ <= now) look_at_ = kNever;
      let_leave(now);
      return look_after_departures();
    case What::reveal: return reveal(now, number);
    case What::loss: return hear_loss(now);
    case What::control: hear_control(now); break;
    case What::nak: {
      const wire::Packet packet = naks_.front();
      naks_.pop_front();
      receive(now, packet, 0);
      break;
    }
    case What::go_on: return look_at_neighbour(now);
    case What::post: hear_post(now, number); break;
    case What::alarm: return wake_sleeper(now, number);
    case What::thread: return program_->on_thread(now, number);
    case What::written: return program_->on_written(now, number);
  }
  drive(now);
}

// ---- stateless connections (StaR) -------------------------------------------------------------------------

// A post is stored to the card with all that it needs to become a WQEP, because the card has nothing to find it by.
// `again`: everything that has not been heard of.
void ChipHost::ring_stateless(Time at, bool again) {
  host::StatelessSide* side = device_.stateless();
  if (side == nullptr) return;
  side->take_posts(fabric_.now(), [&](nic::StatelessBlock& b) {
    const nic::Context& c = b.context;
    if (posts_.size() <= c.timer) posts_.resize(c.timer + 1);
    Posted& p = posts_[c.timer];
    if (p.generation != b.generation) p = {.generation = b.generation};
    if (again) p.works = b.works_told;
    if (again) p.receives = b.receives_told;
    const std::uint32_t bytes = (c.sq_posted - p.works) * c.sq_stride + (c.rq_posted - p.receives) * c.rq_stride;
    p.works = c.sq_posted;
    p.receives = c.rq_posted;
    p.bytes += bytes;
    event(shell_.bus().store(fabric_.now(), at, kDoorbellBytes + bytes, BusUse::doorbell), What::post, c.timer);
  });
}

void ChipHost::hear_post(Time now, std::uint32_t number) {
  shell_.begin(now, now);
  shell_.keep_nothing();
  shell_.carried(std::exchange(posts_[number].bytes, 0));
  card_.on_stateless_post(now, (*device_.card().blocks)[number]);
}

// Answers have no order among each other: no state could keep one. WQEPs leave in that of posting.
void ChipHost::send_stateless(ParcelId id, Time at, std::uint32_t bytes) {
  if (fabric_.parcels()[id].headers.bth.opcode == wire::Opcode::star_wqep)
    at = last_wqep_ = std::max(at, last_wqep_ + 1);
  leaving_.add(at, id, bytes);
  look_after_departures();
}

void ChipHost::receive_stateless(Time now, const wire::Packet& packet, std::uint32_t bytes) {
  shell_.begin_packet(now, bytes);
  shell_.keep_nothing();
  card_.on_packet(now, packet);
  keep_until(now, shell_.finished(), bytes);
  // The card has said something by itself: the host's timer is to see that it is heard, and nothing is posted.
  if (host::StatelessSide* side = device_.stateless()) side->take_posts(now, [](const nic::StatelessBlock&) {});
}

// ---- transmitting ---------------------------------------------------------------------------------------

// What should have left by now is on the wire since then, or waits at the port.
void ChipHost::let_leave(Time now) {
  while (!leaving_.empty() && leaving_.first().at <= now) {
    const Departures::Packet packet = leaving_.take_first();
    fabric_.send(index_, packet.id, packet.at);
  }
}

// Nobody sees that a packet leaves, only that it arrives: that is early enough to put it on the wire, with all others
// that have left until then. Whoever needs to know how full the wire is does it earlier.
void ChipHost::look_after_departures() {
  if (leaving_.empty()) return;
  const Time at = fabric_.link(fabric_.uplink(index_)).earliest_arrival(leaving_.first().at);
  if (at >= look_at_) return;
  look_at_ = at;
  event(at, What::depart, 0);
}

const LinkCounters& ChipHost::sent() {
  let_leave(fabric_.now());
  return fabric_.link(fabric_.uplink(index_)).counters();
}

bool ChipHost::may_give_turn(Time now) {
  const ChipSpec& spec = shell_.spec();
  const std::uint32_t room = spec.transmit_buffer_bytes == 0 ? kUsualBuffer : spec.transmit_buffer_bytes;
  if (leaving_.bytes() >= room) {
    fabric_.wake(index_, leaving_.fewer_than(room));
    return false;
  }
  const LinkIndex uplink = fabric_.uplink(index_);
  const Time clear_at = fabric_.clear_at(uplink);
  if (clear_at == kNever) return false;  // until the end of a pause
  const Time ready_at = std::max(turn_free_ - kAhead, clear_at - fabric_.link(uplink).duration(room / 2));
  if (ready_at <= now) return true;
  fabric_.wake(index_, ready_at);
  return false;
}

void ChipHost::give_turn(Time now) {
  const std::uint32_t slot = device_.card().ready.peek(0);
  const nic::Context& c = device_.card().contexts[slot];
  const Time from = std::max(now, turn_free_);
  const std::uint32_t first = c.sq_next;
  shell_.begin(now, std::max(from, orders_[slot].heard));
  shell_.carried(std::exchange(orders_[slot].carried, false) ? c.sq_stride : 0);
  card_.transmit(now, 1);
  const std::uint32_t works = c.sq_next - first;
  turn_free_ = from + shell_.cycles(shell_.spec().turn_cycles + shell_.spec().work_cycles * works);
  if (works == 0 || !estats_.watches(slot)) return;
  estats_.note(slot, first, c.sq_next, 1, shell_.cursor());
  estats_.note(slot, first, c.sq_next, 2, last_left_);
}

void ChipHost::drive(Time now) {
  nic::CardState& card = device_.card();
  let_leave(now);
  if (!card.owing.empty()) card_.transmit(now, 0);  // from where the cursor is: behind the packet that is answered
  while (!card.ready.empty() && may_give_turn(now)) give_turn(now);
  Time next = card_.next_deadline();
  if (device_.stateless() != nullptr) next = std::min(next, device_.stateless()->next_deadline());
  if (next != kNever) fabric_.wake(index_, std::max(next, now));
}

void ChipHost::on_wake(Time now) {
  shell_.begin(now, now);
  card_.on_time(now);
  if (device_.stateless() != nullptr) device_.stateless()->on_time(now);
  ring_stateless(now, true);
  drive(now);
}

// ---- receiving ------------------------------------------------------------------------------------------

void ChipHost::on_parcel(Time now, const Parcel& parcel) {
  wire::Packet packet = parcel.packet();
  if (parcel.payload().empty()) packet.payload = std::span(kNoBytes).first(parcel.payload_bytes);
  if (!store(now, parcel.wire_bytes)) {
    ++no_room_;
    return;
  }
  const Time delay = shell_.spec().rewind_delay;
  if (delay > 0 && asks_to_go_back(packet.headers)) {
    naks_.push_back(packet);
    return event(now + delay, What::nak, 0);
  }
  if (packet.flow.to == wire::UdpPort::stateless) {
    receive_stateless(now, packet, parcel.wire_bytes);
    return drive(now);
  }
  receive(now, packet, parcel.wire_bytes);
  drive(now);
}

void ChipHost::receive(Time now, const wire::Packet& packet, std::uint32_t bytes) {
  const std::uint32_t slot = device_.card().contexts.slot_of(packet.headers.bth.destination);
  const nic::Context& c = device_.card().contexts[slot];
  const std::uint32_t done = c.sq_done;
  shell_.begin_packet(now, bytes);
  effects_.begin_packet(is_of_kernels(packet.headers.bth.opcode));
  card_.on_packet(now, packet);
  orders_[slot].heard = std::max(orders_[slot].heard, shell_.cursor());
  shell_.leave_kernels();
  if (bytes > 0) keep_until(now, shell_.finished(), bytes);
  if (c.sq_done == done || !estats_.watches(slot)) return;
  estats_.note(slot, done, c.sq_done, 3, now);
  estats_.note(slot, done, c.sq_done, 4, shell_.cursor());
}

// Is there room for a packet in the receive buffer?
bool ChipHost::store(Time now, std::uint32_t bytes) {
  forget_what_left(now);
  const ChipSpec& spec = shell_.spec();
  if (spec.receive_buffer_bytes == 0) return true;
  if (spec.pause && !pauses()) return true;  // a switch would wait, and has room without end here
  return stored_bytes_ + bytes <= spec.receive_buffer_bytes;
}

// A packet's place in the receive buffer.
void ChipHost::keep_until(Time now, Time until, std::uint32_t bytes) {
  stored_.push_back({until, bytes});
  stored_bytes_ += bytes;
  if (!neighbour_pauses_) look_at_neighbour(now);
}

void ChipHost::forget_what_left(Time now) {
  while (!stored_.empty() && stored_.front().until <= now) {
    stored_bytes_ -= stored_.front().bytes;
    stored_.pop_front();
  }
}

// What the receive buffer may hold before the neighbour is to pause: half of it, or less if the rest would not hold
// what comes until the neighbour does.
std::uint64_t ChipHost::most_unpaused() const {
  const std::uint64_t whole = shell_.spec().receive_buffer_bytes;
  const Link& out = fabric_.link(fabric_.uplink(index_));
  const std::uint64_t headroom = pause_headroom(fabric_.link(out.queue()->back()), out);
  return std::min(whole / 2, whole - std::min(whole, headroom));
}

// The card at the other end of the cable, or the switch, pauses until half of that is left. What comes before it does
// may make it longer.
void ChipHost::look_at_neighbour(Time now) {
  if (shell_.spec().receive_buffer_bytes == 0 || !pauses()) return;
  forget_what_left(now);
  const std::uint64_t most = most_unpaused();
  const std::uint64_t enough = neighbour_pauses_ ? most / 2 : most;
  if (const bool pause = stored_bytes_ > enough; pause != neighbour_pauses_) {
    neighbour_pauses_ = pause;
    let_leave(now);
    fabric_.pause_neighbour(index_, pause);
  }
  if (!neighbour_pauses_) return;
  std::uint64_t left = stored_bytes_;
  Time until = now;
  for (const Stored& s : stored_) {
    if (left <= most / 2) break;
    left -= s.bytes;
    until = std::max(until, s.until);
  }
  event(until, What::go_on, 0);
}

void ChipHost::on_refused(Time, Refusal why) { card_.on_refused(why); }

// ---- the control queue ----------------------------------------------------------------------------------

void ChipHost::hear_loss(Time now) {
  device_.tell(losses_.front());
  losses_.pop_front();
  device_.take_losses([&](const nic::ControlMessage& m) {
    answers_.push_back(m);
    // A doorbell, and the card reads the message.
    Bus& bus = shell_.bus();
    const Time rung = bus.store(now, now, kDoorbellBytes, BusUse::control);
    last_answer_ = std::max(bus.read(now, rung, shell_.spec().control_bytes, BusUse::control), last_answer_ + 1);
    event(last_answer_, What::control, 0);
  });
}

void ChipHost::hear_control(Time now) {
  const nic::ControlMessage m = answers_.front();
  answers_.pop_front();
  shell_.begin(now, now);
  card_.on_control(now, m);
}

}  // namespace weft::sim

#include "world/real/lane/engine.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include <fmt/format.h>
#include <sys/eventfd.h>

#include "world/real/broker/gsi.h"
#include "world/real/lane/arrival.h"
#include "world/real/lane/device_config.h"
#include "world/real/os/clock.h"
#include "world/real/os/lane_thread.h"

namespace weft::real {

Lane::Engine::Engine(const Settings& settings, LaneOwner& owner, LaneLock& lock)
    : settings_(settings),
      roles_(roles_of(settings)),
      owner_(owner),
      lock_(lock),
      device_(device_config(settings, memory_), random_),
      port_(settings.wire, broker_, {settings.merge, settings.source_ports}),
      inspection_(port_),
      negotiation_(versions_of(settings)),
      moves_(device_, *this, roles_.has(wire::StarRoles::kChooses) ? settings.stateless_beyond : 0),
      effects_(device_, port_, inspection_, owner, journal_, clock_),
      card_(device_.card(), effects_) {
  journal_.set_slots(device_.card().contexts.size());
  negotiation_.set_roles(roles_);
  world::advise_large_pages(device_.card().contexts.bytes());
  device_.set_exporter(&port_);
}

tl::expected<void, Trouble> Lane::Engine::attach() {
  if (port_.is_open()) return {};
  const auto denied = [](std::string_view call, std::string_view what) {
    return tl::unexpected(Trouble{errno, fmt::format("{} gives no {}: {}", call, what, std::strerror(errno))});
  };
  status_memory_ = make_shared_memory("weft-status", sizeof(SharedStatus));
  if (!status_memory_) return denied("memfd_create", "memory that programs can share");
  wake_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake_) kick_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_ || !kick_) return denied("eventfd", "descriptor to wake the lane's thread by");
  broker_.set_bell(kick_.get());
  shared_status_ = Mapping<SharedStatus>::of(status_memory_.get());
  if (!shared_status_) return tl::unexpected(Trouble{ENOMEM, "no address space left for the lane's status page"});
  auto joined = broker_.join(self());
  if (!joined) return tl::unexpected(joined.error());
  device_.set_qpn_prefix(joined->lane_number, 24 - wire::kLaneShift);
  auto trouble = begin(std::move(*joined));
  if (trouble) {  // all or nothing: a lane without a thread hears neither its broker nor, at times, its peers
    port_.close();
    inspection_.close();
    broker_.leave();
    return tl::unexpected(*trouble);
  }
  if (settings_.stats) remember_to_print(*this);
  return {};
}

std::optional<Trouble> Lane::Engine::begin(BrokerClient::Joined joined) {
  try {
    if (auto trouble = open_port(std::move(joined))) return trouble;
    if (!start_thread()) return Trouble{errno, "cannot start the lane's thread"};
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return Trouble{ENOMEM, "out of memory"};
  }
}

// Where packets are looked at, each is to come by itself, and with its bytes.
std::optional<Trouble> Lane::Engine::open_port(BrokerClient::Joined joined) {
  const Time now = clock_now();
  if (auto trouble = inspection_.open(settings_, joined.lane_number, now)) return trouble;
  const bool looks = inspection_.is_on();
  port_.open(std::move(joined), device_.config().gids, *shared_status_, looks ? OneCopy::off : settings_.one_copy, now);
  shared_status_->takes_bursts.store(looks ? 0 : 1, std::memory_order_relaxed);
  shared_status_->marks.store(inspection_.may_mark() ? 1 : 0, std::memory_order_relaxed);
  return std::nullopt;
}

BrokerClient::Self Lane::Engine::self() const {
  return {.addresses = device_.config().gids,
          .versions = versions_of(settings_),
          .roles = roles_,
          .shared_status = status_memory_.get(),
          .wake = wake_.get(),
          .lane_number = port_.lane_number()};
}

// Before its first queue pair of this role: packets of StaR come to ports of their own.
tl::expected<void, Trouble> Lane::Engine::play(host::StarRole role) {
  const wire::StarRoles wanted = roles_of(role);
  if (!port_.is_open() || !wanted.any() || roles_.has(wanted.bits)) return {};
  Message m(Topic::play);
  m.roles = wanted;
  auto in = broker_.call(m, Topic::playing);
  if (!in) return tl::unexpected(Trouble{ENETDOWN, "the broker does not answer"});
  if (auto heard = on_playing(std::move(*in)); !heard) return heard;
  roles_.bits |= wanted.bits;
  negotiation_.set_roles(roles_);
  return {};
}

tl::expected<void, Trouble> Lane::Engine::on_playing(Incoming in) {
  const std::size_t sockets = device_.config().gids.size();
  if (in.message.code != 0) return tl::unexpected(Trouble{in.message.code, in.text});
  if (in.lacks_descriptors) return tl::unexpected(Trouble{EMFILE, "too many open files"});
  if (in.descriptors.size() != 2 * sockets) return tl::unexpected(Trouble{EPROTO, "the broker gave too few sockets"});
  if (port_.hears_star()) return {};
  port_.add_sockets(std::move(in.descriptors));
  kick();  // the thread has other sockets to watch
  return {};
}

// ---- the program's calls

// To read the clock takes as long as a hundred instructions. Who has waited since it posted last does not post a burst,
// and what it posts leaves first.
void Lane::Engine::rang(std::uint32_t slot) {
  const bool waited = policy_.on_post(is_timeless());
  const Time now = waited ? nic::kAsk : clock_.now();
  effects_.set_now(now);
  if (device_.doorbells_waiting()) deliver_doorbells(now);
  if ((!waited && policy_.defers(now)) || !port_.is_open()) {
    if (slot != nic::kNone) hear_doorbell(now, slot);
    if (port_.is_open()) policy_.defer();
    return;
  }
  if (slot != nic::kNone) learn_of(slot);
  transmit(now, slot);
  policy_.post_left(clock_.now());
}

// The program polls: the thread must not wake up for packets any more.
void Lane::Engine::take_over() {
  if (!port_.is_open()) return;
  policy_.hand_to_program();
  kick();
}

// Most polls find nothing. They look at memory only, and at the clock and the sockets every so often. So do most of
// those that find something in a ring.
void Lane::Engine::poll() {
  if (!port_.is_open()) return;
  LocalPeer* const from = port_.full_ring();
  const bool in_ring = from != nullptr, quiet = !in_ring && port_.is_quiet() && !card_.has_work();
  const DrivePolicy::Look look = policy_.look(in_ring, quiet, is_timeless());
  if (look == DrivePolicy::Look::memory_only) return;
  if (look == DrivePolicy::Look::one_record) return hear_one(*from);
  const bool timeless = look == DrivePolicy::Look::without_clock;
  progress(timeless ? nic::kAsk : clock_.now(), policy_.program_drives() ? Answers::to_completions : Answers::no);
}

// One that has waited for a while waits for a single packet, most likely. It is heard without all that there is to do
// for many, and for those that are late: they come with the next polls.
void Lane::Engine::hear_one(LocalPeer& from) {
  effects_.set_now(nic::kAsk);
  const std::uint64_t before = effects_.completions();
  port_.hear_one(
      from, [this](const auto& flow, auto datagram, DatagramTraits how) { take(flow, datagram, how); },
      [this] { settle(); });
  send_or_wait(nic::kAsk, Answers::to_completions, effects_.completions() != before);
}

void Lane::Engine::armed() {
  if (!policy_.on_armed() || !port_.is_open()) return;
  transmit(clock_.now());
  kick();
}

void Lane::Engine::flush() {
  if (port_.is_open() && card_.has_work()) transmit(clock_.now());
}

// Without a lock: whoever held it is not here. Descriptors only.
void Lane::Engine::abandon() {
  broker_.abandon();
  port_.abandon();
  for (Descriptor* d : {&status_memory_, &wake_, &kick_, &watched_}) d->reset();
}

// By shared memory: programs of this user on this machine, whom the broker knows. If it was killed, its successor is
// waited for until it knows them again, and we know it.
bool Lane::Engine::reaches(const wire::Address& address, std::uint8_t lane_number) {
  if (settings_.wire != WireChoice::shm || !port_.is_open()) return true;
  Message question(Topic::consult);
  question.local_peer = {.address = address, .lane_number = lane_number};
  for (const Time until = clock_now() + kComeBackWithin;; doze(kLookAgain)) {
    const auto in = broker_.call(question, Topic::consulted);  // waits: a late broker has not said no
    if (in && in->message.code != EAGAIN) return in->message.code == 0;
    if (clock_now() >= until) return false;
  }
}

void Lane::Engine::send_mad(const wire::Address& from, const wire::Address& to, std::span<const std::byte> mad) {
  if (!port_.is_open() || mad.size() != wire::kMadBytes || !reaches(to, 0)) return;
  const wire::Flow flow{.source = from, .destination = to, .source_port = wire::kRocePort};
  const auto psn = static_cast<std::uint32_t>(random_.next());
  port_.set_now(clock_.now());
  send(flow, build_gsi(flow, psn, mad.first<wire::kMadBytes>()));
  port_.flush();
  if (sleeping_) wake_in_time();  // it may have been delayed on purpose
}

// ---- driving

// `now` may be kAsk: then there is something in a ring, and deadlines are seen to another time.
void Lane::Engine::progress(Time now, Answers answers) {
  set_now(now);
  const std::uint64_t before = effects_.completions();
  const bool came = receive();
  if (policy_.looked(came)) [[unlikely]]
    greet_local_peers();
  if (now >= next_deadline()) [[unlikely]]
    on_time(now);
  const bool seen = answers == Answers::to_anything ? came : effects_.completions() != before;
  send_or_wait(now, answers, seen);
}

void Lane::Engine::send_or_wait(Time now, Answers answers, bool seen) {
  const bool waits =
      answers != Answers::no && policy_.waits_for_answer(seen, device_.card().counters.get(nic::Counter::rcvd_pkts));
  if (!waits && card_.has_work()) return transmit(now);
  // Only an owed ACK waits. What the card has said at once leaves at once: that a packet has filled a gap.
  if (port_.holds_unsent()) [[unlikely]]
    port_.flush();
  if (sleeping_) [[unlikely]]
    wake_in_time();  // what came may have armed a timer: "not ready, try again later"
}

// The thread sleeps until a time that it knew, or something comes by a socket that it knew. If it drives, it must know
// of earlier ones, and of a line that was taken, too.
void Lane::Engine::wake_in_time() {
  const bool news = card_.has_work() || next_deadline() < wakes_at_ || port_.lines_taken() != lines_known_;
  if (!policy_.program_drives() && news) kick();
}

// The thread does this as soon as it can run. Where programs that poll have all processors, that may be too late: a new
// local peer's first message waits in a ring that we do not know of.
void Lane::Engine::greet_local_peers() {
  while (auto in = broker_.hear_only(Topic::met)) on_met(*in);
}

// What a local peer left behind comes before the news that it is gone: it may have sent a lot, and ended. Of what is in
// sockets, as much as they hold at most. If others send all the while, later packed datagrams (wire/packed_datagram.h)
// are refused as malformed.
void Lane::Engine::on_met(Incoming& in) {
  const bool gone = in.descriptors.empty() && in.message.code == 0;
  port_.name(in.message.local_peer);  // before its packets are looked at
  for (std::uint32_t looks = gone ? kLastLooks : 1; looks > 0; --looks) {
    if (gone) port_.look_at_sockets();
    if (!receive()) break;
  }
  if (gone) {
    port_.hear_out(
        in.message.local_peer.lane_number,
        [this](const auto& flow, auto datagram, DatagramTraits how) { hear(flow, datagram, how); },
        [this] { settle(); });
  }
  port_.flush();
  port_.on_met(in);
}

void Lane::Engine::transmit(Time now, std::uint32_t rang) {
  set_now(now);
  policy_.sends();
  std::uint32_t turns = 0;
  const bool rings = port_.has_rings();
  if ((rings || rang != nic::kNone) && !port_.blocked()) {
    // A local peer may be waiting for the first message: it sees that before we turn to what is owed. Over UDP that
    // goes with the message.
    if (!rings) card_.acknowledge(now);
    rang != nic::kNone ? card_.on_doorbell_and_turn(now, rang) : card_.give_turns(now, 1);
    port_.show();
    ++turns;
  } else if (rang != nic::kNone) {
    card_.on_doorbell(now, rang);
  }
  for (; turns < kTurns && card_.has_work() && !port_.blocked(); ++turns) card_.transmit(now, 1);
  port_.flush();
  if (sleeping_) wake_in_time();
}

void Lane::Engine::on_time(Time now) {
  card_.on_time(now);
  if (device_.stateless() != nullptr) [[unlikely]]
    device_.stateless()->on_time(now);
  serve_losses();
  negotiate(now);
  moves_.on_time(now);
  if (device_.doorbells_waiting()) deliver_doorbells(now);  // of those that need not wait for an answer any longer
  if (inspection_.is_on()) {
    const auto take = [this](const auto& flow, auto datagram, DatagramTraits how) { this->take(flow, datagram, how); };
    const auto settle = [this] { this->settle(); };
    inspection_.on_time(take, settle);
  }
  port_.flush();
}

bool Lane::Engine::receive() {
  return port_.receive(
      !card_.has_work(), [this](const auto& flow, auto datagram, DatagramTraits how) { hear(flow, datagram, how); },
      [this] { settle(); });
}

void Lane::Engine::send(const wire::Flow& flow, std::span<const std::byte> datagram) {
  inspection_.is_on() ? inspection_.send(flow, datagram) : port_.send(flow, datagram);
}

void Lane::Engine::hear_inspected(const wire::Flow& flow, std::span<const std::byte> datagram, DatagramTraits how) {
  const auto take = [this](const auto& f, auto bytes, DatagramTraits h) { this->take(f, bytes, h); };
  const auto settle = [this] { this->settle(); };
  inspection_.arrive(flow, datagram, how, take, settle);
}

void Lane::Engine::take(const wire::Flow& flow, std::span<const std::byte> datagram, DatagramTraits how) {
  wire::Packet& p = batch_[batched_];
  p.flow = flow;
  const Refusal why = read_arrival(datagram, how, icrc_, port_.exported_by(), exports_[batched_], p);
  if (why != Refusal::none) [[unlikely]]
    return refuse(flow, datagram, why);
  if (wire::lane_number(p.flow, p.headers) != port_.lane_number()) [[unlikely]]
    return how.one_copy ? card_.on_refused(Refusal::no_such_qp) : hand_on(flow, datagram);
  card_.expect(p);
  if (++batched_ == kBatch) settle();
}

void Lane::Engine::refuse(const wire::Flow& flow, std::span<const std::byte> datagram, Refusal why) {
  card_.on_refused(why);
  inspection_.note_refused(flow, datagram, why);
}

void Lane::Engine::settle() {
  const std::uint32_t n = std::exchange(batched_, 0);
  if (n > 0) card_.on_packets(effects_.now(), std::span(batch_).first(n));
  serve_losses();
  if (device_.stateless() != nullptr && device_.stateless()->waiting()) [[unlikely]]
    hear_posts(*device_.stateless());
}

// The software half of loss recovery runs right here, in whoever drives the lane.
void Lane::Engine::serve_losses() {
  if (!device_.losses_waiting()) [[likely]]
    return;
  const Time now = effects_.look_at_clock();
  device_.take_losses([&](const nic::ControlMessage& m) { card_.on_control(now, m); });
}

// What was posted to queue pairs that the card knows nothing of, or is to be said again.
void Lane::Engine::hear_posts(host::StatelessSide& stateless) {
  const Time now = effects_.look_at_clock();
  stateless.take_posts(now, [&](nic::StatelessBlock& block) {
    learn_of(block);
    card_.on_stateless_post(now, block);
    if (block.offered) offer(now, block);
  });
}

// The kernel steers a datagram of several segments by its first one. The others may be for another program. A stranger
// may send as many as it likes: nobody waits until the broker has taken them.
void Lane::Engine::hand_on(const wire::Flow& flow, std::span<const std::byte> datagram) {
  Message m(Topic::datagram);
  m.flow = flow;
  port_.doubt_line();
  const auto* text = static_cast<const char*>(static_cast<const void*>(datagram.data()));
  if (!broker_.say_at_once(m, {text, datagram.size()})) ++not_handed_on_;
}

}  // namespace weft::real

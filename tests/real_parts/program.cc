#include "real_parts/program.h"

#include <algorithm>
#include <cassert>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "real_parts/scene.h"
#include "world/real/lane/drive_policy.h"

namespace weft::scene {
namespace {

using State = Message::State;
using nic::Status;
using nic::WorkKind;

using Guard = std::lock_guard<real::LaneLock>;

void must(host::Error e) {
  assert(e == host::Error::none);
  (void)e;
}

constexpr std::uint32_t kEntries = 512;
constexpr nic::Rights kEveryRight = nic::Rights::local_write | nic::kRemoteRights;
constexpr std::uint8_t kAckTimeout = 14;  // 67 ms, as most programs have it

void bring_up(host::QueuePair& qp, wire::Qpn peer, std::uint16_t mtu) {
  using M = host::QpMask;
  host::QpAttributes a;
  a.rights = nic::kRemoteRights;
  a.peer = kAddress;
  a.peer_qpn = peer;
  a.mtu = mtu;
  a.max_reads = a.max_peer_reads = 16;
  a.ack_timeout = kAckTimeout;
  a.min_rnr_timer = 1;
  const auto go = [&](nic::QpState to, std::uint32_t mask) {
    a.state = to;
    must(qp.modify(a, M::state | mask));
  };
  go(nic::QpState::init, M::pkey_index | M::port | M::rights);
  go(nic::QpState::rtr, M::path | M::mtu | M::peer_qpn | M::receive_psn | M::max_peer_reads | M::min_rnr_timer);
  go(nic::QpState::rts, M::ack_timeout | M::retry_count | M::rnr_retry | M::max_reads | M::send_psn);
}

real::Settings settings_of(const SceneSpec& spec) {
  real::Settings settings;
  settings.addresses = {kAddress};
  settings.transport = spec.transport;
  settings.wire = spec.rings ? real::WireChoice::automatic : real::WireChoice::udp;
  settings.one_copy = spec.one_copy;
  return settings;
}

}  // namespace

Program::Program(Scene& scene, std::size_t index, Ledger& ledger, const SceneSpec& spec)
    : scene_(scene),
      index_(index),
      ledger_(ledger),
      habit_(index < spec.habits.size() ? spec.habits[index] : Habit{}),
      arena_(index),
      lane_(settings_of(spec), *this) {}

// ---- before anything happens

void Program::make_queue_pairs() {
  const Guard guard(lane_.lock());
  host::Device& device = lane_.device();
  domain_ = *device.create_domain();
  channel_ = *device.create_channel();
  cq_ = *device.create_cq(kEntries, channel_);
  const host::QpOptions options{
      .limits = {.send_entries = 64, .receive_entries = 64, .send_sges = 4, .receive_sges = 1},
      .send_cq = cq_,
      .receive_cq = cq_};
  for (Connection& c : ledger_.connections) {
    for (Side& side : c.sides) {
      if (is_mine(side)) side.qp = *device.create_qp(domain_, options);
    }
  }
}

void Program::connect() {
  const Guard guard(lane_.lock());
  for (const Connection& c : ledger_.connections) {
    for (std::size_t s = 0; s < 2; ++s) {
      if (is_mine(c.sides[s])) bring_up(*c.sides[s].qp, c.sides[1 - s].qp->qpn(), c.spec.mtu);
    }
  }
  lane_.rang();
}

void Program::register_memory() {
  const Guard guard(lane_.lock());
  host::Device& device = lane_.device();
  arena_.make();
  const auto make_region = [&](std::size_t offset, std::size_t bytes) {
    return *device.register_region(domain_,
                                   {arena_.bytes(offset, bytes).data(), bytes, arena_.address_of(offset), kEveryRight});
  };
  ledger_.arena_keys[index_] = make_region(0, arena_.size());
  ledger_.other_keys[index_] = make_region(0, arena_.size());
  for (std::size_t i = 0; i < ledger_.connections.size(); ++i) {
    for (std::size_t s = 0; s < 2; ++s) {
      for (Message& m : ledger_.connections[i].sides[s].out) {
        if (m.source.lane != index_) continue;
        Pattern(Tag::message, m.seed).write(arena_.bytes(m.source.offset, m.spec.bytes));
        m.source_key = make_region(m.source.offset, std::max<std::size_t>(m.spec.bytes, 1));
      }
    }
  }
}

// ---- what it does

void Program::live() {
  if (const auto attached = lane_.attach(); !attached) {
    return scene_.violation("cannot attach: " + attached.error().what);
  }
  make_queue_pairs();
  register_memory();
  if (!scene_.wait_for_all()) return;
  connect();
  if (!scene_.wait_for_all()) return;
  for (std::size_t i = 0; i < ledger_.connections.size(); ++i) {
    for (const std::size_t s : {0U, 1U}) {
      if (is_mine(ledger_.connections[i].sides[s])) post_receives(i, s);
    }
  }
  if (!scene_.wait_for_all()) return;
  while (!scene_.is_closing()) {
    step();
    scene_.wait(waits_ ? kNever : at_, -1, [this] { return waits_ && event_; });
  }
}

void Program::step() {
  world::Random& draw = scene_.draw();
  const Time now = scene_.now();
  at_ = now + draw.between(nanoseconds(50), nanoseconds(300));
  std::erase_if(intentions_, [&](const FaultSpec& f) { return carry_out(f); });
  if (std::exchange(waits_, false)) {
    const Guard guard(lane_.lock());
    event_ = false;
    while (lane_.device().next_completion_event(channel_) != nullptr) {
    }
  }
  if (can_post() && draw.chance(habit_.posts)) return post_row();
  const bool vain = poll() == 0;
  if (vain && !can_post() && draw.chance(habit_.waits)) {
    {
      const Guard guard(lane_.lock());
      cq_->request_notify(false);
      lane_.armed();
    }
    waits_ = poll() == 0;
    return;
  }
  if (draw.chance(habit_.pauses)) at_ = now + draw.between(microseconds(1), habit_.longest_pause);
}

bool Program::may_post(const Side& side, const Connection& c) const {
  return is_mine(side) && side.qp != nullptr && !side.broken && side.posted < side.out.size() &&
         side.posted - side.completed < c.spec.window;
}

bool Program::can_post() const {
  return std::any_of(ledger_.connections.begin(), ledger_.connections.end(),
                     [&](const Connection& c) { return may_post(c.sides[0], c) || may_post(c.sides[1], c); });
}

void Program::post_row() {
  const std::uint64_t first = scene_.draw().below(ledger_.connections.size());
  for (std::size_t i = 0; i < ledger_.connections.size(); ++i) {
    const std::size_t connection = (first + i) % ledger_.connections.size();
    const Connection& c = ledger_.connections[connection];
    for (std::size_t s = 0; s < 2; ++s) {
      if (!may_post(c.sides[s], c)) continue;
      for (std::uint64_t left = 1 + scene_.draw().below(habit_.row); left > 0 && may_post(c.sides[s], c); --left) {
        post(connection, s);
      }
      return;
    }
  }
}

void Program::post(std::size_t connection, std::size_t s) {
  Connection& c = ledger_.connections[connection];
  Side& side = c.sides[s];
  Message& m = side.out[side.posted];
  const bool reads = m.spec.kind == WorkKind::read;
  const Place local = reads ? m.target : m.source, remote = reads ? m.source : m.target;
  const wire::Key local_key = reads ? ledger_.arena_keys[index_] : m.source_key;
  std::vector<nic::Sge> sges;
  const std::uint32_t each = m.spec.bytes / m.spec.pieces;
  for (std::uint32_t i = 0; i < m.spec.pieces; ++i) {
    const std::uint32_t length = i + 1 < m.spec.pieces ? each : m.spec.bytes - i * each;
    sges.push_back({arena_.address_of(local.offset + i * each), length, local_key});
  }
  host::WorkRequest request{.id = WorkId{connection, s, side.posted, false}.raw(),
                            .kind = m.spec.kind,
                            .sges = sges,
                            .immediate = static_cast<std::uint32_t>(side.posted)};
  request.remote_address = scene_.program(remote.lane).arena().address_of(remote.offset);
  request.remote_key = ledger_.arena_keys[remote.lane];
  m.state = State::posted;
  ++side.posted;
  const Guard guard(lane_.lock());
  must(side.qp->post_send(request));
  lane_.rang();
}

// As many as it wants to have posted, in the order in which they will be taken.
void Program::post_receives(std::size_t connection, std::size_t s) {
  Connection& c = ledger_.connections[connection];
  Side& side = c.sides[s];
  const Guard guard(lane_.lock());
  while (side.qp != nullptr && !side.broken && side.receives_posted < side.takes.size() &&
         side.receives_posted - side.received < c.spec.receives) {
    const Message& m = c.sides[1 - s].out[side.takes[side.receives_posted]];
    const nic::Sge sge{arena_.address_of(m.target.offset), m.spec.bytes, ledger_.arena_keys[index_]};
    const bool has_bytes = m.spec.kind == WorkKind::send_immediate;
    must(side.qp->post_receive({.id = WorkId{connection, s, side.receives_posted, true}.raw(),
                                .sges = has_bytes ? std::span(&sge, 1) : std::span<const nic::Sge>{}}));
    ++side.receives_posted;
  }
}

// As ibv_poll_cq does it (verbs/ibverbs/cq.h).
std::size_t Program::poll() {
  taken_.clear();
  {
    const Guard guard(lane_.lock());
    lane_.polled();
    if (cq_->waiting() == 0) lane_.poll();
    cq_->poll(16, [this](const nic::Completion& done) { taken_.push_back(done); });
  }
  if (taken_.empty()) lane_.rest();
  for (const nic::Completion& done : taken_) on_completion(done);
  return taken_.size();
}

// ---- what it is told

void Program::on_completion(const nic::Completion& done) {
  scene_.note(index_, "completes", {done.id, static_cast<std::uint64_t>(done.status), done.bytes});
  const WorkId id = WorkId::of(done.id);
  id.is_receive ? on_received(id, done) : on_sent(id, done);
}

void Program::on_sent(const WorkId& id, const nic::Completion& done) {
  Side& side = ledger_.connections[id.connection].sides[id.side];
  if (id.index != side.completed || side.out[id.index].state != State::posted) {
    return scene_.violation(fmt::format("message {} completes when it is the turn of {}", id.index, side.completed));
  }
  Message& m = side.out[side.completed++];
  m.state = done.status == Status::success ? State::succeeded : State::failed;
  if (m.state == State::failed) on_error(side, done);
  if (m.state == State::succeeded) {
    if (const std::string wrong = look_at(m); !wrong.empty()) scene_.violation("completed, but " + wrong);
  }
  reuse(m);
}

void Program::on_received(const WorkId& id, const nic::Completion& done) {
  Connection& c = ledger_.connections[id.connection];
  Side& side = c.sides[id.side];
  if (done.status != Status::success) return on_error(side, done);
  if (id.index != side.received) {
    return scene_.violation(fmt::format("receive {} completes when it is the turn of {}", id.index, side.received));
  }
  const std::size_t index = side.takes[side.received++];
  Message& m = c.sides[1 - id.side].out[index];
  if (m.state == State::unposted || m.delivered) scene_.violation("a message arrives that was not sent, or again");
  if (done.immediate != index) scene_.violation(fmt::format("message {} arrives as {}", index, done.immediate));
  if (done.bytes != m.spec.bytes) scene_.violation("a message arrives with another length");
  if (const std::string wrong = look_at(m); !wrong.empty()) scene_.violation("received, but " + wrong);
  m.delivered = true;
  post_receives(id.connection, id.side);
}

// The first error is the reason, the others follow from it.
void Program::on_error(Side& side, const nic::Completion& done) {
  const bool first = !std::exchange(side.broken, true);
  const bool of_memory = done.status == Status::local_protection && side.may_lose_memory;
  const bool of_peer = done.status == Status::retry_exceeded && side.may_lose_peer;
  const bool follows = done.status == Status::flushed && (!first || WorkId::of(done.id).is_receive);
  if (!of_memory && !of_peer && !(follows && (side.may_lose_peer || side.may_lose_memory))) {
    scene_.violation(fmt::format("a connection breaks: status {}, lane {}, work {:x}, reason {}",
                                 static_cast<int>(done.status), index_, done.id, text(done.reason).counter));
  }
}

std::string Program::look_at(const Message& m) const {
  const std::span<const std::byte> bytes =
      scene_.program(m.target.lane).arena().bytes(m.target.offset, m.spec.bytes + Arena::kGuard);
  const std::size_t at = Pattern(Tag::message, m.seed).differs_at(bytes.first(m.spec.bytes));
  if (at != m.spec.bytes) {
    const bool stale = (static_cast<std::uint8_t>(bytes[at]) & 0xC0) == static_cast<std::uint8_t>(Tag::reused);
    return fmt::format("byte {} of {} is {}", at, m.spec.bytes,
                       stale ? "what its sender wrote there later" : "not its sender's");
  }
  const bool clean = Pattern(Tag::nothing, 0).differs_at(bytes.subspan(m.spec.bytes)) == Arena::kGuard;
  return clean ? "" : "more was written than it has";
}

// The memory of a message is the program's again, and it makes use of that at once.
void Program::reuse(const Message& m) {
  const std::span<std::byte> bytes = scene_.program(m.source.lane).arena().bytes(m.source.offset, m.spec.bytes);
  Pattern(Tag::reused, m.seed).write(bytes);
}

bool Program::is_done() const {
  return std::all_of(ledger_.connections.begin(), ledger_.connections.end(), [&](const Connection& c) {
    return std::all_of(c.sides.begin(), c.sides.end(), [&](const Side& side) {
      if (!is_mine(side) || side.qp == nullptr) return true;
      const bool sent = side.completed == side.posted && (side.broken || side.posted == side.out.size());
      return sent && (c.may_fail() || side.received == side.takes.size());
    });
  });
}

// ---- what it does to itself

// Now and then, as soon as something is unfinished: so it also happens while payloads are being fetched.
bool Program::carry_out(const FaultSpec& f) {
  const bool now = f.step != 0 || scene_.draw().chance(0.1);
  if (f.kind == FaultKind::driver_changes) {
    change_driver();
    return true;
  }
  if (f.kind == FaultKind::other_region_goes) {
    if (!now && !is_done()) return false;
    const Guard guard(lane_.lock());
    wire::Key& key = ledger_.other_keys[index_];
    if (key != wire::Key{}) must(lane_.device().deregister_region(std::exchange(key, {})));
    scene_.note(index_, "drops another region", {});
    return true;
  }
  Connection& c = ledger_.connections[f.connection];
  const Side& side = c.sides[f.side];
  if (side.qp == nullptr || side.broken || is_done()) return true;
  if (side.posted == side.completed || !now) return false;
  const Guard guard(lane_.lock());
  return f.kind == FaultKind::region_goes ? drop_region(c, f.side) : drop_queue_pair(c, f.side);
}

void Program::change_driver() {
  scene_.note(index_, "changes the driver", {});
  {
    const Guard guard(lane_.lock());
    cq_->request_notify(false);
    lane_.armed();
  }
  for (std::uint32_t polls = 0; polls <= real::DrivePolicy::kPollsToDrive; ++polls) poll();
}

bool Program::drop_region(Connection& c, std::size_t s) {
  Side& side = c.sides[s];
  const std::size_t unfinished = side.posted - side.completed, first = scene_.draw().below(unfinished);
  for (std::size_t n = 0; n < unfinished; ++n) {
    const std::size_t i = side.completed + (first + n) % unfinished;
    Message& m = side.out[i];
    if (m.spec.kind == WorkKind::read || m.source_key == wire::Key{}) continue;
    scene_.note(index_, "drops a region", {i});
    side.may_lose_memory = c.sides[1 - s].may_lose_peer = true;
    must(lane_.device().deregister_region(std::exchange(m.source_key, {})));
    reuse(m);
    return true;
  }
  return false;
}

bool Program::drop_queue_pair(Connection& c, std::size_t s) {
  Side& side = c.sides[s];
  scene_.note(index_, "drops a queue pair", {});
  c.sides[1 - s].may_lose_peer = true;
  lane_.flush();
  must(lane_.device().destroy(side.qp));
  side.qp = nullptr;
  for (std::size_t i = side.completed; i < side.posted; ++i) {
    side.out[i].state = State::failed;
    if (side.out[i].spec.kind != WorkKind::read) reuse(side.out[i]);
  }
  side.completed = side.posted;
  return true;
}

}  // namespace weft::scene

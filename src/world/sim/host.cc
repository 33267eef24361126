#include "world/sim/host.h"

#include "world/sim/world.h"

template class weft::nic::Card<weft::sim::CardWorld>;

namespace weft::sim {

void CardWorld::complete(std::uint32_t cq, const nic::Completion& done) {
  network_.trace().add(network_.now(), index_, "completion",
                       {done.id, static_cast<std::uint64_t>(done.status), static_cast<std::uint64_t>(done.kind),
                        done.bytes, done.immediate, done.qpn.raw()});
  nic::reveal(device_.card(), *this, network_.now(), cq);
  news_ = true;
}

void CardWorld::notify(const nic::HostEvent& event) {
  network_.trace().add(network_.now(), index_, "event", {static_cast<std::uint64_t>(event.kind), event.number});
  device_.on_event(event);
  news_ = true;
}

Host::Host(World& world, const wire::Address& address, const host::DeviceConfig& config, std::uint64_t seed)
    : world_(world),
      address_(address),
      numbers_(seed),
      device_(with_address(config, address), numbers_),
      index_(world.attach(*this, address)),
      effects_(world, index_, device_),
      card_(device_.card(), effects_),
      news_(world.tasks()),
      next_address_((std::uint64_t{index_} + 1) << 40) {}

host::DeviceConfig Host::with_address(host::DeviceConfig config, const wire::Address& address) {
  config.gids = {address};
  return config;
}

Memory Host::allocate(host::Domain domain, std::size_t bytes, nic::Rights rights) {
  constexpr std::uint64_t kPage = 4096;
  auto& words = memory_.emplace_back((bytes + 7) / 8);
  Memory m;
  m.bytes = std::as_writable_bytes(std::span(words)).first(bytes);
  m.address = next_address_;
  next_address_ += (bytes + 2 * kPage - 1) / kPage * kPage;  // a page of nothing between two regions
  const auto key = device_.register_region(domain, {m.bytes.data(), bytes, m.address, rights});
  assert(key.has_value());
  m.key = *key;
  return m;
}

host::Error Host::post(host::QueuePair& qp, const host::WorkRequest& request) {
  const host::Error e = qp.post_send(request);
  ring_doorbells();
  return e;
}

host::Error Host::post(host::QueuePair& qp, const host::ReceiveRequest& request) {
  const host::Error e = qp.post_receive(request);
  ring_doorbells();
  return e;
}

host::Error Host::modify(host::QueuePair& qp, const host::QpAttributes& attributes, std::uint32_t mask) {
  const host::Error e = qp.modify(attributes, mask);
  ring_doorbells();
  return e;
}

void Host::ring_doorbells() {
  if (device_.doorbells_waiting()) world_.wake(index_, world_.now());
}

void Host::lose_peer(host::QueuePair& qp) {
  if (qp.block() == nullptr) {
    card_.on_no_partner(world_.now(), qp.slot(), Refusal::retry_exceeded);
  } else {
    host::StatelessSide& side = *device_.stateless();
    side.break_off(side.of(qp.context()), nic::Status::retry_exceeded, Refusal::retry_exceeded);
  }
  world_.wake(index_, world_.now());
}

Task<nic::Completion> Host::completion(host::CompletionQueue& cq) {
  nic::Completion done;
  while (cq.poll({&done, 1}) == 0) co_await news_.wait();
  co_return done;
}

Task<nic::HostEvent> Host::async_event() {
  std::optional<nic::HostEvent> event;
  while (!(event = device_.next_async_event())) co_await news_.wait();
  co_return *event;
}

Task<host::CompletionQueue*> Host::completion_event(std::uint32_t channel) {
  host::CompletionQueue* cq = nullptr;
  while ((cq = device_.next_completion_event(channel)) == nullptr) co_await news_.wait();
  co_return cq;
}

void Host::on_parcel(Time now, const Parcel& parcel) {
  if (const auto until = stopped_until(now)) return hold(parcel, *until);
  if (look_after_ > 0) return hold(parcel, now + look_after_);
  card_.on_packet(now, parcel.packet());
  drive(now);
}

void Host::hold(const Parcel& parcel, Time until) {
  if (held_.empty()) world_.wake(index_, look_at_ = until);
  held_.add(parcel);
}

void Host::on_refused(Time, Refusal why) { card_.on_refused(why); }

void Host::on_wake(Time now) {
  if (const auto until = stopped_until(now)) return world_.wake(index_, *until);
  if (!held_.empty() && now >= look_at_) held_.hand_over([&](auto packets) { card_.on_packets(now, packets); });
  card_.on_time(now);
  if (device_.stateless() != nullptr) device_.stateless()->on_time(now);
  drive(now);
}

// Both directions of the control queue, as far as their delay has passed.
void Host::serve_control(Time now) {
  auto& losses = effects_.losses();
  bool more = true;
  while (more) {
    more = false;
    while (!losses.empty() && losses.front().due <= now) {
      device_.tell(losses.front().event);
      losses.pop_front();
      device_.take_losses([&](const nic::ControlMessage& m) { answers_.push_back({now + effects_.control_delay, m}); });
    }
    while (!answers_.empty() && answers_.front().due <= now) {
      const nic::ControlMessage m = answers_.front().message;
      answers_.pop_front();
      card_.on_control(now, m);
      more = true;
    }
  }
  if (!losses.empty()) world_.wake(index_, losses.front().due);
  if (!answers_.empty()) world_.wake(index_, answers_.front().due);
}

// Lets the card do what it can now. It sends no faster than its link carries: a card does not hold packets in store.
void Host::drive(Time now) {
  device_.take_doorbells([&](std::uint32_t slot) { card_.on_doorbell(now, slot); });
  if (host::StatelessSide* side = device_.stateless()) {
    side->take_posts(now, [&](nic::StatelessBlock& block) { card_.on_stateless_post(now, block); });
    if (const Time next = side->next_deadline(); next != kNever) world_.wake(index_, std::max(next, now));
  }
  serve_control(now);
  while (card_.has_work()) {
    const Time link_free = world_.link(world_.uplink(index_)).free_at();
    if (link_free > now) {
      world_.wake(index_, link_free);
      break;
    }
    if (turns_first_) card_.give_turns(now, 1);
    card_.transmit(now, turns_first_ ? 0 : 1);
  }
  if (effects_.take_news()) news_.notify_all();
  if (const Time next = card_.next_deadline(); next != kNever) world_.wake(index_, std::max(next, now));
  if (!held_.empty()) world_.wake(index_, look_at_);
}

}  // namespace weft::sim

#include "world/sim/network.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "base/canary.h"
#include "wire/ip.h"
#include "world/sim/corruption.h"

namespace weft::sim {
namespace {

// Streams of chance that are drawn from one seed.
enum class Stream : std::uint64_t { ties = 1, world = 2, faults = 1'000 };

constexpr std::uint32_t kPauseFrameBytes = 84;  // the smallest frame, with preamble and gap

Random stream(std::uint64_t seed, Stream which, std::uint64_t number = 0) {
  return Random(seed).fork(static_cast<std::uint64_t>(which) + number);
}

}  // namespace

Network::Network(std::uint64_t seed)
    : queue_(stream(seed, Stream::ties).next()), seed_(seed), random_(stream(seed, Stream::world)) {}

HostIndex Network::add_host(const wire::Address& address) {
  const auto index = static_cast<HostIndex>(uplinks_.size());
  uplinks_.push_back(kNoLink);
  addresses_.add(address, index);
  return index;
}

SwitchIndex Network::add_switch() {
  switches_.emplace_back();
  return static_cast<SwitchIndex>(switches_.size() - 1);
}

LinkIndex Network::add_link(Link::End from, Link::End to, const LinkSpec& spec) {
  assert(to.index < (to.is_host ? uplinks_.size() : switches_.size()));
  links_.emplace_back(spec, from, to);
  const auto index = static_cast<LinkIndex>(links_.size() - 1);
  set_faults(index, spec.faults);
  return index;
}

LinkIndex Network::add_uplink(HostIndex from, Link::End to, const LinkSpec& spec) {
  assert(uplinks_[from] == kNoLink);
  return uplinks_[from] = add_link({.is_host = true, .index = from}, to, spec);
}

LinkIndex Network::add_port(SwitchIndex from, Link::End to, const LinkSpec& spec) {
  const LinkIndex index = add_link({.is_host = false, .index = from}, to, spec);
  if (to.is_host) set_route(from, to.index, index);
  return index;
}

void Network::set_faults(LinkIndex index, const FaultPlan& plan) {
  Link& link = links_[index];
  if (LinkFaults* old = link.faults(); old != nullptr) {
    old->let_all_go([&](ParcelId id) { arrive_behind(link.next_arrival(now()), index, id); });
  }
  if (plan.empty()) return link.set_faults(nullptr);
  const Random random = stream(seed_, Stream::faults, injectors_++);
  link.set_faults(std::make_unique<LinkFaults>(plan, random, world_count_));
}

void Network::put_on_faulty_wire(LinkIndex index, ParcelId id, Time earliest) {
  Link& link = links_[index];
  LinkFaults& faults = *link.faults();
  const std::uint32_t bytes = parcels_[id].wire_bytes;
  const Time arrival = link.carry(earliest, bytes);
  const Fate verdict = faults.judge(link.free_at());
  const ParcelId second = verdict.duplicate ? parcels_.copy(id) : ParcelId{};

  if (verdict.drop) {
    trace_.dropped(now(), index, verdict.reason, parcels_[id]);
    parcels_.release(id);
  } else {
    if (verdict.corrupt && !canary(Canary::corruption_unseen)) corrupt(parcels_[id], faults.random());
    if (verdict.mark) parcels_[id].flow.traffic_class |= wire::kCongestionExperienced;
    if (verdict.hold) {
      push(arrival + faults.plan().hold, FabricEventKind::let_go, index, holds_);
      faults.hold(id, holds_++);
    } else if (verdict.late > 0) {
      arrive_at(arrival + verdict.late, index, id);
    } else {
      pass(arrival, index, id);
    }
  }
  if (verdict.duplicate) pass(link.carry(earliest, bytes), index, second);
}

// A packet gets through in time, and whoever waited for that follows it.
void Network::pass(Time at, LinkIndex index, ParcelId id) {
  arrive_behind(at, index, id);
  Link& link = links_[index];
  if (!link.faults()->holding()) return;
  link.faults()->let_all_go([&](ParcelId held) { arrive_behind(link.next_arrival(at), index, held); });
}

void Network::let_go(LinkIndex index, std::uint32_t ticket) {
  LinkFaults* faults = links_[index].faults();
  ParcelId id{};
  if (faults == nullptr || !faults->let_go(ticket, id)) return;  // another packet has passed meanwhile
  arrive_at(now(), index, id);
}

void Network::drop_unroutable(ParcelId id) {
  ++counters_.unroutable;
  trace_.dropped(now(), kNoLink, DropReason::no_route, parcels_[id]);
  parcels_.release(id);
}

// ---- pausing, and switches with a buffer that has an end -------------------------------------------------------

void Network::add_queue_to(LinkIndex index) {
  Link& link = links_[index];
  const auto back = std::find_if(links_.begin(), links_.end(), [&](const Link& other) {
    return other.from() == link.to() && other.to() == link.from();
  });
  assert(back != links_.end());
  link.set_queue(std::make_unique<LinkQueue>(static_cast<LinkIndex>(back - links_.begin())));
}

void Network::let_pause(HostIndex host) {
  add_queue_to(uplinks_[host]);
  add_queue_to(links_[uplinks_[host]].queue()->back());
}

std::uint64_t pause_headroom(const Link& in, const Link& back) {
  const Time heard = back.duration(kLargestPacket + kPauseFrameBytes) + back.delay();
  return in.bytes_in(heard + in.delay()) + 2 * kLargestPacket;
}

void Network::set_buffer(SwitchIndex at, const BufferSpec& spec) {
  auto buffer = std::make_unique<SharedBuffer>(spec);
  const Link::End self{.is_host = false, .index = at};
  for (LinkIndex i = 0; i < links_.size(); ++i) {
    Link& link = links_[i];
    const bool in = link.to() == self;
    if (!in && link.from() != self) continue;
    if (link.queue() == nullptr && (!in || spec.pause)) add_queue_to(i);
    const std::uint64_t headroom = in && spec.pause ? pause_headroom(link, links_[link.queue()->back()]) : 0;
    if (!buffer->add(i, headroom)) throw std::runtime_error("a switch's buffer is smaller than its ports' headroom");
  }
  switches_[at].set_buffer(std::move(buffer));
}

// A packet is charged to the way in that brought it if that can be paused, or else to the way out that it waits for.
void Network::store(SharedBuffer& buffer, LinkIndex in, LinkIndex out, ParcelId id) {
  const LinkIndex share = buffer.pauses() ? in : out;
  const std::uint32_t bytes = parcels_[id].wire_bytes;
  if (!buffer.take(share, bytes)) {
    ++counters_.no_room;
    trace_.dropped(now(), out, DropReason::no_room, parcels_[id]);
    return parcels_.release(id);
  }
  links_[out].queue()->add({id, bytes, share, now()});
  if (buffer.begins_pause(share)) tell_to_pause(share, true);
  serve(out);
}

// Puts on the wire what may leave by now. A host tells late of what has left a while ago, and then this is several.
void Network::serve(LinkIndex index) {
  Link& link = links_[index];
  LinkQueue& queue = *link.queue();
  while (link.free_at() <= now()) {
    clear(index);
    if (!queue.has_next()) return;
    const Time start = std::max(queue.next_at(), link.free_at());
    if (start > now()) {
      if (queue.look_at(start)) push(start, FabricEventKind::queue, index, 0);
      return;
    }
    put_on_wire(index, queue.take_next(), start);
  }
  if (queue.has_to_look() && queue.look_at(link.free_at())) push(link.free_at(), FabricEventKind::queue, index, 0);
}

// What was on the wire is no longer in the buffer, which may have room for others now.
void Network::clear(LinkIndex index) {
  const LinkQueue::Packet left = links_[index].queue()->take_left();
  if (left.share == kNoLink) return;
  SharedBuffer& buffer = *switches_[links_[index].from().index].buffer();
  buffer.give_back(left.share, left.bytes);
  buffer.end_pauses([&](LinkIndex in) { tell_to_pause(in, false); });
}

// The frame goes before all that waits, also on a link that is paused itself.
void Network::tell_to_pause(LinkIndex index, bool stop) {
  counters_.pauses += stop ? 1 : 0;
  const Time heard = links_[links_[index].queue()->back()].carry(now(), kPauseFrameBytes);
  push(heard, stop ? FabricEventKind::pause : FabricEventKind::go_on, index, 0);
}

FaultCounters Network::fault_counters() const {
  FaultCounters sum;
  for (const Link& link : links_) {
    if (link.faults() != nullptr) sum += link.faults()->counters();
  }
  return sum;
}

}  // namespace weft::sim

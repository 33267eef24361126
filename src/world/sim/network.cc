#include "world/sim/network.h"

#include <algorithm>
#include <memory>

#include "base/canary.h"
#include "wire/ip.h"
#include "world/sim/corruption.h"

namespace weft::sim {
namespace {

// Streams of chance that are drawn from one seed.
enum class Stream : std::uint64_t { ties = 1, world = 2, faults = 1'000 };

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

LinkIndex Network::add_link(Link::End to, const LinkSpec& spec) {
  assert(to.index < (to.is_host ? uplinks_.size() : switches_.size()));
  links_.emplace_back(spec, to);
  const auto index = static_cast<LinkIndex>(links_.size() - 1);
  set_faults(index, spec.faults);
  return index;
}

LinkIndex Network::add_uplink(HostIndex from, Link::End to, const LinkSpec& spec) {
  assert(uplinks_[from] == kNoLink);
  return uplinks_[from] = add_link(to, spec);
}

LinkIndex Network::add_port(SwitchIndex from, Link::End to, const LinkSpec& spec) {
  const LinkIndex index = add_link(to, spec);
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

void Network::transmit_with_faults(LinkIndex index, ParcelId id, Time earliest) {
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
      push(arrival + faults.plan().hold, Kind::let_go, index, holds_);
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

FaultCounters Network::fault_counters() const {
  FaultCounters sum;
  for (const Link& link : links_) {
    if (link.faults() != nullptr) sum += link.faults()->counters();
  }
  return sum;
}

}  // namespace weft::sim

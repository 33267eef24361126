// Everything between the hosts: event queue, packets in flight, links, switches, and the record of what happened. What
// a host is, it does not know; that is fabric.h.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "wire/star.h"
#include "wire/types.h"
#include "world/sim/event_kind.h"
#include "world/sim/event_queue.h"
#include "world/sim/link.h"
#include "world/sim/parcel.h"
#include "world/sim/routes.h"
#include "world/sim/switch.h"
#include "world/sim/trace.h"

namespace weft::sim {

using SwitchIndex = std::uint32_t;

struct NetworkCounters {
  std::uint64_t sent = 0;       // by hosts
  std::uint64_t hops = 0;       // arrivals at a link's far end
  std::uint64_t delivered = 0;  // to hosts
  std::uint64_t refused = 0;    // by the ports of hosts, because they were corrupted
  std::uint64_t unroutable = 0;
  std::uint64_t no_room = 0;  // dropped by switches
  std::uint64_t pauses = 0;   // frames of PFC that say so
};

// What still comes over a link when it is decided that the far end should pause: while the frame that is on the wire
// the other way leaves, and then the one that says so, and goes its way; the packet that the far end has begun; what is
// on the cable; and the packet that was too many.
[[nodiscard]] std::uint64_t pause_headroom(const Link& in, const Link& back);

class Network {
 public:
  explicit Network(std::uint64_t seed);
  Network(const Network&) = delete;  // injectors point into it
  Network& operator=(const Network&) = delete;

  // ---- building; topology.h has the usual shapes ----
  HostIndex add_host(const wire::Address& address);
  SwitchIndex add_switch();
  // A host's only way out, to `to`. A link to a host is a way in.
  LinkIndex add_uplink(HostIndex from, Link::End to, const LinkSpec& spec);
  LinkIndex add_port(SwitchIndex from, Link::End to, const LinkSpec& spec);
  void set_route(SwitchIndex at, HostIndex destination, LinkIndex out) { switches_[at].set_route(destination, out); }
  // Gives a switch that has all its links a buffer with an end; links to and from it have rates. Throws
  // std::runtime_error if it is smaller than the headroom of its ports.
  void set_buffer(SwitchIndex at, const BufferSpec& spec);
  // The cards at both ends of this host's cable can pause each other (PFC). A switch: see set_buffer.
  void let_pause(HostIndex host);
  // Replaces what goes wrong on a link; packets that waited on it to be overtaken go on at once.
  void set_faults(LinkIndex link, const FaultPlan& plan);

  // ---- sending ----
  // The parcel is the network's from here on. It leaves not before `earliest`; a host's packets leave in the order of
  // these calls. One that left a while ago may be told of until it arrives (Link::earliest_arrival).
  void send(HostIndex from, ParcelId id, Time earliest) {
    Parcel& parcel = parcels_[id];
    parcel.from = from;
    const AddressKey destination(parcel.flow.destination);
    parcel.to = addresses_.find(destination);
    parcel.wire_bytes = wire_bytes(destination.is_v4(), wire::header_bytes(parcel.headers), parcel.payload_bytes);
    ++counters_.sent;
    if (parcel.to == kNoHost || uplinks_[from] == kNoLink) [[unlikely]]
      return drop_unroutable(id);
    transmit(uplinks_[from], id, earliest);
  }
  void send(HostIndex from, ParcelId id) { send(from, id, now()); }

  // ---- pausing (PFC) ----
  // Can a host ask its neighbour, the switch or the host that it is connected to?
  [[nodiscard]] bool can_pause(HostIndex host) const { return links_[uplinks_[host]].queue() != nullptr; }
  // A host that can has its neighbour's packets for it wait, or go on; a frame tells it. Pauses last until then.
  void pause_neighbour(HostIndex host, bool stop) { tell_to_pause(links_[uplinks_[host]].queue()->back(), stop); }
  [[nodiscard]] Time neighbour_paused_for(HostIndex host) const {
    return links_[links_[uplinks_[host]].queue()->back()].queue()->paused_for(now());
  }
  // When all that was offered to a link will have left; kNever while it is paused.
  [[nodiscard]] Time clear_at(LinkIndex index) const {
    const Link& link = links_[index];
    const LinkQueue* queue = link.queue();
    if (queue == nullptr) [[likely]]
      return link.free_at();
    return queue->paused() ? kNever : link.free_at() + link.duration(queue->bytes());
  }

  // ---- what there is ----
  [[nodiscard]] Time now() const { return queue_.now(); }
  [[nodiscard]] EventQueue& queue() { return queue_; }
  [[nodiscard]] ParcelPool& parcels() { return parcels_; }
  [[nodiscard]] TraceDigest& trace() { return trace_; }
  // The world's own stream of chance, for workloads and applications.
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] const Link& link(LinkIndex index) const { return links_[index]; }
  [[nodiscard]] std::size_t links() const { return links_.size(); }
  [[nodiscard]] std::size_t hosts() const { return uplinks_.size(); }
  [[nodiscard]] LinkIndex uplink(HostIndex host) const { return uplinks_[host]; }
  [[nodiscard]] const NetworkCounters& counters() const { return counters_; }
  // All injectors' counters together.
  [[nodiscard]] FaultCounters fault_counters() const;

 protected:
  // A packet came to the switch at the end of a link.
  void forward(LinkIndex in, ParcelId id) {
    const Switch& at = switches_[links_[in].to().index];
    const LinkIndex out = at.route(parcels_[id].to);
    if (out == kNoLink) [[unlikely]]
      return drop_unroutable(id);
    if (at.buffer() != nullptr) [[unlikely]]
      return store(*at.buffer(), in, out, id);
    transmit(out, id, now());
  }
  void look_after_queue(LinkIndex index) {
    links_[index].queue()->looked(now());
    serve(index);
  }
  void serve(LinkIndex index);
  void let_go(LinkIndex link, std::uint32_t ticket);
  // The first packet in a link's line arrives.
  void advance_line(LinkIndex link) {
    if (Event next; links_[link].line().has_next(next)) queue_.push(next);
  }

  void push(Time at, FabricEventKind kind, std::uint32_t target, std::uint32_t argument) {
    queue_.push(at, static_cast<std::uint8_t>(kind), target, argument);
  }

  EventQueue queue_;
  ParcelPool parcels_;
  std::vector<Link> links_;
  TraceDigest trace_;
  NetworkCounters counters_;

 private:
  void transmit(LinkIndex index, ParcelId id, Time earliest) {
    LinkQueue* queue = links_[index].queue();
    if (queue == nullptr) [[likely]]
      return put_on_wire(index, id, earliest);
    queue->add({id, parcels_[id].wire_bytes, kNoLink, earliest});
    serve(index);
  }
  void put_on_wire(LinkIndex index, ParcelId id, Time earliest) {
    Link& link = links_[index];
    if (link.faults() != nullptr) [[unlikely]]
      return put_on_faulty_wire(index, id, earliest);
    arrive_behind(link.carry(earliest, parcels_[id].wire_bytes), index, id);
  }
  void arrive_at(Time at, LinkIndex link, ParcelId id) {
    push(at, FabricEventKind::arrive, link, static_cast<std::uint32_t>(id));
  }
  // The same, behind all others that keep their order on this link. Between a few hosts this makes the queue so short
  // that it costs half; with many links it would only cost more of the machine's caches.
  void arrive_behind(Time at, LinkIndex index, ParcelId id) {
    constexpr std::size_t kFew = 32;
    if (links_.size() > kFew) return arrive_at(at, index, id);
    const Event event =
        queue_.make(at, static_cast<std::uint8_t>(FabricEventKind::next), index, static_cast<std::uint32_t>(id));
    if (links_[index].line().joins_as_first(event)) queue_.push(event);
  }
  void put_on_faulty_wire(LinkIndex index, ParcelId id, Time earliest);
  void pass(Time at, LinkIndex index, ParcelId id);
  void drop_unroutable(ParcelId id);
  void store(SharedBuffer& buffer, LinkIndex in, LinkIndex out, ParcelId id);
  void clear(LinkIndex index);
  void tell_to_pause(LinkIndex index, bool stop);
  void add_queue_to(LinkIndex index);
  LinkIndex add_link(Link::End from, Link::End to, const LinkSpec& spec);

  std::vector<Switch> switches_;
  std::vector<LinkIndex> uplinks_;  // by host
  AddressTable addresses_;
  std::uint64_t seed_;
  Random random_;
  std::uint64_t world_count_ = 0;  // packets offered to injectors that count world-wide
  std::uint32_t injectors_ = 0;
  std::uint32_t holds_ = 0;  // tickets given to packets that wait to be overtaken
};

}  // namespace weft::sim

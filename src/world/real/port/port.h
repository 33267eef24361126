// The port of a lane: which way each packet takes (UDP, or the ring of a lane on this host), and what arrives by both.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/exporter.h"
#include "nic/world.h"
#include "wire/star.h"
#include "world/real/broker/broker_client.h"
#include "world/real/os/time.h"
#include "world/real/port/local_peers.h"
#include "world/real/port/ring_input.h"
#include "world/real/port/udp_input.h"
#include "world/real/settings/settings.h"
#include "world/real/udp/udp_sender.h"

namespace weft::real {

// How packets go to other hosts.
struct FarWays {
  bool merge = true;               // as segments of one datagram, if they leave together
  std::uint32_t source_ports = 1;  // queue pairs are spread over so many
};

class Port final : public host::Exporter {
 public:
  Port(WireChoice wire, BrokerClient& broker, FarWays far = {})
      : wire_(wire), far_(far), broker_(broker), rings_(peers_), udp_(peers_) {}

  void open(BrokerClient::Joined joined, std::span<const wire::Address> addresses, SharedStatus& shared_status,
            OneCopy one_copy, Time now);
  void close();  // before anything was sent; it may be opened again
  [[nodiscard]] bool is_open() const { return udp_.is_open(); }
  [[nodiscard]] std::span<const int> sockets() const { return udp_.sockets(); }
  [[nodiscard]] std::uint32_t lines_taken() const { return udp_.lines_taken(); }  // each time, sockets() are others
  [[nodiscard]] std::uint8_t lane_number() const { return lane_number_; }

  // -- out --
  void set_now(Time now) { now_ = now; }
  [[nodiscard]] Time now() const { return now_; }
  // Bursts go to a lane whose memory we share; and to other hosts as so many packets.
  [[nodiscard]] nic::BurstLimits burst_limits(const wire::Flow& flow, wire::Qpn destination) {
    const Route& route = route_to(flow, wire::lane_number(destination));
    if (route.peer == nullptr) return {.near = kLongestBurst, .split = true};
    if (!route.peer->ring || !route.peer->takes_bursts()) return {};
    return {.near = kLongestBurst,
            .one_copy = route.peer->out.may_export() ? kLongestOneCopy : 0,
            .one_copy_from = kOneCopyFrom,
            .one_copy_message = kOneCopyMessage};
  }
  // Something that a local peer has not fetched yet.
  [[nodiscard]] bool has_exported() const { return peers_.has_exported(); }
  void revoke_all() override { peers_.revoke_all(); }
  void revoke(const std::byte* from, std::uint64_t bytes) override {
    const auto first = std::bit_cast<std::uint64_t>(from);
    peers_.revoke(first, first + bytes);
  }
  // What this packet's flow will be: from the port of the socket that it leaves by, which the ICRC covers.
  [[nodiscard]] wire::Flow flow_of(const nic::OutPacket& packet) {
    Route& route = route_to(packet.flow, wire::lane_number(packet.flow, packet.headers));
    return flow_by(udp_of(route, packet.flow), packet.flow);
  }
  void emit(const nic::OutPacket& packet);                                 // leaves with flush()
  void send(const wire::Flow& flow, std::span<const std::byte> datagram);  // likewise
  void show() { peers_.show(); }  // what is in rings is there to be seen; all the rest happens with flush()
  void flush();
  [[nodiscard]] bool holds_unsent() const { return peers_.has_unpublished() || !sender_.empty(); }
  // Do packets to local peers go through rings? Else what is owed goes first, and with a small message in one datagram.
  [[nodiscard]] bool has_rings() const { return peers_.has_rings(); }
  // A local peer takes no more for now; as long as this holds, nothing more should be emitted.
  [[nodiscard]] bool blocked() { return peers_.blocked(now_); }

  // -- in --
  // Calls take(flow, datagram, how) for what has arrived, and settle() before the bytes go. False: nothing had. `idle`:
  // there is nothing else to do. A ring costs nothing to look at, a socket a system call.
  template <class Take, class Settle>
  bool receive(bool idle, Take&& take, Settle&& settle) {
    const bool any = rings_.receive(take, settle);
    udp_.notice();
    if (any && !udp_.is_overdue(now_)) return true;
    return udp_.receive(now_, idle, take, settle, [this] { hear_introductions(); }) || any;
  }
  // The oldest record of this ring.
  template <class Take, class Settle>
  void hear_one(LocalPeer& peer, Take&& take, Settle&& settle) {
    rings_.hear_one(peer, take, settle);
  }
  // All that a local peer who has gone left in its ring.
  template <class Take, class Settle>
  void hear_out(std::uint32_t lane_number, Take&& take, Settle&& settle) {
    rings_.hear_out(lane_number, take, settle);
  }
  // The next receive() looks at all sockets, if there is nothing in a ring.
  void look_at_sockets() { udp_.look_at_all(); }
  // Something came that is for another lane.
  void doubt_line() { udp_.doubt_line(); }
  // One whose ring has something, if there is any.
  [[nodiscard]] LocalPeer* full_ring() const { return peers_.readable(); }
  [[nodiscard]] bool rings_empty() const { return full_ring() == nullptr; }
  // Local peers have announced nothing that may be in a socket. Of others only a socket can tell.
  [[nodiscard]] bool is_quiet() const { return udp_.is_quiet(); }
  // Who exports the payload that take() is called with.
  [[nodiscard]] const RingExport& exported_by() const { return rings_.exported_by(); }

  // -- local peers --
  // Whom the broker names is local from now on: its packed datagrams count.
  void name(const LocalPeerInfo& who);
  void on_met(Incoming& in);
  [[nodiscard]] std::size_t local_peers() const { return peers_.size(); }

  // -- a broker that was killed --
  // The next one can open the address's sockets when all of the last one's are closed. Until renew(), nothing comes and
  // goes but through rings.
  void close_sockets();
  void renew(BrokerClient::Joined joined);

  // The lane speaks StaR from now on, and hears at its ports.
  [[nodiscard]] bool hears_star() const { return udp_.hears_star(); }
  void add_sockets(std::vector<Descriptor> sockets) { udp_.add(std::move(sockets)); }

  void abandon() {
    udp_.abandon();
    for (auto& [key, route] : routes_) route.own_socket.reset();
    far_sockets_.clear();
  }

  [[nodiscard]] std::uint64_t sent_calls() const { return sender_.calls(); }
  [[nodiscard]] std::uint64_t not_sent() const { return sender_.failed() + ring_full_ + unreached_; }
  [[nodiscard]] std::uint64_t fragmented() const { return sender_.fragmented(); }
  [[nodiscard]] std::uint64_t dropped() const { return udp_.dropped(); }

 private:
  static constexpr Time kAskAgain = seconds(1);  // the broker, for a lane that was not there

  struct Route {
    UdpRoute udp{};
    std::vector<UdpRoute> more{};  // to another host, from other source ports
    LocalPeer* peer = nullptr;
    Time asked = 0;
    Descriptor own_socket{};
  };
  struct RouteKey {
    wire::Address destination{};
    std::uint32_t socket = 0;
    std::uint16_t lane_number = 0;
    wire::UdpPort to{};
    friend bool operator==(const RouteKey&, const RouteKey&) = default;
  };
  struct RouteHash {
    std::size_t operator()(const RouteKey& key) const;
  };

  [[nodiscard]] Route& route_to(const wire::Flow& flow, std::uint8_t lane_number) {
    const RouteKey key{flow.destination, socket_of(flow.source), lane_number, flow.to};
    if (last_ != nullptr && last_key_ == key && (last_->peer != nullptr || now_ - last_->asked < kAskAgain)) [[likely]]
      return *last_;
    return find_route(key);
  }
  [[nodiscard]] std::uint32_t socket_of(const wire::Address& source) const {
    return udp_.addresses().size() == 1 ? 0 : socket_among(source);
  }
  [[nodiscard, gnu::noinline]] std::uint32_t socket_among(const wire::Address& source) const {
    const std::span<const wire::Address> addresses = udp_.addresses();
    for (std::uint32_t i = 1; i < addresses.size(); ++i) {
      if (addresses[i] == source) return i;
    }
    return 0;
  }
  void forget_routes();
  [[nodiscard]] Route& find_route(const RouteKey& key);
  void prefer_own_socket(const RouteKey& key, Route& route);
  void spread(const RouteKey& key, Route& route);
  // By the source port that the card gives a queue pair's packets; or by the one that they have got already.
  [[nodiscard]] static UdpRoute& udp_of(Route& route, const wire::Flow& flow) {
    if (route.more.empty()) [[likely]]
      return route.udp;
    return one_of_more(route, flow.source_port);
  }
  [[nodiscard]] static UdpRoute& one_of_more(Route& route, std::uint16_t source_port);
  [[nodiscard]] LocalPeer* ask_for(const RouteKey& key);
  void hear_introductions();
  // With --wire shm, for whom there is no ring: all but the broker, to whom management datagrams go.
  [[nodiscard]] bool is_out_of_reach(const Route& route, std::uint32_t lane_number) {
    const bool out = wire_ == WireChoice::shm && route.peer == nullptr && lane_number != 0;
    unreached_ += out ? 1 : 0;
    return out;
  }
  [[nodiscard]] static wire::Flow flow_by(const UdpRoute& way, wire::Flow flow) {
    wire::set_source_port(flow, way.source_port);
    return flow;
  }
  void emit_into_ring(Route& route, const nic::OutPacket& packet);

  WireChoice wire_;
  FarWays far_;
  BrokerClient& broker_;
  std::uint8_t lane_number_ = 0;
  Time now_ = 0;

  LocalPeers peers_;
  std::unordered_map<RouteKey, Route, RouteHash> routes_;
  RouteKey last_key_{};
  Route* last_ = nullptr;
  // From which packets leave for other hosts, beside those of port 4791: for each address, so many. They hear nothing.
  struct FarSocket {
    std::uint32_t address;
    std::uint16_t source_port;
    Descriptor socket;
  };
  std::vector<FarSocket> far_sockets_;
  UdpSender sender_;
  RingInput rings_;
  UdpInput udp_;
  std::uint64_t ring_full_ = 0, unreached_ = 0;
  OneCopy one_copy_ = OneCopy::off;
  std::uint64_t token_ = 0;  // by which local peers know our memory
};

}  // namespace weft::real

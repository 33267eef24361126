// The port of a lane: which way each packet takes (UDP, or the ring of a lane on this host), the tap that sees it, the
// faults that befall it on purpose, and what arrives.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "host/exporter.h"
#include "nic/world.h"
#include "wire/packed_datagram.h"
#include "world/real/broker/broker_client.h"
#include "world/real/os/clock.h"
#include "world/real/port/local_peers.h"
#include "world/real/port/port_faults.h"
#include "world/real/port/tap.h"
#include "world/real/settings/settings.h"
#include "world/real/udp/udp_receiver.h"
#include "world/real/udp/udp_sender.h"

namespace weft::real {

// An exported payload in a local peer's ring.
struct RingExport : wire::Export {
  LocalPeer* exporter = nullptr;
  std::uint64_t position = 0;
};

class Port final : public host::Exporter {
  // How a datagram goes on, in or out, when the impairments let it. Of deduced types, and so before their use.
  [[nodiscard]] auto departure() {
    return [this](const wire::Flow& flow, std::span<const std::byte> datagram, std::string_view note) {
      if (tap_) tap_->packet(now_, Direction::outbound, flow, datagram, note);
      leave(flow, datagram);
    };
  }
  template <class Take, class Settle>
  [[nodiscard]] auto arrival(Take& take, Settle& settle) {
    return [&, this](const wire::Flow& flow, std::span<const std::byte> datagram, std::string_view note) {
      if (tap_) tap_->packet(now_, Direction::inbound, flow, datagram, note);
      take(flow, datagram, DatagramTraits{});
      settle();
    };
  }

 public:
  Port(const Settings& settings, BrokerClient& broker);

  [[nodiscard]] std::optional<Trouble> open(BrokerClient::Joined joined, std::span<const wire::Address> addresses,
                                            SharedStatus& shared_status, Time now);
  void close();  // before anything was sent; it may be opened again
  [[nodiscard]] bool is_open() const { return !sockets_.empty(); }
  [[nodiscard]] std::span<const int> sockets() const { return sockets_; }
  [[nodiscard]] std::uint32_t lines_taken() const { return lines_taken_; }  // each time, sockets() are others
  [[nodiscard]] std::uint8_t lane_number() const { return lane_number_; }

  // -- out --
  void set_now(Time now) { now_ = now; }
  // Bursts only go to a lane whose memory we share.
  [[nodiscard]] nic::BurstLimits burst_limits(const wire::Flow& flow, wire::Qpn destination) {
    const Route& route = route_to(flow, wire::lane_number(destination));
    const bool joins = !slow_ && route.peer != nullptr && route.peer->ring && route.peer->takes_bursts();
    if (!joins) return {};
    return {.near = kLongestBurst,
            .one_copy = route.peer->out.may_export() ? kLongestOneCopy : 0,
            .one_copy_from = kOneCopyFrom,
            .one_copy_message = kOneCopyMessage};
  }
  // Of the exported payload that take() is called with; without a exporter, it was told that we do not fetch.
  [[nodiscard]] const RingExport& exported_by() const { return export_; }
  // Fetches from the first one's exporter, as many as are its. How many of them, from the first, were all there.
  [[nodiscard]] static std::size_t fetch(std::span<const nic::OneCopyPiece> pieces);
  // Something that a local peer has not fetched yet.
  [[nodiscard]] bool has_exported() const { return peers_.has_exported(); }
  void revoke_all() override { peers_.revoke_all(); }
  void revoke(const std::byte* from, std::uint64_t bytes) override {
    const auto first = std::bit_cast<std::uint64_t>(from);
    peers_.revoke(first, first + bytes);
  }
  void emit(const nic::OutPacket& packet);                                 // leaves with flush()
  void send(const wire::Flow& flow, std::span<const std::byte> datagram);  // likewise
  void show() { peers_.show(); }  // what is in rings is there to be seen; all the rest happens with flush()
  void flush();
  [[nodiscard]] bool holds_unsent() const { return peers_.has_unpublished() || !sender_.empty(); }
  // Do packets to local peers go through rings? Else what is owed goes first, and with a small message in one datagram.
  [[nodiscard]] bool has_rings() const { return peers_.has_rings(); }
  // May what comes and goes through rings do so without anybody's knowing the time?
  [[nodiscard]] bool is_timeless() const { return has_rings() && !slow_; }
  // A local peer takes no more for now; as long as this holds, nothing more should be emitted.
  [[nodiscard]] bool blocked() { return peers_.blocked(now_); }

  // -- in --
  // Calls take(flow, datagram, how) for what has arrived, and settle() before the bytes go. False: nothing had. `idle`:
  // there is nothing else to do.
  template <class Take, class Settle>
  bool receive(bool idle, Take&& take, Settle&& settle) {
    bool any = false;
    // By index: what is settled may be answered to a lane that we have not met yet. None leaves meanwhile: only
    // Engine::on_met hears of that.
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      LocalPeer& peer = peers_[i];
      if (peer.in.empty()) continue;
      any = true;
      hear_ring(peer, take, settle);
    }
    // A local peer's ring costs nothing to look at, a socket a system call. Local peers announce what they send to it.
    if (const std::int64_t sent = shared_status_->udp_sent.load(std::memory_order_relaxed); sent != announced_) {
      announced_ = sent;
      eager_ = kEagerPolls;
    }
    if (any) return true;
    const bool eager = eager_ > 0;
    if (eager) {
      --eager_;
    } else if (!peers_.empty() && now_ < sockets_at_) {
      return false;
    }
    sockets_at_ = now_ + kSocketsEvery;
    // Each is a system call. By which something came last, something will come next; the others are asked in between.
    const bool all = !eager || ++asked_ % kAskAll == 0;
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      if ((i != busy_ && !all) || !receive_udp(i, idle, take, settle)) continue;
      busy_ = i;
      any = true;
    }
    if (all && !any) found_all_empty();
    return any;
  }
  // Something came that is for another lane: by the line, perhaps, whose far port now is another program's.
  void doubt_line() { line_.doubted = true; }
  // The next receive() does, if there is nothing in a ring.
  void look_at_sockets() {
    eager_ = kEagerPolls;
    asked_ = kAskAll - 1;
  }
  // The oldest record of this ring; not where packets are looked at, or tampered with.
  template <class Take, class Settle>
  void hear_one(LocalPeer& peer, Take&& take, Settle&& settle) {
    peer.measure([&] {
      read_records(peer, 1, take);
      settle();
    });
    peer.in.done();
  }
  // All that a local peer who has gone left behind: one ring full at most.
  template <class Take, class Settle>
  void hear_out(std::uint32_t lane_number, Take&& take, Settle&& settle) {
    LocalPeer* const peer = peers_.find(lane_number);
    if (peer == nullptr) return;
    for (const std::uint64_t end = peer->in.position() + Ring::kBytes;
         !peer->in.empty() && peer->in.position() < end;) {
      read_ring(*peer, take, settle);
      settle();
    }
  }
  // One that has something, if there is any.
  [[nodiscard]] LocalPeer* full_ring() const { return peers_.readable(); }
  [[nodiscard]] bool rings_empty() const { return full_ring() == nullptr; }
  // Local peers have announced nothing that may be in a socket. Of others only a socket can tell.
  [[nodiscard]] bool is_quiet() const {
    return !peers_.empty() && eager_ == 0 && shared_status_->udp_sent.load(std::memory_order_relaxed) == announced_;
  }

  // -- time: what the impairments hold back, and the tap's file --
  [[nodiscard]] Time next_deadline() const { return slow_ ? next_of_slow() : kNever; }
  template <class Take, class Settle>
  void on_time(Take&& take, Settle&& settle) {
    if (faults_in_) faults_in_->on_time(now_, arrival(take, settle));
    if (faults_out_) faults_out_->on_time(now_, departure());
    if (tap_) tap_->on_time(now_);
  }
  [[gnu::cold]] void note_refused(const wire::Flow& flow, std::span<const std::byte> datagram, Refusal why);

  void abandon() {
    owned_.clear();
    line_.socket.reset();
    for (auto& [key, route] : routes_) route.own_socket.reset();
  }

  // -- a broker that was killed --
  // The next one can open the address's sockets when all of the last one's are closed. Until renew(), nothing comes and
  // goes but through rings.
  void close_sockets();
  void renew(BrokerClient::Joined joined);

  // -- local peers --
  // Whom the broker names is local from now on: its packed datagrams count.
  void name(const LocalPeerInfo& who);
  void on_met(Incoming& in);

  [[nodiscard]] std::uint64_t sent_calls() const { return sender_.calls(); }
  [[nodiscard]] std::uint64_t lost_on_purpose() const {
    return (faults_out_ ? faults_out_->counters().dropped() : 0) + (faults_in_ ? faults_in_->counters().dropped() : 0);
  }
  [[nodiscard]] std::uint64_t not_sent() const { return sender_.failed() + ring_full_ + unreached_; }
  [[nodiscard]] std::size_t local_peers() const { return peers_.size(); }

 private:
  static constexpr std::uint32_t kRingBatch = 64, kEagerPolls = 64, kAskAll = 8, kLooks = 4;
  static constexpr Time kSocketsEvery = microseconds(5);  // where there are local peers, and none of them sends to them
  static constexpr Time kAskAgain = seconds(1);
  static constexpr Time kForgetStranger = seconds(1), kSilence = seconds(1);
  static constexpr std::size_t kDatagram = 4096 + wire::kMaxHeaderBytes + 3 + wire::kIcrcBytes;

  struct Route {
    UdpRoute udp{};
    LocalPeer* peer = nullptr;
    Time asked = 0;
    Descriptor own_socket{};
  };
  struct RouteKey {
    wire::Address destination{};
    std::uint32_t socket = 0;
    std::uint32_t lane_number = 0;
    friend bool operator==(const RouteKey&, const RouteKey&) = default;
  };
  struct RouteHash {
    std::size_t operator()(const RouteKey& key) const;
  };

  [[nodiscard]] Route& route_to(const wire::Flow& flow, std::uint32_t lane_number) {
    const RouteKey key{flow.destination, socket_of(flow.source), lane_number};
    if (last_ != nullptr && last_key_ == key && (last_->peer != nullptr || now_ - last_->asked < kAskAgain)) [[likely]]
      return *last_;
    return find_route(key);
  }
  [[nodiscard]] std::uint32_t socket_of(const wire::Address& source) const {
    return addresses_.size() == 1 ? 0 : socket_among(source);
  }
  [[nodiscard, gnu::noinline]] std::uint32_t socket_among(const wire::Address& source) const {
    for (std::uint32_t i = 1; i < addresses_.size(); ++i) {
      if (addresses_[i] == source) return i;
    }
    return 0;
  }
  [[nodiscard]] Time next_of_slow() const;
  void forget_routes();
  void forget_source();
  [[nodiscard]] Route& find_route(const RouteKey& key);
  void prefer_own_socket(const RouteKey& key, Route& route);
  [[nodiscard]] LocalPeer* ask_for(const RouteKey& key);
  void leave(const wire::Flow& flow, std::span<const std::byte> datagram);
  // With --wire shm, for whom there is no ring: all but the broker, to whom management datagrams go.
  [[nodiscard]] bool is_out_of_reach(const Route& route, std::uint32_t lane_number) {
    const bool out = wire_ == WireChoice::shm && route.peer == nullptr && lane_number != 0;
    unreached_ += out ? 1 : 0;
    return out;
  }
  // From the port of the socket that it leaves by; the ICRC covers it.
  [[nodiscard]] static wire::Flow flow_by(const Route& route, wire::Flow flow) {
    wire::set_source_port(flow, route.udp.source_port);
    return flow;
  }
  void emit_into_ring(Route& route, const nic::OutPacket& packet);
  [[nodiscard]] bool took_its_way_slowly(const Route& route, const nic::OutPacket& packet);
  void emit_slowly(const wire::Flow& flow, const nic::OutPacket& packet, const world::Fate& fate);
  void offer(const wire::Flow& flow, std::span<const std::byte> datagram, const world::Fate& fate);
  template <class Take, class Settle>
  void arrive(const wire::Flow& flow, std::span<const std::byte> datagram, DatagramTraits how, Take& take,
              Settle& settle) {
    if (!slow_) [[likely]]
      return take(flow, datagram, how);
    if (faults_in_) {
      const std::string_view why = faults_in_->offer(now_, flow, datagram, arrival(take, settle));
      if (!why.empty() && tap_) tap_->packet(now_, Direction::inbound, flow, datagram, why);
      return;
    }
    if (tap_) tap_->packet(now_, Direction::inbound, flow, datagram);
    take(flow, datagram, how);
  }

  // Apart, like what comes by sockets: whoever waits for one should not have the code of the other in between.
  template <class Take, class Settle>
  [[gnu::noinline]] void hear_ring(LocalPeer& peer, Take& take, Settle& settle) {
    // An acknowledgement follows the message that answered ours: carrying that out, there is time for it to come.
    for (const bool again : {true, false}) {
      bool looks = false;
      peer.measure([&] {
        read_ring(peer, take, settle);
        looks = again && !peer.in.streams();
        if (looks) peer.in.ask_for_next();
        settle();
      });
      if (!looks || peer.in.empty()) break;
    }
    peer.in.done();
  }

  // Calls take(flow, datagram, how) for at most so many records, far ones with what read_note() asks for.
  template <class Take>
  void read_records(LocalPeer& peer, std::uint32_t most, Take&& take) {
    peer.in.read(most, [&](const wire::Flow& flow, std::span<const std::byte> datagram, DatagramTraits how) {
      if (how.one_copy) [[unlikely]] {
        export_.exporter = peer.takes_one_copy() ? &peer : nullptr;
        export_.position = peer.in.position();
      } else if (how.packets > 1 && one_copy_ != OneCopy::off) {
        peer.came_by_ring(datagram.size(), one_copy_);
      }
      take(flow, datagram, how);
    });
  }

  template <class Take, class Settle>
  void read_ring(LocalPeer& peer, Take& take, Settle& settle) {
    read_records(peer, kRingBatch,
                 [&](const wire::Flow& flow, std::span<const std::byte> datagram, DatagramTraits how) {
                   // Far ones go past all who look at bytes: they have none.
                   how.one_copy ? take(flow, datagram, how) : arrive(flow, datagram, how, take, settle);
                 });
  }

  template <class Take, class Settle>
  [[gnu::noinline]] bool receive_udp(std::size_t index, bool idle, Take& take, Settle& settle) {
    const auto arrived = [&](const wire::Flow& flow, std::span<const std::byte> datagram) {
      if (!(flow.source == known_)) [[unlikely]]
        know(flow.source);
      const auto each = [&](std::span<const std::byte> packet) {
        if ((untold_ += udp_cost(packet.size())) >= account_) tell_taken();
        arrive(flow, packet, DatagramTraits{}, take, settle);
      };
      if (!known_is_local_peer_ && wire::bytes_of_first(datagram) != 0) [[unlikely]]
        hear_of(flow.source);
      known_is_local_peer_ ? wire::unpack(datagram, each) : each(datagram);
    };
    // Where messages come one at a time somebody waits for the next. It is seen the sooner the less there is between
    // two looks.
    std::uint32_t looks = idle && index == busy_ && receiver_.plain() && eager_ > 0 ? kLooks : 1, n = 0;
    const wire::Flow* const line = index == addresses_.size() ? &line_.flow : nullptr;
    do {
      n = receiver_.receive(sockets_[index], line != nullptr ? line->destination : addresses_[index], arrived, line);
    } while (n == 0 && --looks > 0 && rings_empty());
    settle();
    if (n > 0) {
      eager_ = kEagerPolls;
      if (line != nullptr) line_.heard_at = now_;
      if (receiver_.plain() && receiver_.crowded()) choose_calls(index);
    } else if (index == busy_ && !receiver_.plain() && receiver_.one_at_a_time()) {
      choose_calls(index);  // now that the socket is empty: segments that are in it would be lost
    }
    return n > 0;
  }
  // Empty sockets settle the account, whatever was lost or came from elsewhere. An empty line may go without a loss.
  void found_all_empty() {
    if (line_.socket && (line_.doubted || now_ - line_.heard_at >= kSilence)) [[unlikely]]
      end_line();
    if (eager_ > 0) return;
    shared_status_->udp_taken.store(announced_, std::memory_order_relaxed);
    untold_ = 0;
  }
  void tell_taken() { shared_status_->udp_taken.fetch_add(std::exchange(untold_, 0), std::memory_order_relaxed); }
  [[nodiscard]] bool strangers_about() const { return now_ - stranger_at_ < kForgetStranger; }
  void know(const wire::Address& source);
  [[gnu::cold]] void hear_of(const wire::Address& source);
  void choose_calls(std::size_t index);
  void take_line(std::size_t index);
  void drop_line();
  [[gnu::cold]] void end_line();

  WireChoice wire_;
  BrokerClient& broker_;
  std::uint8_t lane_number_ = 0;
  std::vector<wire::Address> addresses_;
  std::vector<Descriptor> owned_;
  std::vector<int> sockets_;  // one for each address, and the line
  struct Line {
    Descriptor socket{};
    wire::Flow flow{};
    Time heard_at = 0;
    bool doubted = false;
  } line_;
  std::uint32_t lines_taken_ = 0;
  SharedStatus* shared_status_ = nullptr;
  Time now_ = 0;

  std::unordered_map<RouteKey, Route, RouteHash> routes_;
  RouteKey last_key_{};
  Route* last_ = nullptr;
  LocalPeers peers_;
  RingExport export_{};

  UdpSender sender_;
  UdpReceiver receiver_;
  std::uint32_t eager_ = 0;     // looks at the sockets that follow each other, because something came by them
  Time sockets_at_ = 0;         // when to look at them otherwise
  std::size_t busy_ = 0;        // the one by which something came last
  std::uint32_t asked_ = 0;     // how often they have been looked at in a row
  std::int64_t announced_ = 0;  // what local peers had sent when we last looked
  std::int64_t untold_ = 0;     // what was taken from the sockets, and local peers have not been told
  std::int64_t account_ = 0;    // until it is so much
  wire::Address known_{};       // where the last datagram came from
  bool known_is_local_peer_ = false;
  Time stranger_at_ = -kForgetStranger;  // when one came that no local peer has sent
  std::uint64_t ring_full_ = 0, unreached_ = 0;

  bool slow_ = false;  // packets are looked at, or tampered with
  OneCopy one_copy_ = OneCopy::off;
  std::uint64_t token_ = 0;  // by which local peers know ours
  const Settings& settings_;
  std::optional<Tap> tap_;
  std::unique_ptr<PortFaults> faults_out_, faults_in_;
};

}  // namespace weft::real

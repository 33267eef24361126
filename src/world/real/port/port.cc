#include "world/real/port/port.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "world/real/os/clock.h"
#include "world/real/os/processes.h"
#include "world/real/os/system_random.h"
#include "world/real/os/wake_up.h"
#include "world/real/udp/roce_socket.h"

namespace weft::real {

void Port::open(BrokerClient::Joined joined, std::span<const wire::Address> addresses, SharedStatus& shared_status,
                OneCopy one_copy, Time now) {
  now_ = now;
  one_copy_ = one_copy;
  rings_.set_one_copy(one_copy);
  token_ = SystemRandom().next();
  lane_number_ = joined.lane_number;
  udp_.open(addresses, std::move(joined.sockets), shared_status);
}

void Port::close() {
  udp_.close();
  lane_number_ = 0;
}

void Port::close_sockets() {
  flush();
  forget_routes();
  udp_.close_sockets();
}

// Local peers are met anew, by channels that the new broker knows: some may have gone without anybody to tell us.
void Port::renew(BrokerClient::Joined joined) {
  flush();
  revoke_all();  // some may read our old rings for a while
  peers_.let_go_of_memory();
  forget_routes();
  udp_.reopen(std::move(joined.sockets));
}

// ---- routes

void Port::forget_routes() {
  routes_.clear();
  last_ = nullptr;
  udp_.forget_source();
}

std::size_t Port::RouteHash::operator()(const RouteKey& key) const {
  const auto words = std::bit_cast<std::array<std::uint64_t, 2>>(key.destination.bytes);
  std::uint64_t h = words[0] * 0x9E37'79B9'7F4A'7C15 ^ words[1];
  const auto to = static_cast<std::uint64_t>(key.to);
  h = (h ^ (to << 40 | std::uint64_t{key.socket} << 8 | key.lane_number)) * 0xBF58'476D'1CE4'E5B9;
  return static_cast<std::size_t>(h ^ h >> 29);
}

Port::Route& Port::find_route(const RouteKey& key) {
  auto [it, fresh] = routes_.try_emplace(key);
  Route& route = it->second;
  if (fresh) {
    flush();  // what is on its way over the old routes goes first
    route.udp = {.to = socket_address(key.destination, number_of(key.to)),
                 .socket = udp_.sockets()[key.socket],
                 .merge = far_.merge,
                 .numbered = key.destination.is_v4()};
  }
  // Nobody there yet, perhaps: ask again, but not with every packet.
  if (route.peer == nullptr && (fresh || now_ - route.asked >= kAskAgain)) {
    route.peer = key.lane_number == 0 ? nullptr : ask_for(key);
    route.asked = clock_now();  // not before: the answer may have been long in coming
    if (route.peer != nullptr && !route.peer->ring) prefer_own_socket(key, route);
    if (far_.source_ports > 1 && key.lane_number != 0) spread(key, route);
  }
  last_key_ = key;
  last_ = &route;
  return route;
}

// To a lane on this host. It cannot see identifications, so segments may be merged; and a socket of its own, connected,
// spares the kernel the search for the way with every packet.
void Port::prefer_own_socket(const RouteKey& key, Route& route) {
  const bool packs = key.to == wire::UdpPort::roce;
  route.udp.merge = true;
  route.udp.numbered = false;
  route.udp.joins = packs;
  SocketAddress name = socket_address(udp_.addresses()[key.socket], 0);
  Descriptor own(::socket(name.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  socklen_t bytes = name.bytes();
  if (!own || bind(own.get(), &name.any, bytes) != 0 || connect(own.get(), &route.udp.to.any, bytes) != 0 ||
      getsockname(own.get(), &name.any, &bytes) != 0) {
    return;  // the shared one will do
  }
  route.udp.wide = packs && takes_long_datagrams(own.get(), name.any.sa_family);
  route.udp.source_port = port_of(name);
  route.udp.connected = true;
  route.udp.socket = own.get();
  route.own_socket = std::move(own);
}

void Port::spread(const RouteKey& key, Route& route) {
  if (route.peer != nullptr && !route.more.empty()) {
    flush();  // what waits there knows them by their places
    route.more.clear();
  }
  if (route.peer != nullptr || !route.more.empty() || key.to != wire::UdpPort::roce) return;
  const auto is_ours = [&](const FarSocket& one) { return one.address == key.socket; };
  auto have = static_cast<std::uint32_t>(std::count_if(far_sockets_.begin(), far_sockets_.end(), is_ours));
  for (; have + 1 < far_.source_ports; ++have) {
    Sending made = open_sending_socket(udp_.addresses()[key.socket]);
    if (!made.socket) break;  // fewer will do
    far_sockets_.push_back({key.socket, made.source_port, std::move(made.socket)});
  }
  for (const FarSocket& one : far_sockets_) {
    if (!is_ours(one)) continue;
    route.more.push_back(route.udp);
    route.more.back().socket = one.socket.get();
    route.more.back().source_port = one.source_port;
  }
}

UdpRoute& Port::one_of_more(Route& route, std::uint16_t source_port) {
  for (UdpRoute& one : route.more) {
    if (one.source_port == source_port) return one;
  }
  const std::size_t index = source_port == wire::kRocePort ? 0 : source_port % (route.more.size() + 1);
  return index == 0 ? route.udp : route.more[index - 1];
}

LocalPeer* Port::ask_for(const RouteKey& key) {
  if (LocalPeer* known = peers_.find(key.lane_number, key.destination)) return known;
  Message question(Topic::meet);
  question.local_peer = {.address = key.destination, .lane_number = key.lane_number};
  auto in = broker_.call_in_passing(question, Topic::met);
  if (in) on_met(*in);
  return peers_.find(key.lane_number, key.destination);
}

void Port::name(const LocalPeerInfo& who) {
  if (who.address_count == 0) return;
  const std::size_t count = std::min<std::size_t>(who.address_count, kMaxAddresses);
  peers_.name(static_cast<std::uint8_t>(who.lane_number), std::span(who.addresses).first(count));
  udp_.forget_source();
}

// An introduction names addresses even if its memory could not be taken, for want of descriptors: the other side was
// told of us, and may pack datagrams.
void Port::on_met(Incoming& in) {
  const auto lane_number = static_cast<std::uint8_t>(in.message.local_peer.lane_number);
  name(in.message.local_peer);
  if (in.message.code != 0) return;  // nobody was met, and nobody has gone
  if (in.descriptors.empty()) {      // gone
    flush();                         // may find that it has no room
    revoke_all();                    // nor does it know yet, perhaps
    peers_.remove(lane_number);
    forget_routes();
    return;
  }
  if (in.descriptors.size() != 3 || peers_.find(lane_number) != nullptr) return;  // both asked at once
  auto channel = Mapping<Channel>::of(in.descriptors[0].get());
  auto shared_status = Mapping<SharedStatus>::of(in.descriptors[1].get());
  if (!channel || !shared_status || !is_wake_up(in.descriptors[2].get())) return;
  auto peer = std::make_unique<LocalPeer>(lane_number_, lane_number, std::move(channel), std::move(shared_status),
                                          std::move(in.descriptors[2]));
  peer->ring = wire_ != WireChoice::udp;
  if (one_copy_ != OneCopy::off) {
    peer->out.export_memory(
        {.process = own_process(), .address = std::bit_cast<std::uint64_t>(&token_), .value = token_});
  }
  peers_.add(std::move(peer));
  for (auto& [key, route] : routes_) {
    if (route.peer == nullptr && key.lane_number == lane_number) route.asked = now_ - kAskAgain;  // the answer is here
  }
  udp_.hear_of_everything();  // this one may mark packets
}

void Port::hear_introductions() {
  while (auto in = broker_.hear_introduction()) on_met(*in);
}

// ---- out

void Port::emit(const nic::OutPacket& packet) {
  const std::uint8_t lane_number = wire::lane_number(packet.flow, packet.headers);
  Route& route = route_to(packet.flow, lane_number);
  if (route.peer == nullptr) {
    if (is_out_of_reach(route, lane_number)) [[unlikely]]
      return;
  } else {
    peers_.use(*route.peer);
    if (route.peer->ring) return emit_into_ring(route, packet);
    route.peer->count_sent(packet.payload_bytes + wire::header_bytes(packet.headers) + wire::kIcrcBytes);
  }
  sender_.add(udp_of(route, packet.flow), packet);
  if (packet.last) flush();  // somebody may be waiting for it; what the card does next can wait
}

void Port::emit_into_ring(Route& route, const nic::OutPacket& packet) {
  if (!route.peer->out.write(flow_by(route.udp, packet.flow), packet)) ++ring_full_;
  if (packet.one_copy || route.peer->out.unpublished() >= kShare) route.peer->publish();
  if (packet.last) route.peer->show();
}

void Port::send(const wire::Flow& flow, std::span<const std::byte> datagram) {
  const std::uint8_t lane_number = wire::lane_number(flow.to, datagram);
  Route& route = route_to(flow, lane_number);
  if (route.peer == nullptr) {
    if (!is_out_of_reach(route, lane_number)) sender_.add(udp_of(route, flow), flow, datagram);
    return;
  }
  peers_.use(*route.peer);
  if (route.peer->ring) {
    if (!route.peer->out.write(flow, datagram)) ++ring_full_;
  } else {
    route.peer->count_sent(datagram.size());
    sender_.add(route.udp, flow, datagram);
  }
}

void Port::flush() {
  peers_.announce(now_);
  if (!sender_.empty()) sender_.flush();
  peers_.publish(now_);
}

}  // namespace weft::real

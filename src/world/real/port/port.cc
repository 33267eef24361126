#include "world/real/port/port.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include <fmt/format.h>
#include <unistd.h>

#include "wire/datagram.h"
#include "wire/icrc.h"
#include "world/real/os/clock.h"
#include "world/real/os/system_random.h"
#include "world/real/udp/roce_socket.h"

namespace weft::real {

Port::Port(const Settings& settings, BrokerClient& broker)
    : wire_(settings.wire), broker_(broker), settings_(settings) {}

std::optional<Trouble> Port::open(BrokerClient::Joined joined, std::span<const wire::Address> addresses,
                                  SharedStatus& shared_status, Time now) {
  now_ = now;
  if (!settings_.pcap.empty()) {
    auto tap = Tap::open(settings_.pcap, now);
    if (!tap) return Trouble{EIO, tap.error()};
    tap_.emplace(std::move(*tap));
  }
  if (!settings_.impairments.empty()) {
    const std::uint64_t stream = 2U * joined.lane_number;
    const auto make = [&](bool wanted, std::uint64_t nth) {
      return wanted ? std::make_unique<PortFaults>(settings_.impairments, settings_.seed, nth, now) : nullptr;
    };
    faults_out_ = make(settings_.impair_outbound, stream);
    faults_in_ = make(settings_.impair_inbound, stream + 1);
  }
  slow_ = tap_.has_value() || faults_out_ || faults_in_;
  one_copy_ = slow_ ? OneCopy::off : settings_.one_copy;
  token_ = SystemRandom().next();
  lane_number_ = joined.lane_number;
  addresses_.assign(addresses.begin(), addresses.end());
  owned_ = std::move(joined.sockets);
  for (const Descriptor& d : owned_) sockets_.push_back(d.get());
  receiver_.set_plain(sockets_, false);  // the lane number's last owner may have left them so
  shared_status_ = &shared_status;
  shared_status.takes_bursts.store(slow_ ? 0 : 1, std::memory_order_relaxed);
  const std::int64_t room = receive_buffer_bytes(sockets_.front());
  account_ = udp_account(room);
  shared_status.udp_room.store(room, std::memory_order_relaxed);
  shared_status.marks.store(faults_out_ ? 1 : 0, std::memory_order_relaxed);
  return std::nullopt;
}

void Port::close() {
  drop_line();
  sockets_.clear();
  owned_.clear();
  tap_.reset();
  faults_out_.reset();
  faults_in_.reset();
  slow_ = false;
  lane_number_ = 0;
  shared_status_ = nullptr;
}

void Port::close_sockets() {
  flush();
  forget_routes();
  drop_line();
  owned_.clear();
  std::fill(sockets_.begin(), sockets_.end(), -1);
}

// Local peers are met anew, by channels that the new broker knows: some may have gone without anybody to tell us.
void Port::renew(BrokerClient::Joined joined) {
  flush();
  revoke_all();  // some may read our old rings for a while
  peers_.let_go_of_memory();
  forget_routes();
  owned_ = std::move(joined.sockets);
  for (std::size_t i = 0; i < owned_.size(); ++i) sockets_[i] = owned_[i].get();
  receiver_.set_plain(sockets_, false);
}

// ---- routes

void Port::forget_routes() {
  routes_.clear();
  last_ = nullptr;
  forget_source();
}

void Port::forget_source() {
  known_ = {};
  known_is_local_peer_ = false;
}

std::size_t Port::RouteHash::operator()(const RouteKey& key) const {
  const auto words = std::bit_cast<std::array<std::uint64_t, 2>>(key.destination.bytes);
  std::uint64_t h = words[0] * 0x9E37'79B9'7F4A'7C15 ^ words[1];
  h = (h ^ (std::uint64_t{key.socket} << 8 | key.lane_number)) * 0xBF58'476D'1CE4'E5B9;
  return static_cast<std::size_t>(h ^ h >> 29);
}

Port::Route& Port::find_route(const RouteKey& key) {
  auto [it, fresh] = routes_.try_emplace(key);
  Route& route = it->second;
  if (fresh) {
    flush();  // what is on its way over the old routes goes first
    route.udp = {.to = socket_address(key.destination, wire::kRocePort),
                 .socket = sockets_[key.socket],
                 .merge = !key.destination.is_v4()};
  }
  // Nobody there yet, perhaps: ask again, but not with every packet.
  if (route.peer == nullptr && (fresh || now_ - route.asked >= kAskAgain)) {
    route.peer = key.lane_number == 0 ? nullptr : ask_for(key);
    route.asked = clock_now();  // not before: the answer may have been long in coming
    if (route.peer != nullptr && !route.peer->ring) prefer_own_socket(key, route);
  }
  last_key_ = key;
  last_ = &route;
  return route;
}

// To a lane on this host. It cannot see identifications, so segments may be merged; and a socket of its own, connected,
// spares the kernel the search for the way with every packet.
void Port::prefer_own_socket(const RouteKey& key, Route& route) {
  route.udp.merge = route.udp.joins = true;
  SocketAddress name = socket_address(addresses_[key.socket], 0);
  Descriptor own(::socket(name.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  socklen_t bytes = name.bytes();
  if (!own || bind(own.get(), &name.any, bytes) != 0 || connect(own.get(), &route.udp.to.any, bytes) != 0 ||
      getsockname(own.get(), &name.any, &bytes) != 0) {
    return;  // the shared one will do
  }
  route.udp.wide = takes_long_datagrams(own.get(), name.any.sa_family);
  route.udp.source_port = port_of(name);
  route.udp.connected = true;
  route.udp.socket = own.get();
  route.own_socket = std::move(own);
}

LocalPeer* Port::ask_for(const RouteKey& key) {
  if (LocalPeer* known = peers_.find(key.lane_number, key.destination)) return known;
  Message question(Topic::meet);
  question.local_peer = {.address = key.destination, .lane_number = key.lane_number};
  auto in = broker_.call(question, Topic::met);
  if (in) on_met(*in);
  return peers_.find(key.lane_number, key.destination);
}

void Port::name(const LocalPeerInfo& who) {
  if (who.address_count == 0) return;
  const std::size_t count = std::min<std::size_t>(who.address_count, kMaxAddresses);
  peers_.name(static_cast<std::uint8_t>(who.lane_number), std::span(who.addresses).first(count));
  forget_source();
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
  if (!channel || !shared_status) return;
  auto peer = std::make_unique<LocalPeer>(lane_number_, lane_number, std::move(channel), std::move(shared_status),
                                          std::move(in.descriptors[2]));
  peer->ring = wire_ != WireChoice::udp;
  if (one_copy_ != OneCopy::off) {
    peer->out.export_memory({.process = getpid(), .address = std::bit_cast<std::uint64_t>(&token_), .value = token_});
  }
  peers_.add(std::move(peer));
  if (receiver_.plain()) receiver_.set_plain(sockets_, false);  // this one may mark packets
}

// ---- out

void Port::emit(const nic::OutPacket& packet) {
  Route& route = route_to(packet.flow, wire::lane_number(packet.headers.bth.destination));
  if (slow_) [[unlikely]] {
    if (took_its_way_slowly(route, packet)) return;
  }
  if (route.peer == nullptr) {
    if (is_out_of_reach(route, wire::lane_number(packet.headers.bth.destination))) [[unlikely]]
      return;
  } else {
    peers_.use(*route.peer);
    if (route.peer->ring) return emit_into_ring(route, packet);
    route.peer->count_sent(packet.payload_bytes + wire::info(packet.headers.bth.opcode).header_bytes +
                           wire::kIcrcBytes);
  }
  sender_.add(route.udp, packet);
  if (packet.last) flush();  // somebody may be waiting for it; what the card does next can wait
}

void Port::emit_into_ring(Route& route, const nic::OutPacket& packet) {
  if (!route.peer->out.write(flow_by(route, packet.flow), packet)) ++ring_full_;
  if (packet.one_copy || route.peer->out.unpublished() >= kShare) route.peer->publish();
  if (packet.last) route.peer->show();
}

// False: nothing befalls it, and nobody looks.
bool Port::took_its_way_slowly(const Route& route, const nic::OutPacket& packet) {
  const world::Fate fate = faults_out_ ? faults_out_->judge(now_, packet.flow) : world::Fate{};
  if (!tap_ && (!faults_out_ || faults_out_->leaves_alone(fate))) return false;
  emit_slowly(flow_by(route, packet.flow), packet, fate);
  return true;
}

void Port::emit_slowly(const wire::Flow& flow, const nic::OutPacket& packet, const world::Fate& fate) {
  if (fate.drop && !tap_) return;  // nobody would see it
  std::array<std::byte, kDatagram> datagram;
  std::byte* const end = wire::encode_datagram(packet.headers, packet.payload, datagram.data());
  const std::span<std::byte> whole(datagram.data(), end);
  wire::seal_datagram(flow, whole);
  offer(flow, whole, fate);
}

void Port::send(const wire::Flow& flow, std::span<const std::byte> datagram) {
  slow_ ? offer(flow, datagram, faults_out_ ? faults_out_->judge(now_, flow) : world::Fate{}) : leave(flow, datagram);
}

void Port::offer(const wire::Flow& flow, std::span<const std::byte> datagram, const world::Fate& fate) {
  if (!faults_out_) return departure()(flow, datagram, {});
  const std::string_view why = faults_out_->carry_out(fate, now_, flow, datagram, departure());
  if (!why.empty() && tap_) tap_->packet(now_, Direction::outbound, flow, datagram, why);
}

void Port::leave(const wire::Flow& flow, std::span<const std::byte> datagram) {
  const std::uint32_t lane_number = wire::lane_number(datagram);
  Route& route = route_to(flow, lane_number);
  if (route.peer == nullptr) {
    if (!is_out_of_reach(route, lane_number)) sender_.add(route.udp, flow, datagram);
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

// ---- in

std::size_t Port::fetch(std::span<const nic::OneCopyPiece> pieces) {
  const auto export_of = [](const nic::OneCopyPiece& piece) -> const RingExport& {
    return static_cast<const RingExport&>(piece.from.exported_by());
  };
  LocalPeer& exporter = *export_of(pieces.front()).exporter;
  PeerReads reads;
  for (const nic::OneCopyPiece& piece : pieces) {
    if (export_of(piece).exporter != &exporter || !reads.add(piece.to, piece.from.address(), piece.from.size())) break;
  }
  return exporter.fetch(reads, export_of(pieces.front()).position);
}

Time Port::next_of_slow() const {
  Time next = kNever;
  if (faults_out_) next = std::min(next, faults_out_->next_deadline());
  if (faults_in_) next = std::min(next, faults_in_->next_deadline());
  if (tap_) next = std::min(next, tap_->next_deadline());
  return next;
}

void Port::know(const wire::Address& source) {
  known_ = source;
  known_is_local_peer_ = peers_.has_address(source);
  if (known_is_local_peer_) return;
  stranger_at_ = now_;
  if (receiver_.plain()) receiver_.set_plain(sockets_, false);
}

// Several packets in a datagram, or one that is malformed, from a source that the broker has not named, as far as we
// have heard. A sender packs only for a lane to which the broker has introduced it, and the broker tells that lane
// first. So what it said is here already.
void Port::hear_of(const wire::Address& source) {
  while (auto in = broker_.hear_introduction()) on_met(*in);
  know(source);
  if (known_is_local_peer_) stranger_at_ = -kForgetStranger;  // that was this one
}

// Only strangers' packets pass switches that mark them, and only local peers tell that they do it themselves.
void Port::choose_calls(std::size_t index) {
  const bool plain = receiver_.one_at_a_time() && known_is_local_peer_ && !peers_.may_mark() && !strangers_about();
  if (plain && index < addresses_.size()) take_line(index);
  if (plain != receiver_.plain()) return receiver_.set_plain(sockets_, plain);
  receiver_.count_anew();
}

// To whoever the last datagram came from, by this socket; unless it sends from the port that all lanes share. There is
// one at a time: the next when nothing has come by this one for long. What is in the socket still comes before what
// comes by the line: the socket is the busy one.
void Port::take_line(std::size_t index) {
  const SocketAddress& from = receiver_.last_from();
  if (line_.socket || port_of(from) == wire::kRocePort) return;
  Descriptor socket = open_line(addresses_[index], from);
  if (!socket) return;
  line_ = {.socket = std::move(socket),
           .flow = {.source = wire_address(from), .destination = addresses_[index], .source_port = port_of(from)},
           .heard_at = now_};
  sockets_.push_back(line_.socket.get());
  ++lines_taken_;
}

void Port::drop_line() {
  if (!line_.socket) return;
  line_ = {};
  sockets_.resize(addresses_.size());
  busy_ = std::min(busy_, sockets_.size() - 1);
}

void Port::end_line() {
  drop_line();
  if (receiver_.plain()) receiver_.set_plain(sockets_, false);  // the next that is plain may have one
}

void Port::note_refused(const wire::Flow& flow, std::span<const std::byte> datagram, Refusal why) {
  if (tap_)
    tap_->packet(now_, Direction::inbound, flow, datagram,
                 fmt::format("refused: {}: {}", weft::text(why).counter, weft::text(why).meaning));
}

}  // namespace weft::real

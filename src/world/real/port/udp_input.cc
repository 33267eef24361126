#include "world/real/port/udp_input.h"

#include <algorithm>
#include <utility>

#include "world/real/udp/roce_socket.h"

namespace weft::real {

void UdpInput::open(std::span<const wire::Address> addresses, std::vector<Descriptor> sockets, SharedStatus& status) {
  addresses_.assign(addresses.begin(), addresses.end());
  reopen(std::move(sockets));
  account_.open(status, receive_buffer_bytes(sockets_.front()));
}

std::uint64_t UdpInput::dropped_by_sockets() const {
  std::uint64_t all = 0;
  for (const Descriptor& one : owned_) all += dropped_by(one.get());
  return all;
}

void UdpInput::close() {
  drop_line();
  sockets_.clear();
  owned_.clear();
  account_.close();
}

void UdpInput::close_sockets() {
  drop_line();
  owned_.clear();
  std::fill(sockets_.begin(), sockets_.end(), -1);
}

void UdpInput::reopen(std::vector<Descriptor> sockets) {
  owned_ = std::move(sockets);
  note_sockets();
  receiver_.set_plain(sockets_, false);  // the lane number's last owner may have left them so
  dropped_before_ = dropped_by_sockets();
}

void UdpInput::add(std::vector<Descriptor> sockets) {
  drop_line();
  for (Descriptor& one : sockets) owned_.push_back(std::move(one));
  note_sockets();
  receiver_.set_plain(sockets_, false);
  ++lines_taken_;
}

void UdpInput::note_sockets() {
  places_.clear();
  sockets_.clear();
  for (std::size_t i = 0; i < owned_.size(); ++i) {
    places_.push_back({addresses_[i % addresses_.size()], static_cast<wire::UdpPort>(i / addresses_.size())});
    sockets_.push_back(owned_[i].get());
  }
}

void UdpInput::abandon() {
  owned_.clear();
  line_.socket.reset();
}

void UdpInput::know(const wire::Address& source) {
  known_ = source;
  known_is_local_ = peers_.has_address(source);
  if (known_is_local_) return;
  stranger_at_ = now_;
  hear_of_everything();
}

// Only strangers' packets pass switches that mark them, and only local peers tell that they do it themselves.
void UdpInput::choose_calls(std::size_t index) {
  const bool plain = receiver_.one_at_a_time() && known_is_local_ && !peers_.may_mark() && !strangers_about();
  if (plain && index < addresses_.size()) take_line(index);  // of port 4791
  if (plain != receiver_.plain()) return receiver_.set_plain(sockets_, plain);
  receiver_.count_anew();
}

// To whoever the last datagram came from, by this socket; unless it sends from the port that all lanes share. There is
// one at a time: the next when nothing has come by this one for long. What is in the socket still comes before what
// comes by the line: the socket is the busy one.
void UdpInput::take_line(std::size_t index) {
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

void UdpInput::drop_line() {
  if (!line_.socket) return;
  line_ = {};
  sockets_.resize(places_.size());
  cadence_.keep_sockets(sockets_.size());
}

void UdpInput::end_line() {
  drop_line();
  hear_of_everything();  // the next that is plain may have one
}

}  // namespace weft::real

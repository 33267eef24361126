// What arrives through a lane's UDP sockets: one for each address, two more for each if the lane speaks StaR, and at
// times a line, which is connected to a local peer that sends its messages one at a time (udp/roce_socket.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wire/packed_datagram.h"
#include "world/real/os/descriptor.h"
#include "world/real/os/time.h"
#include "world/real/port/flow_account.h"
#include "world/real/port/local_peers.h"
#include "world/real/port/poll_cadence.h"
#include "world/real/udp/udp_receiver.h"

namespace weft::real {

class UdpInput {
 public:
  explicit UdpInput(const LocalPeers& peers) : peers_(peers) {}

  // One socket for each address; or three: all of port 4791, all of the stateless side's, all of the stateful side's.
  void open(std::span<const wire::Address> addresses, std::vector<Descriptor> sockets, SharedStatus& status);
  void close();
  // The next broker can open the addresses' sockets when all of the last one's are closed. Nothing comes until then.
  void close_sockets();
  void reopen(std::vector<Descriptor> sockets);
  // The lane speaks StaR from now on: two more for each address, in the order above.
  void add(std::vector<Descriptor> sockets);
  [[nodiscard]] bool hears_star() const { return places_.size() > addresses_.size(); }
  void abandon();  // descriptors only

  [[nodiscard]] bool is_open() const { return !sockets_.empty(); }
  [[nodiscard]] std::span<const wire::Address> addresses() const { return addresses_; }
  [[nodiscard]] std::span<const int> sockets() const { return sockets_; }
  [[nodiscard]] std::uint32_t lines_taken() const { return lines_taken_; }  // each time, sockets() are others

  // Datagrams that the sockets dropped, because they were full or because it was for nobody here.
  [[nodiscard]] std::uint64_t dropped() const {
    return std::max(dropped_by_sockets(), dropped_before_) - dropped_before_;
  }

  // Looks whether local peers have announced something.
  void notice() {
    if (account_.has_news()) cadence_.announced();
  }
  // Local peers have announced nothing that may be in a socket. Of others only a socket can tell.
  [[nodiscard]] bool is_quiet() const { return !peers_.empty() && !cadence_.is_eager() && account_.is_quiet(); }
  // Has nobody looked at sockets for so long that rings must wait?
  [[nodiscard]] bool is_overdue(Time now) const { return cadence_.is_overdue(now); }
  void look_at_all() { cadence_.look_at_all(); }

  // If it is time to look, calls take(flow, datagram, how) for what has arrived, and settle() before the bytes go.
  // False: nothing had. `idle`: there is nothing else to do. listen() hears whom the broker has introduced.
  template <class Take, class Settle, class Listen>
  bool receive(Time now, bool idle, Take& take, Settle& settle, const Listen& listen) {
    const PollCadence::Look look = cadence_.look(now, !peers_.empty());
    if (look == PollCadence::Look::none) return false;
    now_ = now;
    bool any = false;
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      if (look == PollCadence::Look::all || cadence_.is_busy(i)) any |= receive_by(i, idle, take, settle, listen);
    }
    if (look == PollCadence::Look::all && !any) found_all_empty();
    return any;
  }

  // Somebody was met, or named, or has gone: whom we know by the last datagram is to be seen again.
  void forget_source() {
    known_ = {};
    known_is_local_ = false;
  }
  // Packets may have to be marked, and segments told: by one who is new.
  void hear_of_everything() {
    if (receiver_.plain()) receiver_.set_plain(sockets_, false);
  }
  // Something came that is for another lane: by the line, perhaps, whose far port now is another program's.
  void doubt_line() { line_.doubted = true; }

 private:
  static constexpr Time kForgetStranger = seconds(1);  // while one is about, its packets' marks are to be seen
  static constexpr Time kSilence = seconds(1);         // ends a line

  template <class Take, class Settle, class Listen>
  [[gnu::noinline]] bool receive_by(std::size_t index, bool idle, Take& take, Settle& settle, const Listen& listen) {
    const auto arrived = [&](const wire::Flow& flow, std::span<const std::byte> datagram) {
      if (!(flow.source == known_)) [[unlikely]]
        know(flow.source);
      const auto each = [&](std::span<const std::byte> packet) {
        account_.took(packet.size());
        take(flow, packet, DatagramTraits{});
      };
      if (flow.to != wire::UdpPort::roce) [[unlikely]]
        return each(datagram);  // nobody packs StaR's
      if (!known_is_local_ && wire::bytes_of_first(datagram) != 0) [[unlikely]]
        hear_of(flow.source, listen);
      known_is_local_ ? wire::unpack(datagram, each) : each(datagram);
    };
    std::uint32_t looks = cadence_.looks_at(index, idle, receiver_.plain()), n = 0;
    const wire::Flow* const line = index == places_.size() ? &line_.flow : nullptr;
    const UdpPlace own = line != nullptr ? UdpPlace{line->destination} : places_[index];
    do {
      n = receiver_.receive(sockets_[index], own, arrived, line);
    } while (n == 0 && --looks > 0 && peers_.readable() == nullptr);
    settle();
    if (n > 0) {
      cadence_.came_by(index);
      if (line != nullptr) line_.heard_at = now_;
      if (receiver_.plain() && receiver_.crowded()) choose_calls(index);
    } else if (cadence_.is_busy(index) && !receiver_.plain() && receiver_.one_at_a_time()) {
      choose_calls(index);  // now that the socket is empty: segments that are in it would be lost
    }
    return n > 0;
  }
  // Several packets in a datagram, or one that is malformed, from a source that the broker has not named: as far as we
  // have heard. A sender packs only for a lane to which the broker has introduced it, and the broker tells that lane
  // first. So what it said is here already.
  template <class Listen>
  [[gnu::noinline, gnu::cold]] void hear_of(const wire::Address& source, const Listen& listen) {
    listen();
    know(source);
    if (known_is_local_) stranger_at_ = -kForgetStranger;  // that was this one
  }
  // An empty line may go without a loss.
  void found_all_empty() {
    if (line_.socket && (line_.doubted || now_ - line_.heard_at >= kSilence)) [[unlikely]]
      end_line();
    if (!cadence_.is_eager()) account_.settle();
  }
  [[nodiscard]] bool strangers_about() const { return now_ - stranger_at_ < kForgetStranger; }
  void know(const wire::Address& source);
  void note_sockets();
  [[nodiscard]] std::uint64_t dropped_by_sockets() const;
  void choose_calls(std::size_t index);
  void take_line(std::size_t index);
  void drop_line();
  [[gnu::cold]] void end_line();

  const LocalPeers& peers_;
  std::vector<wire::Address> addresses_;
  std::vector<Descriptor> owned_;
  std::vector<UdpPlace> places_;  // of each of those
  std::vector<int> sockets_;      // the same, and the line
  struct Line {
    Descriptor socket{};
    wire::Flow flow{};
    Time heard_at = 0;
    bool doubted = false;
  } line_;
  std::uint32_t lines_taken_ = 0;
  std::uint64_t dropped_before_ = 0;  // for the lane number's last owner
  UdpReceiver receiver_;
  PollCadence cadence_;
  FlowAccount account_;
  Time now_ = 0;
  wire::Address known_{};  // where the last datagram came from
  bool known_is_local_ = false;
  Time stranger_at_ = -kForgetStranger;  // when one came that no local peer has sent
};

}  // namespace weft::real

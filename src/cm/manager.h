// The RDMA connection manager (IBA chapter 12, annex A11) as a pure machine: calls, datagrams and time in; datagrams,
// events and "when must you be called next?" out. It knows no socket, clock, thread or queue pair.
//
// Everything that arrives is doubted: it must be well formed, about a connection that exists, from that connection's
// peer, and fit its state. What does not is counted by name (cm/refusal.h), and answered only where the
// specification wants an answer: with one datagram for one, or two where a request shows that an old connection is
// over, which happens once to each.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "cm/connection.h"
#include "cm/event.h"
#include "cm/refusal.h"
#include "wire/cm.h"

namespace weft::cm {

struct ManagerSettings {
  std::uint8_t id_prefix = 0;        // the most significant byte of this program's communication ids
  std::uint64_t guid = 0;            // of the device
  Time nanosecond = nanoseconds(1);  // in ticks of the world's clock
  std::uint8_t max_mtu = 5;
  // An answer is missed after 0.5 s. Linux says 20 (4.3 s), for managers far away and busy.
  std::uint8_t response_timeout = 17;
  std::uint8_t service_timeout = 19;  // "I heard you, wait 2 s", as often as asked, while the user thinks
  std::uint8_t max_retries = 15;
  // "Nobody listens" is taken for "nobody listens yet" for so long, and asked again: of two programs that agree to
  // connect now, the one that listens may be the slower. 0 believes it at once.
  Time listener_patience = 0;
  std::size_t max_connections = 65'536;  // of all states, finished ones still remembered included
  std::uint32_t max_backlog = 1'024;     // as Linux has it: more, or none, is this much
};

enum class ServiceKind : std::uint8_t { connection, datagram };
enum class Answer : std::uint8_t { ok, no_such_connection, wrong_state, too_long, too_many };

class Manager {
 public:
  Manager(const ManagerSettings& settings, RandomNumbers& chance) : settings_(settings), chance_(chance) {}

  // -- listening --
  // An address of zeros is all addresses; a listener for the very address goes before one for all.
  ListenerId listen(std::uint64_t service_id, const wire::Address& address, int backlog,
                    ServiceKind kind = ServiceKind::connection);
  // Requests that wait unanswered are the user's as before.
  void stop_listening(ListenerId listener);
  // The user has seen this request: it no longer takes a place of the backlog.
  void noticed(Id id);

  // -- connections --
  [[nodiscard]] Answer connect(const ConnectCall& call, Time now, ManagerEffects& out, Id& id);
  [[nodiscard]] Answer accept(Id id, const QpParameters& side, std::span<const std::byte> data, Time now,
                              ManagerEffects& out);
  [[nodiscard]] Answer reject(Id id, std::uint16_t why, std::span<const std::byte> data, Time now, ManagerEffects& out);
  [[nodiscard]] Answer ready(Id id, ManagerEffects& out);        // after `response`: the queue pair is up
  [[nodiscard]] Answer established(Id id, ManagerEffects& out);  // passive: data came, so the RTU was only lost
  [[nodiscard]] Answer disconnect(Id id, Time now, ManagerEffects& out);
  // The user is done with the id: no more events of it. The peer hears that it is over, if it was not.
  void release(Id id, Time now, ManagerEffects& out);

  // -- datagram services --
  [[nodiscard]] Answer ask_service(const ServiceCall& call, Time now, ManagerEffects& out, Id& id);
  [[nodiscard]] Answer answer_service(Id id, const ServiceAnswer& answer, Time now, ManagerEffects& out);

  // -- the world --
  Refused on_datagram(const wire::Address& from, const wire::Address& to, std::span<const std::byte> bytes, Time now,
                      ManagerEffects& out);
  void on_time(Time now, ManagerEffects& out);
  [[nodiscard]] Time next_deadline() const { return timers_.empty() ? kNever : timers_.begin()->first; }

  [[nodiscard]] std::uint64_t refused(Refused why) const { return counters_[static_cast<std::size_t>(why)]; }
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }
  [[nodiscard]] const Connection* find(Id id) const;

 private:
  struct Listener {
    std::uint64_t service_id = 0;
    wire::Address address{};
    ServiceKind kind{};
    std::uint32_t backlog = 0, waiting = 0;
  };
  // Where a message came from and when.
  struct Arrival {
    wire::Address from{}, to{};
    std::uint64_t transaction = 0;
    Time now = 0;
  };
  // A peer's number for something, with the peer's address.
  using PeerKey = std::pair<std::array<std::uint8_t, 16>, std::uint32_t>;

  // receive.cc: what makes a connection
  Refused on(const Arrival& arrival, const wire::CmReq& req, ManagerEffects& out);
  Refused on(const Arrival& arrival, const wire::CmRep& rep, ManagerEffects& out);
  Refused on(const Arrival& arrival, const wire::CmRtu& rtu, ManagerEffects& out);
  Refused judge(const Arrival& arrival, const wire::CmReq& req, std::uint16_t& why) const;
  Refused repeated_request(Connection& c, const Arrival& arrival, ManagerEffects& out);
  Refused repeated_response(Connection& c, const Arrival& arrival, ManagerEffects& out);
  void begin_request(const Arrival& arrival, const wire::CmReq& req, ListenerId listener, ManagerEffects& out);
  [[nodiscard]] bool is_patient(Connection& c, Time now);
  // receive_end.cc: what delays, refuses or ends it
  Refused on(const Arrival& arrival, const wire::CmMra& mra, ManagerEffects& out);
  Refused on(const Arrival& arrival, const wire::CmRej& rej, ManagerEffects& out);
  Refused on(const Arrival& arrival, const wire::CmDreq& dreq, ManagerEffects& out);
  Refused on(const Arrival& arrival, const wire::CmDrep& drep, ManagerEffects& out);
  Refused on(const Arrival& arrival, const wire::CmLap& lap, ManagerEffects& out);
  Refused on(const Arrival& arrival, const wire::CmApr& apr, ManagerEffects& out);
  // datagram.cc
  Refused on(const Arrival& arrival, const wire::CmSidrReq& req, ManagerEffects& out);
  Refused on(const Arrival& arrival, const wire::CmSidrRep& rep, ManagerEffects& out);

  // manager.cc
  [[nodiscard]] Connection* mine(Id id);
  // The connection that a message is for, if it is from its peer; `peer_id` 0 is not compared.
  [[nodiscard]] Refused theirs(const Arrival& arrival, Id id, Id peer_id, Connection*& found);
  [[nodiscard]] Connection* make(State state, const Path& path);
  [[nodiscard]] ListenerId listener_for(ServiceKind kind, std::uint64_t service_id, const wire::Address& to,
                                        const wire::Address& named) const;
  void stop_waiting(Connection& c);
  void forget_peer(Connection& c);
  void forget_qpn(Connection& c);
  static void erase_index(std::map<PeerKey, Id>& from, const PeerKey& number, Id id);
  void begin_disconnect(Connection& c, Time now, ManagerEffects& out);
  void end_stale(const Arrival& arrival, wire::Qpn peer_qpn, ManagerEffects& out);
  void set_deadline(Connection& c, Time when);
  [[nodiscard]] Time ticks_of(std::uint8_t exponent) const { return time_of(exponent, settings_.nanosecond); }
  void end(Connection& c);  // over, or gone if nobody owns it: `c` may not be used after this
  void enter_timewait(Connection& c, Time now);
  void time_out(Connection& c, Time now, ManagerEffects& out);
  void say(Connection& c, const wire::CmBody& body, ManagerEffects& out);            // and remember it for saying again
  void ask(Connection& c, const wire::CmBody& body, Time now, ManagerEffects& out);  // and expect an answer
  void say_again(const Connection& c, ManagerEffects& out) const;
  void say_once(const Connection& c, const wire::CmBody& body, ManagerEffects& out) const;
  static void reply(const Arrival& arrival, const wire::CmBody& body, ManagerEffects& out);  // about no connection
  void tell(const Connection& c, Happening what, std::uint16_t why, ManagerEffects& out) const;
  static void tell(const Connection& c, CmEvent event, ManagerEffects& out);
  void say_wait(const Connection& c, wire::CmAbout about, Time now, ManagerEffects& out) const;
  [[nodiscard]] static wire::CmRej refusal(const Connection& c, wire::CmAbout about, std::uint16_t why);
  static PeerKey key(const wire::Address& address, std::uint32_t number) { return {address.bytes, number}; }

  ManagerSettings settings_;
  RandomNumbers& chance_;
  ListenerId last_listener_ = 0;
  std::map<ListenerId, Listener> listeners_;
  std::map<Id, Connection> connections_;
  std::map<PeerKey, Id> requests_;  // REQ by the peer's id: a second one is a repetition
  std::map<PeerKey, Id> services_;  // SIDR_REQ likewise
  std::map<PeerKey, Id> peers_;     // by the peer's queue pair: it can be connected but once
  std::set<std::pair<Time, Id>> timers_;
  std::array<std::uint64_t, static_cast<std::size_t>(Refused::count_)> counters_{};
};

// Copies what fits, the rest is zero: private data has a fixed size on the wire.
template <std::size_t N>
void fill(std::array<std::byte, N>& to, std::span<const std::byte> from, std::size_t at = 0) {
  wire::copy_bytes(to.data() + at, from.data(), std::min(from.size(), N - at));
}

}  // namespace weft::cm

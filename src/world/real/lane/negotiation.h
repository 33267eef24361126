// What a lane knows about what its peers speak, and how it finds out: by questions to their queue pair 1, which are
// sent again until they are answered or given up. No clock and no socket: time is an argument, and who calls sends.
//
// An answer holds for a peer, which is an address and a lane number in it, and for as long as the lane number cannot
// have got another owner. Silence is a fact about an address: a broker answers for all of its lane numbers. However the
// two sides come to their decisions, the card mends a disagreement with the first packet (nic/card.h, adopt_dialect).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "wire/vendor_mad.h"
#include "world/real/broker/messages.h"
#include "world/real/os/time.h"

namespace weft::real {

// What a peer is, besides what it speaks.
struct PeerFacts {
  wire::StarRoles roles{};
  std::uint32_t connections = 0;
  std::uint8_t calls = 0;  // of kernels, that it answers: wire::kCallVersion
};

class Negotiation {
 public:
  using Facts = PeerFacts;
  enum class Outcome : std::uint8_t { unknown, waiting, srnic, roce };

  struct Peer {
    std::array<std::uint8_t, 16> address{};
    std::uint8_t lane_number = 0;
    friend auto operator<=>(const Peer&, const Peer&) = default;
  };
  // Two queue pairs, and the addresses that they use.
  struct Connection {
    wire::Address own_address{}, peer_address{};
    wire::Qpn own{}, peer{};
  };
  struct Question {
    wire::Address from{}, to{};
    wire::VendorMad mad{};
  };
  // Connections that wait for this peer need not wait any longer; with `all_lanes` those for all of its address.
  struct Settled {
    Peer peer{};
    Outcome outcome = Outcome::unknown;
    bool all_lanes = false;
    wire::StarRoles roles{};        // of StaR, that the peer plays
    std::uint32_t connections = 0;  // that it has
    std::uint8_t calls = 0;         // of kernels, that it answers
  };

  static constexpr std::uint32_t kTries = 5;
  static constexpr Time kFirstWait = milliseconds(10);  // each next one is twice as long
  static constexpr Time kCertain = kNumberRests;        // what was true of a lane number when we asked still is
  static constexpr Time kHearsay =
      milliseconds(500);                       // what a peer says of itself by asking; it may have been under way
  static constexpr Time kSilent = seconds(5);  // then the address is asked again, and nobody waits for it
  static constexpr Time kBrokerWithin = seconds(5);
  static constexpr std::size_t kMaxPeers = 4096;

  explicit Negotiation(wire::DialectVersions own) : own_(own) {}

  // The roles of StaR that this lane's queue pairs play.
  void set_roles(wire::StarRoles own) { own_roles_ = own; }

  [[nodiscard]] static Peer peer_of(const Connection& c);

  // What to speak with this peer, as far as it is known.
  [[nodiscard]] Outcome find(Time now, const Peer& peer) const;
  // Is it being asked?
  [[nodiscard]] bool is_asking(const Peer& peer) const;
  // The roles of StaR that it is known to play, and its connections. A role that it did not play it may have begun to:
  // it is asked again.
  [[nodiscard]] Facts facts_of(Time now, const Peer& peer) const;
  // The lane number is a local peer's, and this is what it speaks.
  Settled learn(Time now, const Peer& peer, const wire::DialectVersions& versions, const Facts& facts = {});
  // Begins to ask, unless that is under way: waiting. An address that was silent is asked again, but is roce meanwhile.
  // The upper byte of a transaction says whom the answer is for; all of it nobody can guess.
  // While our broker has not said whether it knows the peer, nobody gives up.
  enum class Broker : std::uint8_t { does_not_know, is_late };
  Outcome ask(Time now, const Connection& connection, std::uint64_t transaction, Broker broker = Broker::does_not_know);
  void broker_does_not_know(Time now, const Peer& peer);

  // A management datagram from this address. What follows from it; unknown: nothing.
  [[nodiscard]] Settled on_answer(Time now, const wire::Address& from, const wire::VendorMad& answer);
  [[nodiscard]] Settled on_question(Time now, const wire::Address& from, const wire::VendorMad& question);

  [[nodiscard]] Time next_deadline() const { return next_; }
  // Calls send(const Question&) for what is to be asked, now or again, settled(const Settled&) for what is given up.
  template <class Send, class Done>
  void on_time(Time now, Send&& send, Done&& settled) {
    if (now < next_) return;
    std::vector<Settled> given_up;
    for (auto& [peer, entry] : entries_) {
      if (!entry.asking || entry.due > now) continue;
      if (entry.tries == kTries && now < entry.gives_up_from) {
        entry.due = entry.gives_up_from;
        continue;
      }
      if (entry.tries == kTries) {
        given_up.push_back({.peer = peer, .outcome = Outcome::roce, .all_lanes = true});
        continue;
      }
      entry.due = now + (kFirstWait << entry.tries++);
      send(entry.question);
    }
    for (const Settled& s : given_up) {
      fall_silent(now, s.peer);
      settled(s);
    }
    plan_next();
  }

 private:
  struct Entry {
    Outcome outcome = Outcome::unknown;
    Facts facts{};
    Time until = 0;  // all this holds
    bool asking = false;
    Time asked = 0, due = 0, gives_up_from = 0;
    std::uint32_t tries = 0;
    Question question{};
  };

  [[nodiscard]] Settled settle(const Peer& peer, Entry& entry, std::uint8_t version, const Facts& facts, Time until);
  void fall_silent(Time now, const Peer& peer);
  void make_room(Time now);
  void plan_next();

  wire::DialectVersions own_;
  wire::StarRoles own_roles_{};
  std::map<Peer, Entry> entries_;
  std::map<std::array<std::uint8_t, 16>, Time> silent_;  // since when
  Time next_ = kNever;
};

}  // namespace weft::real

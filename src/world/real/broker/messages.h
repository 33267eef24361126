// What lanes, the broker and the weft command say to each other over a SEQPACKET socket. All of it stays on one machine
// and within one user, so a message is a plain struct; the version says whether both mean the same by it.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "wire/lane_number.h"
#include "wire/packet.h"
#include "wire/vendor_mad.h"
#include "world/real/os/time.h"
#include "world/real/settings/addresses.h"

namespace weft::real {

inline constexpr std::uint32_t kProtocolVersion = 11;
// A lane number has no new owner for so long after its last one has left.
inline constexpr Time kNumberRests = seconds(1);
// Lanes whose broker was killed come back to the next when they can run, on a busy machine late. Who hears that they
// are about to (EAGAIN) asks again, for so long.
inline constexpr Time kComeBackWithin = seconds(30), kLookAgain = milliseconds(10);

// clang-format off
enum class Topic : std::uint32_t {
  hello, welcome,             // a lane joins: + its status page, its eventfd. EAGAIN: its address is still with lanes
                              // that have lost their broker and are about to come back
                              // its number: + a UDP socket an address (three if it speaks StaR), and its lock on the
                              // number, if it is new
  play, playing,              // it plays these roles of StaR from now on: + two more sockets an address
  bind, bound,                // a port of a port space
  release, listen,
  consult, consulted,         // what does a lane on this host speak? Number 0: is there one at this address? EAGAIN:
                              // one that is about to come back may be
  meet, met,                  // another lane on this host: + channel, its shared status, its eventfd
  datagram,                   // bytes follow: a packet that belongs to another lane, or to QP1
  list, listed,               // the weft command: who is there; JSON follows
  ask, asked, answer,         // the weft command asks a lane, through the broker; text follows
};
// clang-format on

struct Hello {
  std::uint32_t version = kProtocolVersion;
  std::int32_t process = 0;
  std::array<char, 32> name{};       // of the program
  wire::DialectVersions versions{};  // that the lane speaks
  wire::StarRoles roles{};           // that its queue pairs play
  std::uint32_t address_count = 0;
  std::array<wire::Address, kMaxAddresses> addresses{};
};
struct BoundPort {
  std::uint16_t space = 0, port = 0;
  std::uint32_t on = 0;  // listen
  wire::Address address{};
};
struct LocalPeerInfo {
  wire::Address address{};
  std::uint32_t lane_number = 0;
  wire::DialectVersions versions{};  // in the answer to consult
  wire::StarRoles roles{};           // likewise
  std::uint32_t connections = 0;     // likewise
  std::uint32_t address_count = 0;   // in an introduction: all that it has
  std::array<wire::Address, kMaxAddresses> addresses{};
};
struct Ticket {
  std::uint64_t asker = 0;  // which connection of the broker's asked
  std::uint32_t lane_number = 0;
};

struct Message {
  Topic topic{};
  std::int32_t code =
      0;  // errno, in answers; in a hello, the lane number that the lane had with a broker that is no more
  union {
    Hello hello;
    BoundPort service;
    LocalPeerInfo local_peer;
    Ticket ticket;
    wire::Flow flow;
    wire::StarRoles roles;
    std::uint32_t lane_number;
  };
  std::uint32_t text_bytes = 0;  // what follows the struct

  Message() : hello{} {}
  explicit Message(Topic t) : topic(t), hello{} {}
};
// The size stays, so that brokers and lanes of different versions understand each other as far as to say so.
static_assert(std::is_trivially_copyable_v<Message> && sizeof(Message) == 192);

inline constexpr std::size_t kMaxText = 60 * 1024;  // of one message; longer answers come in several

}  // namespace weft::real

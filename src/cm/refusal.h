// Why the connection manager did not do what a datagram asked. One value is the counter and the sentence for people.
// Damaged datagrams are counted under the names of wire/refusal.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::cm {

enum class Refused : std::uint8_t {
  none,
  malformed,
  no_such_connection,
  wrong_peer,
  wrong_qpn,
  unexpected,
  repeated,
  no_listener,
  bad_ip_header,
  bad_transport,
  bad_mtu,
  bad_qpn,
  stale,
  backlog_full,
  too_many,
  alternate_path,
  count_,
};

struct RefusedText {
  std::string_view counter, meaning;
};

inline constexpr std::array kRefusedTexts{
    RefusedText{"cm_ok", "nothing was refused"},
    RefusedText{"cm_malformed", "not a message of the connection manager"},
    RefusedText{"cm_no_such_connection", "message for a communication id that is not in use"},
    RefusedText{"cm_wrong_peer", "message about a connection from somebody who is not its peer"},
    RefusedText{"cm_wrong_qpn", "disconnect request that names another queue pair than the connection's"},
    RefusedText{"cm_unexpected", "message that does not fit the state of its connection"},
    RefusedText{"cm_repeated", "message seen before; the answer was sent again"},
    RefusedText{"cm_no_listener", "request for a service that nobody listens for"},
    RefusedText{"cm_bad_ip_header", "request whose private data does not begin with IP addresses of a known version"},
    RefusedText{"cm_bad_transport", "request for a transport other than RC or UC, or with multiplexing"},
    RefusedText{"cm_bad_mtu", "request for a path MTU that this port does not have"},
    RefusedText{"cm_bad_qpn", "queue pair number that no program can have"},
    RefusedText{"cm_stale", "request from a queue pair that is still connected as far as this side knows"},
    RefusedText{"cm_backlog_full", "request dropped because its listener has as many waiting as it wants"},
    RefusedText{"cm_too_many", "request dropped because this program has too many connections"},
    RefusedText{"cm_alternate_path", "alternate path refused: there are none"},
};
static_assert(kRefusedTexts.size() == static_cast<std::size_t>(Refused::count_));

constexpr const RefusedText& text(Refused refused) { return kRefusedTexts[static_cast<std::size_t>(refused)]; }

}  // namespace weft::cm

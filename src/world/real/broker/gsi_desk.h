// What the broker does about messages to QP1: finds the program that a connection manager's message is for, answers for
// programs that are not there, and says goodbye for programs that died without doing so. It also says what a program's
// card speaks, so that no program needs to be awake for it.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "wire/cm.h"
#include "wire/move.h"
#include "wire/vendor_mad.h"
#include "world/real/broker/gsi.h"
#include "world/real/broker/peer_table.h"
#include "world/real/broker/services.h"

namespace weft::real {

struct GsiDatagram {
  wire::Flow flow;
  std::array<std::byte, kGsiBytes> bytes;
};

// What a lane's cards speak.
struct Spoken {
  wire::DialectVersions versions{};
  wire::StarRoles roles{};
  std::uint32_t connections = 0;
};

class GsiDesk {
 public:
  struct Decision {
    std::uint8_t lane_number = 0;  // of the program it is for; 0: nobody's
    std::optional<GsiDatagram> reply;
  };
  // Who is there, as the broker knows.
  struct Present {
    std::function<bool(std::uint8_t lane_number)> is_there;
    std::function<Spoken(const wire::Address&, std::uint8_t lane_number)> spoken;  // nobody there: nothing
  };
  [[nodiscard]] Decision judge(const wire::Flow& flow, std::string_view datagram, const Services& services,
                               const Present& present);
  // A program is gone. Its peers would wait for ever: as a kernel does for a dead process, we disconnect for it.
  [[nodiscard]] std::vector<GsiDatagram> last_words(std::uint8_t lane_number);

 private:
  // What a DREQ needs. Seen on the way in: a REP tells of the connections we asked for, REQ and RTU of the others.
  struct Link {
    std::uint32_t our_id = 0, their_id = 0;
    wire::Qpn their_qpn{};
    wire::Flow back{};
  };
  struct Asked {
    wire::Qpn qpn{};
    std::uint8_t lane_number = 0;
  };
  static constexpr std::size_t kMaxLinks = 1U << 17, kMaxAsked = 1U << 13;
  static constexpr std::size_t kMaxLinksOfAPeer = 1U << 15, kMaxAskedOfAPeer = 1U << 12;

  [[nodiscard]] Decision judge_cm(const wire::Flow& flow, const wire::CmMessage& m, const Services& services,
                                  const Present& present);
  [[nodiscard]] Decision judge_vendor(const wire::Flow& flow, const wire::VendorMad& m, const Present& present);
  void note(const wire::Flow& flow, const wire::CmMessage& m, std::uint8_t lane_number);
  [[nodiscard]] GsiDatagram reply_to(const wire::Flow& flow, std::uint64_t transaction, const wire::CmBody& body);

  // Messages can be forged. So what one peer says adds, changes or removes nothing of what another has said.
  PeerTable<Link> links_{kMaxLinks, kMaxLinksOfAPeer};   // by our id
  PeerTable<Asked> asked_{kMaxAsked, kMaxAskedOfAPeer};  // by theirs
  std::uint32_t psn_ = 0;
};

}  // namespace weft::real

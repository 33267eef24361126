// Sending many packets with one system call, and as few datagrams as the kernel lets us: consecutive packets of one
// size to one destination leave as one segmented datagram (UDP_SEGMENT). To local peers, large packets of any sizes do:
// the first of a WRITE is longer than those behind it, and would be a datagram of its own. Large payloads go straight
// from the program's memory; small ones are copied next to their headers, which costs less than naming them to the
// kernel.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <sys/socket.h>
#include <sys/uio.h>

#include "nic/world.h"
#include "wire/flow_icrc.h"
#include "wire/star_payloads.h"
#include "world/real/os/socket_address.h"

namespace weft::real {

// Where datagrams of one destination go.
struct UdpRoute {
  SocketAddress to{};
  int socket = -1;
  std::uint16_t source_port = wire::kRocePort;
  bool connected = false;  // the socket knows where to
  bool joins = false;      // several packets may be one plain datagram (wire/packed_datagram.h),
  bool wide = false;       //   and the way takes one of 64 KB
  bool merge = false;      // may packets be segments of one datagram?
  bool numbered =
      false;  // the other side sees IPv4 identifications, and the kernel numbers segments (wire/flow_icrc.h)
  std::uint32_t fits = ~0U;  // bytes of the longest datagram that goes there in one piece, as far as is known
  // For a connected socket: the class that it sends with, and how many datagrams in a row wanted another one.
  std::uint8_t traffic_class = 0, others = 0;
};

class UdpSender {
 public:
  UdpSender();

  // The payload must stay until flush().
  void add(UdpRoute& route, const nic::OutPacket& packet);
  void add(UdpRoute& route, const wire::Flow& flow, std::span<const std::byte> datagram);
  [[nodiscard]] bool empty() const { return message_count_ + held_count_ + plain_.packets == 0; }
  void flush();

  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  [[nodiscard]] std::uint64_t failed() const { return failed_; }          // datagrams that the kernel refused
  [[nodiscard]] std::uint64_t fragmented() const { return fragmented_; }  // that were too long for the way

 private:
  static constexpr std::size_t kMessages = 64, kParts = 512, kArena = 320 * 1024, kControlBytes = 64;
  static constexpr std::size_t kCopied = 512;                       // payloads up to this are copied
  static constexpr std::size_t kPassing = wire::kStarControlBytes;  // and so are the card's own, up to this
  static constexpr std::size_t kSmall = wire::kMaxHeaderBytes + std::max(kCopied, kPassing) + 3 + wire::kIcrcBytes;
  static constexpr std::size_t kMaxSegments = wire::SegmentIcrc::kSegments, kMaxDatagram = 65000;

  struct Pending {
    UdpRoute* route = nullptr;
    std::uint32_t bytes = 0, segment = 0, segments = 0, first_part = 0, parts = 0;
    std::uint8_t traffic_class = 0;
    bool closed = false;  // nothing may follow: a shorter segment ends a datagram
    bool joined = false;  // no segments, but packets that tell where they end
  };

  // Acknowledgements and requests without payload wait for what is larger.
  struct Held {
    UdpRoute* route;
    std::byte* data;
    std::uint32_t bytes;
    std::uint8_t traffic_class;
  };
  static constexpr std::uint32_t kHeld = 32;

  // One small message and what is owed in front of it, one behind the other in the arena (wire/packed_datagram.h): as
  // one piece of memory it costs the kernel least to send. Segments would have to be announced by control messages, at
  // both ends. As long as there is one, there are no others; what does not fit behind it makes it one of many.
  struct Plain {
    UdpRoute* route = nullptr;
    std::byte* begin = nullptr;
    std::uint32_t bytes = 0, packets = 0;
    bool ended = false;  // by the message
  };

  void add_burst(UdpRoute& route, const nic::OutPacket& burst);
  void add_large(UdpRoute& route, const nic::OutPacket& packet);
  [[nodiscard]] bool goes_plainly(UdpRoute& route, const Held& packet, bool owed);
  void line_up(UdpRoute& route, const Held& packet, bool owed);
  void end_plain();
  [[nodiscard]] bool left_plainly();
  void add_held();
  // A packet's datagram: a new one, or the last, if it may follow there.
  Pending& message_for(UdpRoute& route, std::uint8_t traffic_class, std::uint32_t bytes, bool tells_its_end);
  // A whole packet behind what its datagram has.
  void append_packet(UdpRoute& route, std::uint8_t traffic_class, std::byte* data, std::uint32_t bytes,
                     bool tells_its_end);
  // What a packet's ICRC is changed by if it is this datagram's last for now.
  [[nodiscard]] std::uint32_t change_by_number(const UdpRoute& route, const Pending& message, std::uint32_t bytes) {
    return route.numbered && message.segments > 1 ? segments_.of(message.segments - 1, bytes) : 0;
  }
  void append(Pending& message, const std::byte* data, std::size_t bytes);
  void make_room(std::size_t parts, std::size_t arena);
  void fill(mmsghdr& header, std::size_t index);
  [[nodiscard]] static bool says_by_itself(UdpRoute& route, std::uint8_t traffic_class, bool first);
  void send(std::size_t first, std::size_t count);
  [[gnu::cold]] bool left_in_fragments(std::size_t index);
  [[gnu::cold]] void note_short_way(UdpRoute& route, std::uint32_t refused_bytes);

  wire::FlowIcrc icrc_;
  wire::SegmentIcrc segments_;
  std::unique_ptr<std::byte[]> arena_;
  std::size_t arena_used_ = 0;
  std::array<Pending, kMessages> messages_{};
  std::size_t message_count_ = 0;
  std::array<Held, kHeld> held_;
  std::size_t held_count_ = 0;
  Plain plain_{};
  std::array<iovec, kParts> parts_{};
  std::size_t part_count_ = 0;
  std::array<mmsghdr, kMessages> headers_{};
  struct alignas(cmsghdr) Control {
    std::array<char, kControlBytes> bytes;
  };
  std::array<Control, kMessages> controls_{};
  wire::Address told_of_{};  // whose way is short
  std::uint64_t calls_ = 0, failed_ = 0, fragmented_ = 0;
};

}  // namespace weft::real

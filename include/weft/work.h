// What a program asks a queue pair to do, and where its bytes are. Plain values: the call that posts them copies all it
// needs, so spans and temporaries need to live only until it returns. The memory that a scatter/gather element names is
// the card's from posting until the completion.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/types.h"

namespace weft {

// Scatter/gather element: part of a region of this device. Region::sge makes them.
struct Sge {
  std::uint64_t address = 0;  // in the region's own addresses
  std::uint32_t length = 0;   // bytes
  Key key{};
};

// A place in a peer's memory. Region::remote makes them; they are what programs tell each other.
struct RemoteAddress {
  std::uint64_t address = 0;
  Key key{};
};

using Bytes = std::span<const std::byte>;

// A view of one value, which it keeps, or of a list of them, which must outlive it.
template <class T>
class OneOrMore {
 public:
  constexpr OneOrMore() = default;
  template <class One>
    requires std::convertible_to<const One&, T>
  constexpr OneOrMore(const One& one) : one_(one), single_(true) {}
  template <class List>
    requires(!std::convertible_to<const List&, T> && std::convertible_to<const List&, std::span<const T>>)
  constexpr OneOrMore(const List& list) : list_(list) {}

  [[nodiscard]] constexpr std::span<const T> list() const { return single_ ? std::span<const T>(&one_, 1) : list_; }
  [[nodiscard]] constexpr bool empty() const { return !single_ && list_.empty(); }

 private:
  T one_{};
  std::span<const T> list_{};
  bool single_ = false;
};

enum class Verb : std::uint8_t {
  send,
  send_immediate,
  send_invalidate,  // RC: the peer's window with key `invalidate` is closed when the message arrives
  write,
  write_immediate,   // takes a receive of the peer to tell it
  read,              // RC
  compare_swap,      // RC, 8 aligned bytes; what was there before comes to `local`
  fetch_add,         // RC
  local_invalidate,  // closes a type 2 window of this queue pair
  bind_window,       // opens a window
  rpc,        // RC: calls a kernel of the peer's (weft/kernel.h) by a weft_call_head and parameters, of one packet
  rpc_write,  // RC: payload of any length for a kernel of the peer's
  // RC: the same for kernels of this device, by a queue pair that has local calls. The call's head and parameters are
  // `inline_data`, of any memory and at most 4096 bytes behind the head; `remote` has the op-code, and the key of this
  // program's memory that the kernel may use. Apart from the send queue, and in the order of posting.
  local_rpc,
  local_rpc_write,
};
[[nodiscard]] std::string_view text(Verb verb);

// Opens a window onto part of a region; length 0 closes a type 1 window. Window::onto fills it in.
struct WindowBinding {
  Key window{};                  // as it is when this work's turn comes
  Key region{};                  // of this device, with Access::bind_window
  std::uint64_t address = 0;     // in the region's addresses
  std::uint64_t length = 0;      // bytes
  Access access = Access::none;  // remote rights, and zero_based
  Key new_key{};                 // the window's key from then on: may differ from `window` in its variant only
};

// Where datagrams go. A plain value: work that was posted keeps what it needs of it.
struct AddressHandle {
  Address destination{};
  std::uint8_t gid_index = 0;  // which address of ours they come from
  std::uint8_t traffic_class = 0, hop_limit = 64;
  std::uint16_t udp_source_port = 0xC000;  // spreads flows over equal paths
};

// The receiver of one datagram.
struct Destination {
  AddressHandle path{};
  Qpn qpn{};
  Qkey qkey{};  // with the high bit set: the sending queue pair's own
};

struct WorkRequest {
  std::uint64_t id = 0;  // comes back in the completion
  Verb verb = Verb::send;
  OneOrMore<Sge> local{};               // gathered from for send and write, scattered to for read and atomics
  RemoteAddress remote{};               // write, read, atomics; calls: the op-code, and what may be used there
  bool signaled = true;                 // false: completes silently, unless it fails
  bool solicited = false;               // raises an event for who waits for solicited completions only
  bool fence = false;                   // not before all READs and atomics posted earlier are done
  std::uint32_t immediate = 0;          // send_immediate, write_immediate
  Key invalidate{};                     // send_invalidate, local_invalidate
  std::uint64_t compare = 0, swap = 0;  // compare_swap
  std::uint64_t add = 0;                // fetch_add
  WindowBinding bind{};                 // bind_window
  Destination to{};                     // UD
  // Bytes that are copied now, instead of `local`; any memory, registered or not. At most the queue pair's
  // inline_bytes, in at most 32 pieces.
  OneOrMore<Bytes> inline_data{};
};

// A datagram's first 40 bytes of received data are its network header (GRH).
inline constexpr std::uint32_t kGrhBytes = 40;

struct ReceiveRequest {
  std::uint64_t id = 0;
  OneOrMore<Sge> local{};
};

}  // namespace weft

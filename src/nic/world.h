// What the card asks of the world it is built for. Effects are asked for, never waited for: the real world
// does them at once, inlined; the simulated world gives each its price and decides when others see it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/time.h"
#include "nic/control.h"
#include "nic/formats.h"
#include "wire/packet.h"

namespace weft::nic {

inline constexpr std::size_t kMaxSges = 32;

struct Fragment {  // without defaults: a packet's room for 32 of them is not written to before it is used
  const std::byte* data;
  std::uint32_t bytes;
};

// A packet about to leave. Its payload still lies in host memory; the world sends or copies it before
// emit() returns, because the card does not promise that it stays.
struct OutPacket {
  wire::Flow flow;
  wire::Headers headers;
  std::span<const Fragment> payload;
  std::uint32_t payload_bytes = 0;
  std::uint32_t packets = 1;  // more than one: a burst (wire/packet.h)
  bool one_copy = false;      // the payload may stay where it is, in one piece, for the receiver to fetch
  bool last = false;          // nobody has more to send: it need not wait for company
  bool passing = false;       // the payload is the card's own, and the card's next packet changes it
};

// Structures that a hardware card would keep on chip, or fetch when they are not there.
// `capability` is a unit: a MAC is computed (StaR). `rule` is a look into a registry, of a stateful card.
enum class OnChip : std::uint8_t {
  context,
  region,
  completion_queue,
  shared_receive_queue,
  translation,
  capability,
  rule,
};
// What the card reads in host memory. The last group is what a card may keep on chip while it is under way; one that
// keeps nothing reads it again whenever it hears something of it.
enum class BusRead : std::uint8_t {
  work,           // work entries that are to be sent
  receive,        // a receive entry that a message takes
  receive_order,  // which entry of a shared receive queue is next
  ahead,          // entries for a cache: nothing waits for them
  payload,
  translation,  // an entry of a translation table
  atomic,       // the word that an atomic changes
  block,        // of a stateless queue pair (nic/stateless_block.h)
  kernel,       // what a kernel asks for
  answer,       // of a kernel, where BusWrite::answer put it

  work_under_way,     // an entry that has been sent
  receive_under_way,  // the entry of a message that has begun
  saved_response,     // a READ or atomic that is being answered
  reorder_note,       // how a packet ends that came out of order
  retry,              // what is to be sent again
  remote_work,        // an entry of the stateless side (nic/star/link.h)
};
// What the card writes to host memory, besides payload and completions. Nothing waits for it.
enum class BusWrite : std::uint8_t {
  atomic,
  block,
  work_under_way,
  saved_response,
  reorder_note,
  retry,
  remote_work,
  kernel,  // an entry of the send queue, for an answer
  answer,  // what a kernel has answered
};

// clang-format off
enum class EventKind : std::uint8_t {
  completion,                                      // of a completion queue, through its channel
  cq_error, qp_fatal, qp_request_error, qp_access_error, communication_established, sq_drained,
  last_entry_reached, srq_limit_reached, srq_error,  // asynchronous
};
// clang-format on

struct HostEvent {
  EventKind kind{};
  std::uint32_t number = 0;  // of the completion queue, the shared receive queue, or the QPN
};

// What a world can do beyond the calls that every world has. A world states it as `kCapabilities`. The card uses what
// is stated, and does not compile with a world that lacks a method of it (check_capabilities).
struct Capabilities {
  bool bursts = false;  // consecutive packets leave as one, and payloads may stay in host memory for the peer to fetch
  bool timed_turns = false;    // a queue pair's turn takes time
  bool clock = false;          // the time takes a while to read: the world may tell the card kAsk instead
  bool journal = false;        // the world records what the card refuses, with the packet that is to blame
  bool timed_kernels = false;  // steps of kernels take time
};

template <class W>
concept World = requires(W w, const OutPacket& packet, std::uint32_t cq, const Completion& completion,
                         const HostEvent& event, const LossEvent& loss, OnChip what, std::uint64_t key, BusRead purpose,
                         const void* from, std::size_t bytes, std::byte* to, std::span<const std::byte> data,
                         BusWrite marks, bool writes) {
  { W::kCapabilities } -> std::convertible_to<Capabilities>;
  w.emit(packet);                // the port
  w.complete(cq, completion);    // written to host memory; the world calls reveal() when the host may see it
  w.notify(event);               // the host's programs
  w.tell(loss);                  // the host's retransmission software, through the control queue; may be lost
  w.read(purpose, from, bytes);  // the card is about to read this from host memory
  w.write(marks, from, bytes);   // the card has written this to host memory
  w.dma_write(to, data);         // write payload to host memory
  w.touch(what, key);            // an on-chip structure: nothing, or a miss
  // Is there memory behind these bytes of an on-demand region? Brings it in if it can.
  { w.reach(to, bytes, writes) } -> std::same_as<bool>;
};

// How long bursts to a peer may be, in bytes. Those that the peer fetches itself have limits of their own: shorter ones
// than `one_copy_from`, and those of longer messages than `one_copy_message`, do not pay.
struct BurstLimits {
  std::uint32_t near = 0, one_copy = 0, one_copy_from = 0, one_copy_message = 0;
  bool split = false;  // the world takes them apart before the peer sees them: any dialect may have them
};

// An exported payload, or a part of one, and where it belongs.
struct OneCopyPiece {
  std::byte* to = nullptr;
  wire::Payload from{};
};
inline constexpr std::size_t kOneCopyPieces = 4;  // that are fetched with one call

// Capabilities::bursts. burst_limits: to this peer. A payload that stays in host memory (OutPacket::one_copy) is
// revoked when the program may use that memory again though the peer has not acknowledged it: whoever fetches it later
// finds out that it is too late (host/exporter.h). fetch: exported payloads, at once and in this order; the answer is
// how many of them, from the first, were all there. A world may do fewer at a time, but not none.
template <class W>
concept CarriesBursts = requires(W w, const wire::Flow& flow, wire::Qpn destination, const std::byte* from,
                                 std::uint64_t bytes, std::span<const OneCopyPiece> pieces) {
  { w.burst_limits(flow, destination) } -> std::same_as<BurstLimits>;
  w.revoke_all();
  w.revoke(from, bytes);
  { w.fetch(pieces) } -> std::same_as<std::size_t>;
};

// Capabilities::timed_turns. Until its turn has ended a queue pair does not stand in the schedule queue. The world is
// told that a turn has been given, and that one is wanted while it lasts; then, and only then, it says when the turn
// has ended (Card::on_dequeue).
template <class W>
concept TimesTurns = requires(W w, std::uint32_t slot) {
  w.turn_given(slot);
  w.turn_wanted(slot);
};

// Capabilities::clock. Who was told kAsk asks for the time when somebody wants to know it.
inline constexpr Time kAsk = std::numeric_limits<Time>::min();
template <class W>
concept HasClock = requires(W w) {
  { w.look_at_clock() } -> std::same_as<Time>;
};

// Capabilities::journal. The packet is nullptr where none is to blame.
template <class W>
concept KeepsJournal = requires(W w, Refusal why, const wire::Packet* packet) {
  w.refused(why, packet);
};

// Capabilities::timed_kernels. The world is told when an instance begins and when it has ended; when the card turns to
// it and when it turns to something else; and of each step, with the bytes that it is given.
struct KernelInstance;
template <class W>
concept TimesKernels = requires(W w, KernelInstance& instance, std::size_t bytes) {
  w.kernel_begins(instance);
  w.kernel_enters(instance);
  w.kernel_step(instance, bytes);
  w.kernel_leaves(instance);
  w.kernel_ends(instance);
};

template <World W>
consteval bool check_capabilities() {
  static_assert(!W::kCapabilities.bursts || CarriesBursts<W>, "a world with bursts has all methods of CarriesBursts");
  static_assert(!W::kCapabilities.timed_turns || TimesTurns<W>, "a world with timed turns has those of TimesTurns");
  static_assert(!W::kCapabilities.clock || HasClock<W>, "a world with a clock has look_at_clock()");
  static_assert(!W::kCapabilities.journal || KeepsJournal<W>, "a world with a journal has refused()");
  static_assert(!W::kCapabilities.timed_kernels || TimesKernels<W>,
                "a world with timed kernels has those of TimesKernels");
  return true;
}

}  // namespace weft::nic

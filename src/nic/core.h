// What the halves of the card share: its state, its world, the time, a packet under construction, and the
// few deeds that every half does: refuse, complete, schedule.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "base/fixed_vector.h"
#include "nic/card_state.h"
#include "nic/page_walk.h"
#include "nic/world.h"
#include "wire/packet.h"

namespace weft::nic {

template <World W>
class Core {
  static_assert(check_capabilities<W>());

 public:
  Core(CardState& s, W& w) : state(s), world(w) {}

  CardState& state;
  W& world;
  static constexpr std::uint64_t kMaxMove = 4096;  // bytes: the largest path MTU

  Time moment = 0;                        // what the world says the time is, or kAsk
  const wire::Packet* in_hand = nullptr;  // the packet that is being judged
  std::span<const wire::Packet> behind;   // those that came with it, and are next
  std::span<const wire::Packet> fetched;  // of those: their exported payloads are in their places
  OutPacket out;

  [[nodiscard]] Time now() {
    if constexpr (W::kCapabilities.clock) {
      if (moment == kAsk) return world.look_at_clock();
    }
    return moment;
  }
  // What a completion says of itself. Where time has to be asked for it is, if the queue's owner wants to know.
  [[nodiscard]] Time when(std::uint32_t cq_number) {
    return !W::kCapabilities.clock || state.cqs[cq_number].timed ? now() : 0;
  }
  [[nodiscard]] std::uint32_t slot(const Context& c) const { return state.contexts.slot_of(c); }
  [[gnu::cold, gnu::noinline]] void refuse(Refusal why) {
    state.counters.add(why);
    if constexpr (W::kCapabilities.journal) world.refused(why, in_hand);
  }
  void count(Counter c, std::uint64_t n = 1) { state.counters.add(c, n); }
  [[nodiscard]] static KeyUser asker(const Context& c) { return {c.domain, c.qpn}; }

  // Most packets of this queue pair that may be under way in roce; UC knows no acknowledgements.
  [[nodiscard]] std::uint32_t roce_window(const Context& c) const {
    return c.service == wire::Service::rc ? state.config.window_packets : 1U << 24;
  }
  [[gnu::cold, gnu::noinline]] void tell(LossEvent e, const Context& c) {
    e.slot = slot(c);
    e.qpn = c.qpn;
    count(Counter::control_events);
    world.tell(e);
  }

  // How packets of a message leave as one.
  struct Burst {
    std::uint32_t packets = 1;
    bool one_copy = false;
  };
  // What a message has left that may leave.
  struct Left {
    std::uint32_t bytes = 0;
    std::uint32_t message = 0;  // bytes, all of it
    std::uint32_t room = 0;     // packets, in the window
    std::int64_t turn = 0;      // bytes
    bool in_one_piece = true;   // in host memory
  };
  // A burst that the peer fetches itself may be longer than what is left of the turn. A turn is there so that others
  // need not wait long, and such a burst costs this card its headers alone. It is the last of its turn, and the window
  // bounds it.
  [[nodiscard]] Burst burst_of(const Context& c, const Left& left) {
    if constexpr (W::kCapabilities.bursts) {
      if (left.bytes <= path_mtu(c)) return {};
      out.flow.source = state.port.gids[c.gid_index];
      out.flow.destination = c.peer;
      const BurstLimits longest = world.burst_limits(out.flow, c.peer_qpn);
      if (c.dialect != Dialect::srnic && !longest.split) return {};
      const std::uint32_t most = std::min(packets_of(left.bytes, c.mtu_shift), left.room);
      if (longest.one_copy != 0 && left.in_one_piece && left.message <= longest.one_copy_message) {
        const std::uint32_t packets = std::min(most, longest.one_copy >> c.mtu_shift);
        if (packets > 1 && std::min(packets << c.mtu_shift, left.bytes) >= longest.one_copy_from)
          return {packets, true};
      }
      const auto of_turn = static_cast<std::uint32_t>((left.turn + path_mtu(c) - 1) >> c.mtu_shift);
      return {std::max(std::min({most, longest.near >> c.mtu_shift, of_turn}), 1U), false};
    } else {
      return {};
    }
  }

  void schedule(Context& c) {
    if (c.scheduled) {
      if constexpr (W::kCapabilities.timed_turns) world.turn_wanted(slot(c));
      return;
    }
    c.scheduled = true;
    state.ready.push(slot(c));
  }
  void queue_acknowledgement(Context& c) {
    if (c.ack_queued) return;
    c.ack_queued = true;
    state.owing.push(slot(c));
  }

  [[nodiscard]] Refusal translate(const Context& c, wire::Key key, Rights want, std::uint64_t address,
                                  std::uint64_t length, std::byte*& at) {
    return translate_for(asker(c), key, want, address, length, at);
  }
  [[nodiscard]] Refusal translate_for(KeyUser who, wire::Key key, Rights want, std::uint64_t address,
                                      std::uint64_t length, std::byte*& at) {
    world.touch(OnChip::region, key.raw());
    const Refusal why = state.memory.translate(key, who, want, address, length, at);
    if (state.memory.all_plain() || why != Refusal::none) [[likely]]
      return why;
    return translate_further(key, want, length, at);
  }

  // Writes a payload to host memory. False: it was exported, and cannot be fetched; it is as if it had been lost.
  [[nodiscard]] bool dma_write(std::byte* to, const wire::Payload& data) {
    if constexpr (W::kCapabilities.bursts) {
      if (data.is_exported()) [[unlikely]]
        return fetch(std::array{OneCopyPiece{to, data}}) == 1;
    }
    world.dma_write(to, data.near());
    return true;
  }
  // Fetches exported payloads. How many of them, from the first, are in their places now.
  [[nodiscard, gnu::noinline]] std::size_t fetch([[maybe_unused]] std::span<const OneCopyPiece> pieces) {
    if constexpr (W::kCapabilities.bursts) {
      const std::size_t there = world.fetch(pieces);
      count(Counter::one_copy_calls);
      count(Counter::one_copy_fetches, there);
      return there;
    }
    return 0;
  }

  // This queue pair ends, and the program will hear of it.
  void revoke_from(const Context& c) {
    if constexpr (W::kCapabilities.bursts) {
      if (may_have_exported(c)) world.revoke_all();
    }
  }
  // This window is about to close, or to open onto other memory.
  void revoke_behind(wire::Key window) {
    if constexpr (W::kCapabilities.bursts) {
      const Region* r = state.memory.find(window);
      if (r != nullptr && r->bound) world.revoke(r->host, r->length);
    }
  }

  // Starts a packet to the connected peer. Headers that the opcode does not have keep what they had.
  wire::Headers& start_packet(const Context& c, wire::Opcode opcode, wire::Psn psn) {
    out.flow.source = state.port.gids[c.gid_index];
    out.flow.destination = c.peer;
    wire::set_marks(out.flow, c.marks);
    wire::Bth& bth = out.headers.bth;
    bth = wire::Bth{};
    bth.opcode = opcode;
    bth.pkey = c.pkey;
    bth.destination = c.peer_qpn;
    bth.psn = psn;
    out.payload = {};
    out.payload_bytes = 0;
    out.packets = 1;
    out.one_copy = out.last = out.passing = false;
    return out.headers;
  }
  // Is this message the last that there is to send? It is this queue pair's turn: it does not stand among those that
  // are ready. Those that wait for room at the peer become ready one after the other, each when the turn before has
  // ended: what they send follows at once.
  [[nodiscard]] bool is_last(const Context& c, std::uint32_t entry) const {
    return entry + 1 == c.sq_posted && state.ready.empty() && !others_wait(c);
  }
  void send_packet() {
    out.headers.bth.pad = static_cast<std::uint8_t>(-out.payload_bytes & 3);
    count(Counter::sent_pkts, out.packets);
    count(Counter::sent_bytes, out.payload_bytes);
    world.emit(out);
  }

  // Sends a packet whose payload the card has written itself, and is about to write over.
  void send_passing(std::span<const std::byte> payload) {
    const Fragment piece{payload.data(), static_cast<std::uint32_t>(payload.size())};
    out.payload = {&piece, payload.empty() ? 0U : 1U};
    out.payload_bytes = piece.bytes;
    out.passing = true;
    send_packet();
    out.payload = {};
  }

  // The place of the next completion in host memory, to be filled in there; nullptr when the queue has overflowed,
  // which the queue pair does not survive.
  [[nodiscard]] Completion* start_completion(std::uint32_t cq_number) {
    CompletionRing& cq = state.cqs[cq_number];
    world.touch(OnChip::completion_queue, cq_number);
    if (cq.full() || cq.overflowed) [[unlikely]] {
      overflow(cq_number);
      return nullptr;
    }
    return &cq.at(cq.produced);
  }
  void complete(std::uint32_t cq_number, const Completion& done) {
    ++state.cqs[cq_number].produced;
    count(Counter::completions);
    world.complete(cq_number, done);
  }

 private:
  [[nodiscard]] bool others_wait(const Context& c) const {
    return c.peer_slot != kNoPeer && state.peers[c.peer_slot].first != kNone;
  }
  [[gnu::cold, gnu::noinline]] void overflow(std::uint32_t cq_number) {
    CompletionRing& cq = state.cqs[cq_number];
    refuse(Refusal::cq_overflow);
    if (!cq.overflowed) world.notify({EventKind::cq_error, cq_number});
    cq.overflowed = true;
  }

  // For regions that are on demand or have a translation table. Apart, so that the usual way stays short.
  [[nodiscard, gnu::noinline]] Refusal translate_further(wire::Key key, Rights want, std::uint64_t length,
                                                         std::byte*& at) {
    const Region& region = state.memory.below(key);
    // More than a packet is never moved at once: who asks for that asks for the first packet's sake, and whether it may
    // move the others later.
    const std::uint64_t now_moved = length <= kMaxMove ? length : 1;
    if (region.table != nullptr && length != 0) at = walk_pages(state, world, region, at, now_moved);
    const bool writes = any(want & (Rights::local_write | Rights::remote_write | Rights::remote_atomic));
    return !state.memory.is_on_demand(key) || world.reach(at, length, writes) ? Refusal::none : Refusal::page_fault;
  }
};

}  // namespace weft::nic

#include "lab/validate.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include <fmt/format.h>

#include "kernels/consistent.h"
#include "lab/on_chip_need.h"
#include "lab/testbed.h"

namespace weft::lab {

namespace {

// What comes over a cable until the other end has heard that it should pause.
std::uint64_t headroom_of(const Setting& s) {
  const sim::Link link(link_for(s), {}, {});
  return sim::pause_headroom(link, link);
}

std::string validate_pauses(const Setting& s) {
  if (!can_pause(s) || s.profile.chip.receive_buffer_bytes > headroom_of(s)) return {};
  return fmt::format("receive_buffer_bytes is {}, and {} come in while a neighbour is told to pause",
                     s.profile.chip.receive_buffer_bytes, headroom_of(s));
}

std::string validate_switch(const Setting& s) {
  if (s.switch_alpha > 0 && s.switch_buffer_bytes == 0) return "switch_alpha is a share of switch_buffer, which is 0";
  if (s.switch_buffer_bytes == 0) return {};
  if (s.clients == 1) return "switch_buffer is of a switch, and one client has a cable";
  if (!s.profile.chip.pause) return {};
  const std::uint64_t headroom = (s.clients + std::uint64_t{1}) * headroom_of(s);
  if (s.switch_buffer_bytes > headroom) return {};
  return fmt::format("switch_buffer is {} bytes, and its {} ports need {} for what comes while they pause",
                     s.switch_buffer_bytes, s.clients + 1, headroom);
}

std::string validate_calls(const Setting& s) {
  if (!calls(s)) return s.group_size == 0 ? "" : "group_size is for rpc and parameter_server";
  if (s.operation != Operation::send || s.asker != Asker::clients) return "calls are SENDs of clients";
  if (s.depth != 1) return fmt::format("a connection has one call under way, and depth is {}", s.depth);
  if (receive_depth(s) < s.call_messages) {
    return fmt::format("a call has {} messages, and only {} receives stand posted", s.call_messages, receive_depth(s));
  }
  return {};
}

std::string validate_fetches(const Setting& s) {
  if (s.pattern != Pattern::fetch) {
    return s.by_kernel || s.failures > 0 ? "by_kernel and failures are for fetch" : "";
  }
  if (s.operation != Operation::read || s.asker != Asker::clients) return "fetch is READs of clients, or calls instead";
  if (s.depth != 1) return fmt::format("fetch has one thing under way, and depth is {}", s.depth);
  if (s.failures > 0 && s.structure != FetchFrom::object) return "failures are of objects";
  constexpr std::uint32_t kMostBytes = kernels::kMostObject - 8;
  return s.bytes <= kMostBytes ? "" : fmt::format("at most {} bytes are fetched, not {}", kMostBytes, s.bytes);
}

std::string validate_kernels(const Setting& s) {
  if (s.operation == Operation::rpc_write) {
    if (s.pattern != Pattern::stream || s.asker != Asker::clients) return "rpc_write is a stream of clients";
    if (s.bytes % 8 != 0) return fmt::format("rpc_write is of values of 8 bytes, and bytes is {}", s.bytes);
    if (!std::has_single_bit(s.partitions)) return fmt::format("partitions is a power of two, not {}", s.partitions);
  }
  if (!calls_kernels(s) || s.stateless == StatelessCards::nobody) return {};
  return "kernels are not called by stateless cards, or over them";
}

// All memory of a host is one region.
std::string validate_tlb(const Setting& s) {
  const sim::TlbSpec& tlb = s.profile.chip.tlb;
  if (tlb.entries == 0) return {};
  if (!std::has_single_bit(tlb.page_bytes))
    return fmt::format("tlb.page_bytes is a power of two, not {}", tlb.page_bytes);
  const std::uint32_t each = (s.qps + s.clients - 1) / s.clients;
  const std::uint64_t most = std::max(memory_bytes(s, true, s.qps), memory_bytes(s, false, each));
  if (most <= tlb.entries * tlb.page_bytes) return {};
  return fmt::format("a host has {} bytes of memory, and {} entries of {} bytes reach {} (tlb.entries)", most,
                     tlb.entries, tlb.page_bytes, tlb.entries * tlb.page_bytes);
}

}  // namespace

std::string validate(const Setting& s) {
  constexpr std::uint64_t kMostUnderWay = 1U << 24;
  const std::uint32_t port_mtu = s.profile.device.mtu;
  if (!std::has_single_bit(s.mtu)) return fmt::format("mtu is 256, 512, 1024, 2048 or 4096, not {}", s.mtu);
  if (s.mtu > port_mtu) return fmt::format("mtu is {}, and the card's port_mtu is {}", s.mtu, port_mtu);
  if (!std::has_single_bit(s.page_bytes)) return fmt::format("page_bytes is a power of two, not {}", s.page_bytes);
  if (s.region_bytes != 0 && s.region_bytes < s.bytes) {
    return fmt::format("region_bytes is {}, and a message has {}", s.region_bytes, s.bytes);
  }
  if (s.qps > s.profile.device.card.max_qps) {
    return fmt::format("{} queue pairs, and the card has room for {} (max_qps)", s.qps, s.profile.device.card.max_qps);
  }
  if (s.signal_every > s.depth) {
    return fmt::format("signal_every is {}, and only {} are under way (depth): none would complete", s.signal_every,
                       s.depth);
  }
  if (s.inline_bytes > s.profile.device.max_inline) {
    return fmt::format("inline_bytes is {}, and the card's max_inline is {}", s.inline_bytes,
                       s.profile.device.max_inline);
  }
  if (s.profile.device.dialect == nic::Dialect::roce &&
      s.profile.device.card.congestion != nic::CongestionControl::none) {
    return "congestion is dctcp, and roce has no congestion control here: none, or another dialect";
  }
  const bool back_and_forth = s.operation == Operation::send || s.operation == Operation::write;
  if (s.pattern == Pattern::ping_pong && (!back_and_forth || s.clients != 1)) {
    return "ping_pong is for SENDs, or WRITEs, between two hosts";
  }
  if (s.pattern == Pattern::ping_pong && s.operation == Operation::write && s.stateless != StatelessCards::nobody) {
    return "ping_pong of WRITEs is not for stateless cards";
  }
  if (std::string why = validate_calls(s); !why.empty()) return why;
  if (std::string why = validate_fetches(s); !why.empty()) return why;
  if (std::string why = validate_kernels(s); !why.empty()) return why;
  if (s.qps < s.clients) return fmt::format("{} queue pairs for {} clients: each has one at least", s.qps, s.clients);
  if (std::uint64_t{s.qps} * s.depth > kMostUnderWay) {
    return fmt::format("{} queue pairs with {} messages each: {} under way are allowed", s.qps, s.depth, kMostUnderWay);
  }
  if (std::uint64_t{s.qps} * receive_depth(s) > kMostUnderWay) {
    return fmt::format("{} queue pairs with {} receives each: {} are allowed", s.qps, receive_depth(s), kMostUnderWay);
  }
  if (std::string why = validate_switch(s); !why.empty()) return why;
  if (std::string why = validate_pauses(s); !why.empty()) return why;
  if (std::string why = validate_tlb(s); !why.empty()) return why;
  return does_not_fit(s.profile);
}

}  // namespace weft::lab

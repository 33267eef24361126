// How much memory a card needs on chip for a number of queue pairs: this one, and a conventional one. All of it follows
// from the structures' own sizes; the few sizes that somebody chose are the constants here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nic/caches/conventional.h"
#include "nic/card_state.h"

namespace weft::nic {

inline constexpr std::uint64_t kKilobyte = 1024, kMegabyte = 1024 * kKilobyte, kGigabyte = 1024 * kMegabyte;

// Chosen, not computed: SRNIC's prototype.
inline constexpr std::uint64_t kReceiveBufferBytes = 6 * kMegabyte / 10;  // packets that wait to be judged
inline constexpr std::uint64_t kMttCacheBytes = 12 * kMegabyte / 10;
inline constexpr std::uint64_t kRegisteredBytes = 4 * kGigabyte;  // what is registered, in the comparison

// The card of the SRNIC paper: no caches but that of translations.
constexpr CardConfig srnic_card(CardConfig card = {}) {
  card.work_cache_bytes = card.receive_cache_bytes = 0;
  card.mtt_cache_bytes = kMttCacheBytes;
  return card;
}

enum class Design : std::uint8_t { conventional, srnic };

// clang-format off
enum class Structure : std::uint8_t {
  receive_buffer, contexts, translations, work_caches, bitmaps, reordering_buffers, outstanding_requests,
  schedule_queue, acknowledgement_queue, timers, count_,
};
// clang-format on

struct StructureText {
  std::string_view key, name, how;
};
inline constexpr std::array<StructureText, static_cast<std::size_t>(Structure::count_)> kStructures{{
    {"receive_buffer", "receive buffer", "one for all queue pairs"},
    {"qpc", "QPC", "a context whole: 256 bytes, without its timer's 12"},
    {"mtt", "MTT", "an entry for each 4 KB page of 4 GB; SRNIC: a cache of them"},
    {"wqe_cache", "WQE cache", "8 work and 8 receive entries; SRNIC: fetched and dropped"},
    {"bitmap", "bitmap", "5 of 500 packets; SRNIC: in host memory"},
    {"reordering_buffer", "reordering buffer", "512 KB; SRNIC: headers say where packets go"},
    {"outstanding_requests", "outstanding request table", "500 entries; SRNIC: responses echo them"},
    {"schedule_queue", "schedule queue", "a slot number"},
    {"acknowledgement_queue", "acknowledgement queue", "a slot number"},
    {"timers", "timers", "buckets, a heap, and the context's deadline"},
}};

[[nodiscard]] constexpr std::uint64_t on_chip_bytes(Design design, Structure structure, std::uint32_t qps) {
  const bool conventional = design == Design::conventional;
  const std::uint64_t n = qps;
  switch (structure) {
    case Structure::receive_buffer: return kReceiveBufferBytes;
    case Structure::contexts: return n * (sizeof(Context) - kContextTimerBytes);
    case Structure::translations:
      return conventional ? table_bytes(kRegisteredBytes, kSmallestPage) : srnic_card().mtt_cache_bytes;
    case Structure::work_caches:
      return conventional ? n * sizeof(conventional::WorkCaches)
                          : srnic_card().work_cache_bytes + srnic_card().receive_cache_bytes;
    case Structure::bitmaps: return conventional ? n * sizeof(conventional::Bitmaps) : 0;
    case Structure::reordering_buffers: return conventional ? n * sizeof(conventional::ReorderingBuffer) : 0;
    case Structure::outstanding_requests: return conventional ? n * sizeof(conventional::OutstandingRequests) : 0;
    case Structure::schedule_queue:
    case Structure::acknowledgement_queue: return n * slot_bytes(qps);
    case Structure::timers: return Timers<ContextTable>::bytes_for(n) + n * kContextTimerBytes;
    case Structure::count_: break;
  }
  return 0;
}

// The paper's "SQ scheduler": who is next, who owes an acknowledgement, and when to look again.
[[nodiscard]] constexpr std::uint64_t scheduler_bytes(std::uint32_t qps) {
  return on_chip_bytes(Design::srnic, Structure::schedule_queue, qps) +
         on_chip_bytes(Design::srnic, Structure::acknowledgement_queue, qps) +
         on_chip_bytes(Design::srnic, Structure::timers, qps);
}

[[nodiscard]] constexpr std::uint64_t on_chip_total(Design design, std::uint32_t qps) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kStructures.size(); ++i) sum += on_chip_bytes(design, static_cast<Structure>(i), qps);
  return sum;
}

}  // namespace weft::nic

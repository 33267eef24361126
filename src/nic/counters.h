// What the card counts, under the names that operators know from Soft-RoCE and mlx5 hw_counters; and every
// refusal, under its own name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wire/refusal.h"

namespace weft::nic {

// clang-format off
enum class Counter : std::uint8_t {
  sent_pkts, rcvd_pkts, sent_bytes, rcvd_bytes, acks_sent, acks_rcvd, duplicate_request, out_of_sequence,
  rcvd_rnr_err, send_rnr_err, rcvd_seq_err, retry_exceeded_err, retry_rnr_exceeded_err, local_ack_timeout_err,
  packet_seq_err, implied_nak_seq_err, out_of_buffer, retransmitted_pkts, read_responses_resent, rp_cnp_handled,
  req_cqe_error, resp_cqe_error, completions, placed_early, recoveries_entered, recoveries_left, fast_exits,
  probes_sent, needless_resends, control_events, control_messages, ecn_marked_pkts, one_copy_fetches, one_copy_calls,
  wqes_fetched, wqes_dropped, wqe_cache_hits, wqe_cache_misses,
  receive_wqes_fetched, receive_wqe_cache_hits, receive_wqe_cache_misses, mtt_cache_hits, mtt_cache_misses,
  star_forgotten, count_,
};
// clang-format on

// clang-format off
inline constexpr std::array<std::string_view, static_cast<std::size_t>(Counter::count_)> kCounterNames{
    "sent_pkts", "rcvd_pkts", "sent_bytes", "rcvd_bytes", "acks_sent", "acks_rcvd", "duplicate_request",
    "out_of_sequence", "rcvd_rnr_err", "send_rnr_err", "rcvd_seq_err", "retry_exceeded_err",
    "retry_rnr_exceeded_err", "local_ack_timeout_err", "packet_seq_err", "implied_nak_seq_err", "out_of_buffer",
    "retransmitted_pkts", "read_responses_resent", "rp_cnp_handled", "req_cqe_error", "resp_cqe_error", "completions",
    "placed_early", "recoveries_entered", "recoveries_left", "fast_exits", "probes_sent",
    "needless_resends", "control_events", "control_messages", "ecn_marked_pkts", "one_copy_fetches", "one_copy_calls",
    "wqes_fetched", "wqes_dropped", "wqe_cache_hits", "wqe_cache_misses", "receive_wqes_fetched",
    "receive_wqe_cache_hits", "receive_wqe_cache_misses", "mtt_cache_hits", "mtt_cache_misses", "star_forgotten"};
// clang-format on

// clang-format off
inline constexpr std::array<std::string_view, static_cast<std::size_t>(Counter::count_)> kCounterMeanings{
    "packets sent", "packets received", "bytes of payload sent", "bytes of payload received", "acknowledgements sent",
    "acknowledgements received", "requests that had arrived before", "requests that arrived ahead of their turn",
    "answers that the peer has no receive posted", "answers that no receive was posted here",
    "answers that the peer missed a packet", "requests given up: the peer did not answer",
    "requests given up: the peer had no receive posted", "waits for an acknowledgement that timed out",
    "gaps that a NAK told of", "gaps in READ and atomic responses", "messages that found no receive posted",
    "packets sent again", "READ and atomic responses sent again", "congestion notifications heeded",
    "send completions with an error", "receive completions with an error", "completions written",
    "packets placed ahead of their turn", "times a stream entered loss recovery", "times a stream left it",
    "times it was left although newer packets had not been told of",
    "questions what has arrived, after a silence", "packets sent again that had arrived the first time",
    "loss events told to the host's software",
    "answers of the host's software", "packets that arrived marked by a congested switch",
    "payloads, or parts of them, copied straight from the sender's memory",
    "calls that did so, for one or more at a time",
    "work entries read from host memory", "work entries read, not used in that turn, and dropped",
    "work entries found in the card's cache", "work entries not found in the card's cache",
    "receive entries read from host memory", "receive entries found in the card's cache",
    "receive entries not found in the card's cache", "pages whose place the card knew",
    "pages whose place was read from host memory",
    "StaR data of which copies were known no more, though not expired: there was no room"};
// clang-format on

class Counters {
 public:
  void add(Counter c, std::uint64_t n = 1) { counts_[static_cast<std::size_t>(c)] += n; }
  void add(Refusal r) { refusals_[static_cast<std::size_t>(r)] += 1; }
  [[nodiscard]] std::uint64_t get(Counter c) const { return counts_[static_cast<std::size_t>(c)]; }
  [[nodiscard]] std::uint64_t get(Refusal r) const { return refusals_[static_cast<std::size_t>(r)]; }
  [[nodiscard]] std::uint64_t refused() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t n : refusals_) sum += n;
    return sum;
  }

 private:
  std::array<std::uint64_t, static_cast<std::size_t>(Counter::count_)> counts_{};
  std::array<std::uint64_t, static_cast<std::size_t>(Refusal::count_)> refusals_{};
};

}  // namespace weft::nic

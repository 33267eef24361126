// Every reason for which the card refuses a packet or a request. One value is at once the counter's
// name, the sentence a person reads, and the name of the test that provokes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft {

// clang-format off
enum class Refusal : std::uint8_t {
  none,
  // Bytes that are no packet.
  truncated, bad_ethernet, bad_ip_header, bad_ip_length, fragment, not_udp, not_roce_port, bad_udp_length,
  bad_version, bad_pad, bad_icrc, unknown_opcode, payload_not_allowed,
  // Management datagrams.
  mad_bad_size, mad_not_cm, mad_unknown_attribute, mad_not_weft, mad_bad_versions,
  // A packet for nobody, or from nobody we know.
  no_such_qp, reserved_qpn, not_our_address, wrong_peer, wrong_service, bad_pkey, bad_qkey, qp_not_ready,
  cnp_unexpected, wrong_dialect,
  // Requests, in the order the responder checks them.
  psn_ahead, psn_duplicate, duplicate_too_old, not_first, not_continued, bad_length, too_long, too_many_reads,
  too_far_ahead, early_full, operation_not_allowed, misaligned_atomic, no_receive, receive_too_small,
  message_length_mismatch, bad_invalidate,
  // The gate to memory.
  key_unknown, key_stale, key_wrong_domain, key_wrong_qp, key_no_permission, out_of_bounds, window_unbound,
  page_fault, payload_gone,
  // Responses.
  ack_ghost, ack_duplicate, bad_syndrome, response_unexpected, response_out_of_order, response_bad_length,
  // What ends a connection: the peer's word, or our own patience.
  peer_invalid_request, peer_access_error, peer_operation_error, retry_exceeded, rnr_retry_exceeded, cq_overflow,
  // Work that cannot be sent.
  reads_disabled, datagram_too_long,
  // StaR: bytes that are no packet of it; what a stateless card does not let in; what its stateful peer cannot take.
  star_bad_checksum, star_bad_length, star_bad_status,
  star_off, star_expired, star_bad_capability, star_stale_epoch, star_not_granted, star_no_such_block, star_bad_payload,
  star_cq_full,
  star_ghost, star_work_ahead, star_work_again, star_not_migrated, star_peer_gone, star_no_partner,
  star_not_registered, star_bad_seal,
  // Calls of kernels.
  kernel_off, kernel_bad_call, kernel_busy, kernel_unknown, kernel_failed, kernel_stopped, kernel_reply_too_long,
  kernel_ahead, kernel_bad_reply, kernel_no_way, kernel_undelivered, peer_no_kernel,
  // Kernels that peers deploy.
  deployment_off, deployment_bad_request, deployment_wrong_key, deployment_replayed, deployment_beyond_rights,
  deployment_bad_bytecode,
  count_,
};
// clang-format on

struct RefusalText {
  std::string_view counter, meaning;
};

namespace detail {

struct RefusalLine {
  Refusal value;
  RefusalText text;
};

inline constexpr RefusalLine kRefusalLines[] = {
    {Refusal::none, {"ok", "nothing was refused"}},
    {Refusal::truncated, {"rx_truncated", "datagram shorter than the headers and ICRC that its opcode requires"}},
    {Refusal::bad_ethernet, {"rx_bad_ethernet", "frame too short for Ethernet, VLAN-tagged, or neither IPv4 nor IPv6"}},
    {Refusal::bad_ip_header,
     {"rx_bad_ip_header",
      "IP header cut short, of the wrong version, with options, with a wrong checksum, or with "
      "addresses that cannot be on a wire"}},
    {Refusal::bad_ip_length, {"rx_bad_ip_length", "IP length longer than the frame or shorter than its own headers"}},
    {Refusal::fragment, {"rx_fragment", "IP fragment: RoCEv2 packets are never fragmented"}},
    {Refusal::not_udp, {"rx_not_udp", "IP packet that carries something other than UDP"}},
    {Refusal::not_roce_port, {"rx_not_roce_port", "UDP destination port is not 4791"}},
    {Refusal::bad_udp_length, {"rx_bad_udp_length", "UDP length disagrees with the IP length"}},
    {Refusal::bad_version, {"rx_bad_version", "transport header version is not 0"}},
    {Refusal::bad_pad, {"rx_bad_pad", "datagram is no multiple of four bytes, or claims more pad than it has bytes"}},
    {Refusal::bad_icrc, {"rx_bad_icrc", "invariant CRC does not match: the packet was changed on its way"}},
    {Refusal::unknown_opcode, {"rx_unknown_opcode", "opcode is reserved or not supported"}},
    {Refusal::payload_not_allowed, {"rx_payload_not_allowed", "payload behind an opcode that carries none"}},
    {Refusal::mad_bad_size, {"rx_mad_bad_size", "management datagram is not 256 bytes"}},
    {Refusal::mad_not_cm,
     {"rx_mad_not_cm", "management datagram of another class, version or method than the connection manager's"}},
    {Refusal::mad_unknown_attribute, {"rx_mad_unknown_attribute", "no such connection manager message"}},
    {Refusal::mad_not_weft,
     {"rx_mad_not_weft", "management datagram of another class, version, method, maker or attribute than Weft's own"}},
    {Refusal::mad_bad_versions,
     {"rx_mad_bad_versions",
      "question or answer between Weft cards with a range of versions that ends before it begins"}},
    {Refusal::no_such_qp, {"rx_no_such_qp", "destination queue pair does not exist"}},
    {Refusal::reserved_qpn, {"rx_reserved_qpn", "destination queue pair number is reserved and not served here"}},
    {Refusal::not_our_address, {"rx_not_our_address", "destination address is not this card's"}},
    {Refusal::wrong_peer, {"rx_wrong_peer", "source address is not the connected peer's"}},
    {Refusal::wrong_service, {"rx_wrong_service", "opcode of another service than the queue pair's"}},
    {Refusal::bad_pkey, {"rx_bad_pkey", "partition key does not match the queue pair's"}},
    {Refusal::bad_qkey, {"rx_bad_qkey", "queue key does not match the queue pair's"}},
    {Refusal::qp_not_ready, {"rx_qp_not_ready", "queue pair is not in a state that takes this packet"}},
    {Refusal::cnp_unexpected,
     {"rx_cnp_unexpected", "congestion notification for a queue pair without congestion control"}},
    {Refusal::wrong_dialect, {"rx_wrong_dialect", "packet of another dialect than the connection speaks"}},
    {Refusal::psn_ahead, {"rx_psn_ahead", "request ahead of the expected sequence number: one before it was lost"}},
    {Refusal::psn_duplicate, {"rx_psn_duplicate", "request seen before"}},
    {Refusal::duplicate_too_old, {"rx_duplicate_too_old", "repeated READ or atomic whose saved resources are gone"}},
    {Refusal::not_first, {"rx_not_first", "middle or last packet of a message that was never begun"}},
    {Refusal::not_continued, {"rx_not_continued", "new message begun before the last one ended"}},
    {Refusal::bad_length, {"rx_bad_length", "payload length not allowed at this place of a message"}},
    {Refusal::too_long, {"rx_too_long", "message longer than 2 GiB"}},
    {Refusal::too_many_reads,
     {"rx_too_many_reads", "more READs and atomics outstanding than this side agreed to hold"}},
    {Refusal::too_far_ahead, {"rx_too_far_ahead", "request further ahead than any window reaches"}},
    {Refusal::early_full, {"rx_early_full", "ahead of its turn, and no room left to remember how its message ends"}},
    {Refusal::operation_not_allowed,
     {"rx_operation_not_allowed", "the queue pair's access flags forbid this operation"}},
    {Refusal::misaligned_atomic, {"rx_misaligned_atomic", "atomic address is not a multiple of eight"}},
    {Refusal::no_receive, {"rx_no_receive", "message arrived and no receive was posted"}},
    {Refusal::receive_too_small, {"rx_receive_too_small", "message longer than the posted receive"}},
    {Refusal::message_length_mismatch,
     {"rx_message_length_mismatch", "WRITE payloads do not add up to the length that its first packet announced"}},
    {Refusal::bad_invalidate,
     {"rx_bad_invalidate", "SEND with invalidate of a key that its sender may not invalidate"}},
    {Refusal::key_unknown, {"mem_key_unknown", "key names no region or window"}},
    {Refusal::key_stale, {"mem_key_stale", "key of a region or window that is no longer registered"}},
    {Refusal::key_wrong_domain, {"mem_key_wrong_domain", "key belongs to another protection domain"}},
    {Refusal::key_wrong_qp, {"mem_key_wrong_qp", "window is bound to another queue pair"}},
    {Refusal::key_no_permission, {"mem_key_no_permission", "region or window does not allow this kind of access"}},
    {Refusal::out_of_bounds, {"mem_out_of_bounds", "access outside the region or window"}},
    {Refusal::window_unbound, {"mem_window_unbound", "memory window is not bound"}},
    {Refusal::page_fault, {"mem_page_fault", "no memory behind this address of an on-demand region"}},
    {Refusal::payload_gone,
     {"rx_payload_gone", "payload that was to be fetched from the sender's memory is not to be had any more"}},
    {Refusal::ack_ghost, {"rx_ack_ghost", "acknowledgement of something never sent"}},
    {Refusal::ack_duplicate, {"rx_ack_duplicate", "acknowledgement of something acknowledged before"}},
    {Refusal::bad_syndrome, {"rx_bad_syndrome", "acknowledgement with a reserved syndrome"}},
    {Refusal::response_unexpected, {"rx_response_unexpected", "response to a request that was never made"}},
    {Refusal::response_out_of_order,
     {"rx_response_out_of_order", "response ahead of the expected sequence number or out of its place"}},
    {Refusal::response_bad_length, {"rx_response_bad_length", "response whose length is not what was asked for"}},
    {Refusal::peer_invalid_request, {"peer_invalid_request", "the peer answered: invalid request"}},
    {Refusal::peer_access_error, {"peer_access_error", "the peer answered: remote access error"}},
    {Refusal::peer_operation_error, {"peer_operation_error", "the peer answered: it could not carry the request out"}},
    {Refusal::retry_exceeded, {"qp_retry_exceeded", "peer did not answer within the allowed retries"}},
    {Refusal::rnr_retry_exceeded, {"qp_rnr_retry_exceeded", "peer had no receive posted within the allowed retries"}},
    {Refusal::cq_overflow, {"qp_cq_overflow", "completion queue overflowed"}},
    {Refusal::reads_disabled, {"tx_reads_disabled", "READ or atomic on a queue pair with max_rd_atomic 0"}},
    {Refusal::datagram_too_long, {"tx_datagram_too_long", "datagram longer than the port's MTU"}},
    {Refusal::star_bad_checksum, {"star_bad_checksum", "StaR header whose checksum does not match"}},
    {Refusal::star_bad_length, {"star_bad_length", "StaR packet whose length is not what its header says"}},
    {Refusal::star_bad_status, {"star_bad_status", "StaR answer with a status that nobody knows"}},
    {Refusal::star_off, {"star_off", "StaR packet for a card that serves no stateless connection"}},
    {Refusal::star_expired, {"star_expired", "StaR packet older than its sender allows: a stale copy"}},
    {Refusal::star_bad_capability, {"star_bad_capability", "StaR packet whose capability this card never issued"}},
    {Refusal::star_stale_epoch, {"star_stale_epoch", "StaR capability of an epoch that has ended"}},
    {Refusal::star_not_granted, {"star_not_granted", "StaR capability does not allow this operation or this place"}},
    {Refusal::star_no_such_block, {"star_no_such_block", "StaR packet for a stateless connection that is no more"}},
    {Refusal::star_bad_payload, {"star_bad_payload", "StaR packet whose contents contradict themselves"}},
    {Refusal::star_cq_full, {"star_cq_full", "completion for a stateless queue pair waits: its queue has no room"}},
    {Refusal::star_ghost, {"star_ghost", "StaR answer to something never sent, or answered before"}},
    {Refusal::star_work_ahead, {"star_work_ahead", "work of the stateless side ahead of its turn: some was lost"}},
    {Refusal::star_work_again, {"star_work_again", "work of the stateless side that had arrived before"}},
    {Refusal::star_not_migrated, {"star_not_migrated", "work of a stateless side whose state has not arrived"}},
    {Refusal::star_peer_gone, {"star_peer_gone", "the stateless side's queue pair has broken"}},
    {Refusal::star_no_partner, {"star_no_partner", "the peer's card does not play the other role of StaR"}},
    {Refusal::star_not_registered, {"star_not_registered", "StaR work for memory that no rule of its peer opens"}},
    {Refusal::star_bad_seal, {"star_bad_seal", "StaR state or rule that does not come from the peer's card"}},
    {Refusal::kernel_off, {"kernel_off", "call of a kernel on a queue pair that serves no calls"}},
    {Refusal::kernel_bad_call, {"kernel_bad_call", "call that does not begin with where its answer goes"}},
    {Refusal::kernel_busy, {"kernel_busy", "call that must wait: as many are under way as may be"}},
    {Refusal::kernel_unknown, {"kernel_unknown", "call of a kernel that this card does not have"}},
    {Refusal::kernel_failed, {"kernel_failed", "kernel that could not do what it was called for, and says so"}},
    {Refusal::kernel_stopped, {"kernel_stopped", "kernel that took more steps than it may"}},
    {Refusal::kernel_reply_too_long,
     {"kernel_reply_too_long", "kernel whose answer is longer than its caller has room for, or than a step may add"}},
    {Refusal::kernel_ahead, {"kernel_ahead", "call or answer ahead of its turn: it counts as lost"}},
    {Refusal::kernel_bad_reply, {"kernel_bad_reply", "answer of a kernel that is shorter than its head"}},
    {Refusal::kernel_no_way,
     {"kernel_no_way", "kernel that sends for a peer's call, too much, or on a queue pair that is not there for it"}},
    {Refusal::kernel_undelivered,
     {"kernel_undelivered", "kernel's WRITE that did not arrive: the queue pair it was sent on has broken"}},
    {Refusal::peer_no_kernel,
     {"peer_no_kernel", "the peer answered: its card has no kernel for this op-code, and none for any"}},
    {Refusal::deployment_off, {"deployment_off", "deployment by a peer to whom nobody has granted it"}},
    {Refusal::deployment_bad_request, {"deployment_bad_request", "deployment that asks for what nobody knows"}},
    {Refusal::deployment_wrong_key,
     {"deployment_wrong_key", "deployment whose MAC is not what its queue pair's key makes of it"}},
    {Refusal::deployment_replayed, {"deployment_replayed", "deployment whose number is not new: a copy"}},
    {Refusal::deployment_beyond_rights,
     {"deployment_beyond_rights", "deployment of an op-code, or of more, than was granted or is there"}},
    {Refusal::deployment_bad_bytecode,
     {"deployment_bad_bytecode", "deployment of bytecode that must not run, and has a fault with a name"}},
};

// Every value has its line, at its own place.
constexpr bool refusal_lines_in_order() {
  std::size_t next = 0;
  for (const RefusalLine& line : kRefusalLines) {
    if (static_cast<std::size_t>(line.value) != next++) return false;
  }
  return next == static_cast<std::size_t>(Refusal::count_);
}
static_assert(refusal_lines_in_order());

}  // namespace detail

inline constexpr auto kRefusals = [] {
  std::array<RefusalText, static_cast<std::size_t>(Refusal::count_)> texts{};
  for (const detail::RefusalLine& line : detail::kRefusalLines) texts[static_cast<std::size_t>(line.value)] = line.text;
  return texts;
}();
static_assert(kRefusals.size() == static_cast<std::size_t>(Refusal::count_));

constexpr const RefusalText& text(Refusal refusal) { return kRefusals[static_cast<std::size_t>(refusal)]; }

}  // namespace weft

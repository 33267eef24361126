// A program in words, for who replays a failure.
#include <string_view>

#include "reliability/program.h"

namespace weft::test {
namespace {

constexpr std::string_view kServices[] = {"none", "RC", "UC", "UD", "CNP"};
constexpr std::string_view kKinds[] = {
    "send",         "send_immediate", "send_invalidate",  "write",      "write_immediate", "read",
    "compare_swap", "fetch_add",      "local_invalidate", "bind_window"};

void print(std::ostream& out, std::span<const Piece> pieces) {
  for (const Piece& p : pieces) out << " [" << p.offset << ", " << p.offset + p.length << ")";
}

void print(std::ostream& out, const std::vector<ReceiveStep>& receives) {
  for (std::size_t i = 0; i < receives.size(); ++i) {
    out << "    receive " << i << (receives[i].pause > 0 ? " late" : "") << " into";
    print(out, receives[i].local);
    out << '\n';
  }
}

void print(std::ostream& out, const Lane& lane) {
  for (std::size_t i = 0; i < lane.steps.size(); ++i) {
    const Step& s = lane.steps[i];
    out << "    " << i << ' ' << kKinds[static_cast<std::size_t>(s.kind)] << ' ' << s.length() << " bytes"
        << (s.signaled ? "" : " unsignaled") << (s.fence ? " fence" : "") << (s.is_inline ? " inline" : "")
        << (s.remote_key == kWrongKey ? " WRONG KEY" : "") << ", home";
    print(out, s.local);
    out << ", away " << s.remote << '\n';
  }
  print(out, lane.receives);
}

void print(std::ostream& out, const QpSpec& q) {
  out << "psn " << q.psn.raw() << ", queues " << q.limits.send_entries << '/' << q.limits.receive_entries
      << ", timeout " << +q.ack_timeout << ", retries " << +q.retry_count << '/' << +q.rnr_retry << ", reads "
      << +q.max_reads;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Program& p) {
  out << p.bed.hosts << " hosts, " << p.bed.link.bits_per_second / 1'000'000'000 << " Gb/s, window "
      << p.bed.card.window_packets << ", faults " << p.bed.link.faults.text() << '\n';
  if (p.bed.dialect == nic::Dialect::srnic) {
    const nic::CardConfig& card = p.bed.card;
    out << "srnic, " << (card.congestion == nic::CongestionControl::dctcp ? "dctcp" : "no congestion control")
        << (card.requester_bitmaps ? "" : ", stateless requesters") << ", probe " << card.probe_delay << " ps, notes "
        << card.reorder_notes << ", rings " << card.retry_rings << ", control delay " << p.control_delay << " ps\n";
  }
  for (const Channel& c : p.channels) {
    out << kServices[static_cast<std::size_t>(c.qps[0].service)] << " mtu " << c.qps[0].mtu << '\n';
    for (const std::size_t d : {0U, 1U}) {
      out << "  host " << c.hosts[d] << " to " << c.hosts[1 - d] << ": ";
      print(out, c.qps[d]);
      out << (c.uses_srq[1 - d] ? ", to a shared receive queue\n" : "\n");
      print(out, c.lanes[d]);
    }
  }
  for (std::size_t h = 0; h < p.shared.size(); ++h) {
    if (!p.shared[h].empty()) out << "  shared receive queue of host " << h << '\n';
    print(out, p.shared[h]);
  }
  return out;
}

}  // namespace weft::test

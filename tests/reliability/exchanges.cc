#include "reliability/exchanges.h"

#include <cassert>
#include <cstring>
#include <string_view>

namespace weft::test {
namespace {

using nic::WorkKind;
using wire::Service;

constexpr std::uint32_t kMtu = 256;
constexpr wire::Psn kNearWrap{0xFF'FFFE};  // the third packet from here is number 0

std::string_view text(WorkKind kind) {
  constexpr std::string_view kNames[] = {"Send", "SendImmediate", "SendInvalidate", "Write",           "WriteImmediate",
                                         "Read", "CompareSwap",   "FetchAdd",       "LocalInvalidate", "BindWindow"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<WorkKind> verbs_of(Service service) {
  using enum WorkKind;
  switch (service) {
    case Service::ud: return {send, send_immediate};
    case Service::uc: return {send, send_immediate, write, write_immediate};
    default: return {send, send_immediate, send_invalidate, write, write_immediate, read, compare_swap, fetch_add};
  }
}

// The last packet is neither full nor a multiple of four.
std::uint32_t length_of(const Exchange& e) { return nic::is_atomic(e.kind) ? 8 : e.packets * kMtu - 6; }

// Gives each step its own place in the arenas: the lower half holds what is sent or read, in the upper half it arrives.
class Layout {
 public:
  Layout(Program& program, std::size_t half) : half_(half) { program.bed.arena_bytes = 2 * half; }
  std::uint64_t source(std::size_t host, std::uint32_t bytes) { return take(sources_[host], bytes); }
  std::uint64_t target(std::size_t host, std::uint32_t bytes) { return half_ + take(targets_[host], bytes); }

 private:
  std::uint64_t take(std::uint64_t& next, std::uint32_t bytes) const {
    const std::uint64_t at = next;
    next += (bytes + 15) / 16 * 16;
    assert(next <= half_);
    return at;
  }
  std::uint64_t half_;
  std::array<std::uint64_t, 2> sources_{}, targets_{};
};

constexpr std::uint64_t kChosen = 0;  // Step::remote that is still to be chosen

void add(Channel& channel, std::size_t direction, Layout& layout, Step step, std::uint32_t length) {
  Lane& lane = channel.lanes[direction];
  const std::size_t sender = direction, receiver = 1 - direction;
  const bool reads = nic::reads_back(step.kind), writes = nic::is_write(step.kind);
  if (step.local.empty() && !nic::is_local(step.kind)) {
    step.local = {{reads ? layout.target(sender, length) : layout.source(sender, length), length}};
  }
  if (step.remote == kChosen && reads) step.remote = layout.source(receiver, length);
  if (step.remote == kChosen && writes) step.remote = layout.target(receiver, length);
  if (step.kind == WorkKind::send_invalidate) ++lane.windows;
  if (consumes_receive(step.kind)) {
    const std::uint32_t room = length + (channel.qps[0].service == Service::ud ? 40 : 0);
    lane.receives.push_back({.local = {{layout.target(receiver, room), room}}});
  }
  lane.steps.push_back(std::move(step));
}

std::uint64_t initial_word(const BedSpec& bed, std::uint32_t host, std::uint64_t offset) {
  std::vector<std::byte> arena(bed.arena_bytes);
  fill(arena, arena_seed(bed.seed, host));
  std::uint64_t word = 0;
  std::memcpy(&word, &arena[offset], 8);
  return word;
}

Exchange exchange(Service service, WorkKind kind, std::uint32_t packets, wire::Psn psn = wire::Psn(100)) {
  return {.service = service, .kind = kind, .packets = packets, .psn = psn};
}

}  // namespace

std::string name_of(const Exchange& e) {
  const std::string_view service = e.service == Service::rc ? "Rc" : e.service == Service::uc ? "Uc" : "Ud";
  return std::string(service).append(text(e.kind)) + std::to_string(e.packets) + "Packets" +
         std::to_string(e.messages) + "Times" + (e.window == 256 ? "" : "Window" + std::to_string(e.window)) +
         (e.psn == kNearWrap ? "Wrapping" : "") + (e.late > 0 ? "Late" : "");
}

Program program_of(const Exchange& e) {
  Program p;
  const std::uint32_t length = length_of(e);
  p.bed.card.window_packets = e.window;
  const std::uint32_t spare = e.service == Service::rc ? 0 : 2;  // receives, lest what comes twice finds none
  Layout layout(p, (std::size_t{2} * e.messages + spare) * (length + 64));
  Channel channel;
  for (QpSpec& qp : channel.qps) {
    qp.service = e.service;
    qp.mtu = kMtu;
    qp.psn = e.psn;
  }
  const std::uint64_t word = layout.source(1, 16) + 8;  // all atomics work on this one
  std::uint64_t compare = initial_word(p.bed, 1, word);
  for (std::uint32_t i = 0; i < e.messages; ++i) {
    Step step{.kind = e.kind, .immediate = 0xABC0 + i, .compare_add = compare, .swap = 7 + i};
    if (nic::is_atomic(e.kind)) step.remote = word;
    add(channel, 0, layout, step, length);
    compare = step.swap;
  }
  for (ReceiveStep& r : channel.lanes[0].receives) r.pause = e.late;
  for (std::uint32_t i = 0; i < spare; ++i) {
    channel.lanes[0].receives.push_back({.local = {{layout.target(1, length + 40), length + 40}}});
  }
  p.channels.push_back(channel);
  return p;
}

Program mixed_program(wire::Psn psn) {
  Program p;
  Layout layout(p, 16 * 1024);
  Channel channel;
  for (QpSpec& qp : channel.qps) {
    qp.mtu = kMtu;
    qp.psn = psn;
    qp.max_reads = qp.max_peer_reads = 2;
  }
  constexpr std::uint32_t kShort = 100, kLong = 2 * kMtu + 90;
  const auto put = [&](std::size_t direction, Step step, std::uint32_t length) {
    add(channel, direction, layout, std::move(step), length);
    return channel.lanes[direction].steps.back();
  };
  const std::uint64_t word = layout.source(1, 16), there = layout.target(1, kLong);
  put(0, {.kind = WorkKind::send, .solicited = true}, kLong);
  put(0, {.kind = WorkKind::write, .remote = there, .signaled = false}, kLong);
  const Step read = put(0, {.kind = WorkKind::read, .remote = there}, kLong);  // what was written just now
  put(0, {.kind = WorkKind::fetch_add, .remote = word, .compare_add = 3}, 8);
  put(0, {.kind = WorkKind::bind_window}, 0);
  put(0, {.kind = WorkKind::fetch_add, .remote = word, .signaled = false, .compare_add = 4}, 8);
  put(0, {.kind = WorkKind::write, .remote = there, .fence = true}, kShort);  // over what was read
  put(0, {.kind = WorkKind::local_invalidate, .signaled = false}, 0);
  put(0, {.kind = WorkKind::send_immediate, .local = read.local, .immediate = 77}, kLong);  // sends on what was read
  put(0, {.kind = WorkKind::send_invalidate}, kShort);
  put(0, {.kind = WorkKind::read}, kShort);

  put(1, {.kind = WorkKind::read}, kLong);
  put(1, {.kind = WorkKind::write_immediate, .immediate = 88}, kLong);
  put(1, {.kind = WorkKind::compare_swap, .compare_add = 1, .swap = 2}, 8);
  put(1, {.kind = WorkKind::send, .signaled = false}, kShort);
  put(1, {.kind = WorkKind::read}, 0);
  put(1, {.kind = WorkKind::write, .fence = true}, 0);
  p.channels.push_back(channel);
  return p;
}

std::vector<Exchange> short_exchanges(Service service) {
  std::vector<Exchange> all;
  for (const WorkKind kind : verbs_of(service)) {
    all.push_back(exchange(service, kind, 1));
    if (nic::is_atomic(kind) || service == Service::ud) continue;
    all.push_back(exchange(service, kind, 3));
    all.push_back(exchange(service, kind, 3, kNearWrap));
  }
  return all;
}

std::vector<Exchange> long_exchanges(Service service) {
  std::vector<Exchange> all;
  for (const WorkKind kind : verbs_of(service)) {
    if (nic::is_atomic(kind)) continue;
    Exchange small = exchange(service, kind, 20, kNearWrap), usual = exchange(service, kind, 270);
    small.window = 8;
    usual.messages = 1;
    all.push_back(small);
    if (service == Service::rc) all.push_back(usual);  // the others have no window
  }
  return all;
}

std::vector<Exchange> late_exchanges() {
  std::vector<Exchange> all;
  for (const WorkKind kind : verbs_of(Service::rc)) {
    if (!consumes_receive(kind)) continue;
    for (const std::uint32_t packets : {1U, 3U}) {
      all.push_back(exchange(Service::rc, kind, packets, kNearWrap));
      all.back().late = microseconds(15);
    }
  }
  return all;
}

Program with_faults(Program program, std::vector<sim::ScriptedFault> script) {
  program.bed.link.faults.count_world = true;
  program.bed.link.faults.script = std::move(script);
  return program;
}

}  // namespace weft::test

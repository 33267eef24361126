#include "reliability/lane_judge.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace weft::test {
namespace {

using nic::Completion;
using nic::CompletionKind;
using nic::Status;
using nic::WorkKind;

constexpr std::size_t kGrh = 40;  // what stands before a datagram in its receive buffer

CompletionKind told_as(WorkKind k) {
  switch (k) {
    case WorkKind::write:
    case WorkKind::write_immediate: return CompletionKind::write;
    case WorkKind::read: return CompletionKind::read;
    case WorkKind::compare_swap: return CompletionKind::compare_swap;
    case WorkKind::fetch_add: return CompletionKind::fetch_add;
    case WorkKind::bind_window: return CompletionKind::bind_window;
    case WorkKind::local_invalidate: return CompletionKind::local_invalidate;
    default: return CompletionKind::send;
  }
}

// Puts data[from, to) where the pieces say that these bytes of a message go.
void scatter(std::vector<std::byte>& memory, std::span<const Piece> pieces, std::span<const std::byte> data,
             std::size_t from, std::size_t to) {
  std::size_t at = 0;  // of the message
  for (const Piece& piece : pieces) {
    const std::size_t first = std::max(from, at), last = std::min(to, at + piece.length);
    if (first < last) std::memcpy(&memory[piece.offset + (first - at)], &data[first], last - first);
    at += piece.length;
  }
}

std::size_t first_refused(const Lane& lane) {
  const auto is_wrong = [](const Step& s) { return s.remote_key == kWrongKey; };
  return static_cast<std::size_t>(std::find_if(lane.steps.begin(), lane.steps.end(), is_wrong) - lane.steps.begin());
}

}  // namespace

LaneJudge::LaneJudge(const Case& what)
    : case_(what),
      channel_(what.program.channels[what.channel]),
      lane_(channel_.lanes[what.direction]),
      sender_(channel_.hosts[what.direction]),
      receiver_(channel_.hosts[1 - what.direction]),
      sender_end_(what.outcome.ends[what.channel][what.direction]),
      receiver_end_(what.outcome.ends[what.channel][1 - what.direction]),
      home_(what.expected[sender_]),
      away_(what.expected[receiver_]),
      service_(channel_.qps[0].service),
      shared_(channel_.uses_srq[1 - what.direction]),
      refused_(first_refused(lane_)) {
  const sim::FaultCounters& f = what.outcome.faults;
  in_order_ = f.duplicated + f.held + f.delayed == 0;
  undisturbed_ = in_order_ && f.dropped() + f.corrupted + what.outcome.counters.get(nic::Counter::out_of_buffer) == 0;
  for (const Completion& c : what.outcome.logs[sender_]) {
    if (!is_receive(c) && c.qpn == sender_end_.qpn) sent_.push_back(c);
  }
  for (const Completion& c : what.outcome.logs[receiver_]) {
    if (is_receive(c) && c.qpn == receiver_end_.qpn) received_.push_back(c);
  }
  std::size_t windows = 0;
  closes_.resize(lane_.steps.size());
  for (std::size_t i = 0; i < lane_.steps.size(); ++i) {
    if (consumes_receive(lane_.steps[i].kind)) messages_.push_back(i);
    if (lane_.steps[i].kind == WorkKind::send_invalidate) closes_[i] = receiver_end_.windows[windows++];
  }
}

void LaneJudge::complain(const std::string& what) {
  case_.verdicts.complain("channel " + std::to_string(case_.channel) + ", host " + std::to_string(sender_) + " to " +
                          std::to_string(receiver_) + ": " + what);
}

void LaneJudge::judge() {
  const std::size_t done = judge_sends();
  successes_ = judge_receives();
  if (sender_end_.sends_left != 0) complain("send work left over");
  if (sender_end_.drained_too_early) complain("said to be drained with work under way");
  if (service_ == wire::Service::rc) return judge_reliable(done);
  judge_unreliable();
}

// ---- completions ----------------------------------------------------------------------------------------------------

// Successes in program order, of which unsignalled steps do not speak; then, perhaps, an error; then all flushed.
std::size_t LaneJudge::judge_sends() {
  std::size_t at = 0;
  std::size_t done = lane_.steps.size();
  for (const Completion& c : sent_) {
    const bool success = c.status == Status::success;
    while (success && at < lane_.steps.size() && !lane_.steps[at].signaled) ++at;
    if (!success && done == lane_.steps.size()) {  // the first error: unsignalled steps before it were done
      while (at < lane_.steps.size() && !lane_.steps[at].signaled && place_of(c.id) != at) ++at;
      done = at;
      judge_first_error(c, at);
    } else if (done != lane_.steps.size() && c.status != Status::flushed) {
      complain("work that was not flushed after an error");
    }
    if (at == lane_.steps.size() || c.id != lane_id(case_.channel, case_.direction, at)) {
      complain("completion " + std::to_string(place_of(c.id)) + " out of order, expected " + std::to_string(at));
      return 0;
    }
    const Step& step = lane_.steps[at++];
    if (c.kind != told_as(step.kind)) complain("completion of the wrong kind");
    if (success && c.bytes != step.length()) complain("completion with the wrong length");
  }
  while (at < lane_.steps.size() && !lane_.steps[at].signaled && done == lane_.steps.size()) ++at;
  if (at != lane_.steps.size()) complain("step " + std::to_string(at) + " has no completion");
  const bool broken = sender_end_.state == nic::QpState::error;
  if (may_be_broken() && broken && done == lane_.steps.size()) return done;  // broken when all was over
  if (broken != (done != lane_.steps.size())) complain("state of the queue pair does not fit its completions");
  return done;
}

// Which errors may be the first, and of which step: the one that cannot be done, and no step before it.
void LaneJudge::judge_first_error(const Completion& done, std::size_t step) {
  if (service_ == wire::Service::rc && step < lane_.steps.size()) {
    switch (done.status) {
      case Status::remote_access:
        if (step == refused_) return;
        break;
      case Status::retry_exceeded:
        if (case_.program.may_time_out || peer_may_be_gone()) return;
        break;
      case Status::rnr_retry_exceeded:
        if (case_.program.may_miss_receives && consumes_receive(lane_.steps[step].kind)) return;
        break;
      case Status::flushed:
        if (may_be_broken()) return;
        break;
      default: break;
    }
  }
  complain("step " + std::to_string(step) + " failed with status " + std::to_string(static_cast<int>(done.status)) +
           " (" + std::string(text(done.reason).counter) + ")");
}

bool LaneJudge::may_be_broken() const {
  const Lane& other = channel_.lanes[1 - case_.direction];
  return channel_.interferences[case_.direction].break_at != kNever || first_refused(other) != other.steps.size();
}

// Its queue pair may break for reasons of its own.
bool LaneJudge::peer_may_be_gone() const {
  return case_.program.may_miss_receives || channel_.interferences[1 - case_.direction].break_at != kNever ||
         refused_ != lane_.steps.size();
}

std::size_t LaneJudge::judge_receives() {
  std::size_t successes = 0;
  for (std::size_t i = 0; i < received_.size(); ++i) {
    const Completion& c = received_[i];
    if (!shared_ && c.id != lane_id(case_.channel, case_.direction, i)) complain("receives complete out of order");
    if (c.status == Status::success) {
      if (successes != i) complain("a receive succeeds after one that was flushed");
      ++successes;
    } else if (c.status != Status::flushed || receiver_end_.state != nic::QpState::error) {
      complain("a receive failed with status " + std::to_string(static_cast<int>(c.status)));
    }
  }
  if (shared_) return successes;
  const std::size_t room = std::bit_ceil(channel_.qps[1 - case_.direction].limits.receive_entries);
  const std::size_t left = std::min(lane_.receives.size() - std::min(lane_.receives.size(), received_.size()), room);
  if (receiver_end_.receives_left != (receiver_end_.state == nic::QpState::error ? 0 : left)) {
    complain("receive entries are lost: " + std::to_string(receiver_end_.receives_left) + " left, expected " +
             std::to_string(left));
  }
  return successes;
}

bool LaneJudge::describes(const Completion& done, std::size_t place) const {
  const Step& step = lane_.steps[place];
  const bool datagram = service_ == wire::Service::ud;
  const bool immediate = step.kind == WorkKind::send_immediate || step.kind == WorkKind::write_immediate;
  const bool invalidates = step.kind == WorkKind::send_invalidate;
  const std::uint32_t value = immediate ? step.immediate : invalidates ? closes_[place].raw() : 0;
  return done.kind == (nic::is_write(step.kind) ? CompletionKind::receive_write_immediate : CompletionKind::receive) &&
         done.bytes == step.length() + (datagram ? kGrh : 0) && done.has_immediate == immediate &&
         done.has_invalidated == invalidates && done.immediate == value && done.solicited == step.solicited &&
         done.has_grh == datagram && done.source_qpn == (datagram ? sender_end_.qpn : wire::Qpn{});
}

const std::vector<Piece>& LaneJudge::buffer_of(const Completion& done) const {
  const std::vector<ReceiveStep>& posted = shared_ ? case_.program.shared[receiver_] : lane_.receives;
  return posted[place_of(done.id)].local;
}

void LaneJudge::judge_windows(std::size_t closed) const {
  for (std::size_t i = 0; i < receiver_end_.windows_bound.size(); ++i) {
    if (receiver_end_.windows_bound[i] != (i >= closed)) {
      case_.verdicts.complain("window " + std::to_string(i) +
                              (i < closed ? " is still open" : " was closed too early"));
    }
  }
}

// ---- memory of reliable lanes ---------------------------------------------------------------------------------------

void LaneJudge::judge_reliable(std::size_t done) {
  std::size_t closed = 0;
  for (std::size_t i = 0; i < successes_; ++i) {
    if (i >= messages_.size() || !describes(received_[i], messages_[i])) return complain("wrong receive completion");
    if (received_[i].has_invalidated) ++closed;
  }
  judge_windows(closed);
  const auto due = std::lower_bound(messages_.begin(), messages_.end(), done) - messages_.begin();
  if (successes_ < static_cast<std::size_t>(due)) return complain("a message was acknowledged and not received");
  if (done > refused_) return complain("a step that must be refused was done");
  for (std::size_t i = 0; i < done; ++i) apply(lane_.steps[i]);
  if (done == lane_.steps.size()) return;
  if (case_.program.bed.dialect != nic::Dialect::roce || is_star()) {
    if (!stopped_in_any_order(done)) complain("memory is not what packets of the program leave behind");
    return;
  }
  judge_landing(lane_.steps[done]);
  if (!stopped_somewhere(done)) complain("memory is not what any beginning of the program leaves behind");
}

std::vector<Piece> LaneJudge::target_of(const Step& step) const {
  if (nic::is_write(step.kind)) return {{step.remote, step.length()}};
  if (applied_messages_ < successes_) return buffer_of(received_[applied_messages_]);
  // A message that was cut off, in the next receive. Which one of a shared queue that is, only the card knows.
  if (shared_ || applied_messages_ >= lane_.receives.size()) return {};
  return lane_.receives[applied_messages_].local;
}

void LaneJudge::apply(const Step& step) {
  const Bytes message = nic::reads_back(step.kind) ? Bytes{} : gather(home_, step.local);
  std::uint64_t original = 0;
  switch (step.kind) {
    case WorkKind::read:
      scatter(home_, step.local, std::span(away_).subspan(step.remote, step.length()), 0, step.length());
      break;
    case WorkKind::compare_swap:
    case WorkKind::fetch_add: {
      std::memcpy(&original, &away_[step.remote], 8);
      const std::uint64_t swapped = original == step.compare_add ? step.swap : original;
      const std::uint64_t after = step.kind == WorkKind::fetch_add ? original + step.compare_add : swapped;
      std::memcpy(&away_[step.remote], &after, 8);
      scatter(home_, step.local, std::as_bytes(std::span(&original, 1)), 0, 8);
      break;
    }
    default: scatter(away_, target_of(step), message, 0, message.size()); break;
  }
  if (consumes_receive(step.kind)) ++applied_messages_;
}

// The receiver may have carried out more than the sender knows: some of the steps from `done` on, the last of them up
// to some packet. Finds where it stopped and leaves the expected memory in that state.
bool LaneJudge::stopped_somewhere(std::size_t done) {
  const std::size_t mtu = channel_.qps[case_.direction].mtu;
  for (std::size_t i = done; i < refused_; ++i) {
    const Step& step = lane_.steps[i];
    if (applied_messages_ == successes_ && away_matches()) return true;
    if (nic::is_atomic(step.kind)) {
      const Bytes landing = gather(home_, step.local);
      apply(step);
      scatter(home_, step.local, landing, 0, 8);  // the answer never came
    } else if (!nic::reads_back(step.kind)) {
      const Bytes message = gather(home_, step.local);
      const std::vector<Piece> target = target_of(step);
      for (std::size_t at = 0; at < message.size() && !target.empty(); at += mtu) {
        scatter(away_, target, message, at, std::min(at + mtu, message.size()));
        if (applied_messages_ == successes_ && away_matches()) return true;
      }
      if (consumes_receive(step.kind)) ++applied_messages_;
    }
  }
  return applied_messages_ == successes_ && away_matches();
}

// All of the receiver's memory that this lane may touch.
bool LaneJudge::away_matches() const {
  const Bytes& actual = case_.outcome.arenas[receiver_];
  const auto same = [&](Piece p) { return std::memcmp(&away_[p.offset], &actual[p.offset], p.length) == 0; };
  for (const Step& step : lane_.steps) {
    const std::uint32_t length = nic::is_write(step.kind) ? step.length() : nic::is_atomic(step.kind) ? 8 : 0;
    if (length > 0 && !same({step.remote, length})) return false;
  }
  for (std::size_t i = 0; i < successes_; ++i) {
    if (!std::all_of(buffer_of(received_[i]).begin(), buffer_of(received_[i]).end(), same)) return false;
  }
  if (shared_) return true;
  return std::all_of(lane_.receives.begin(), lane_.receives.end(),
                     [&](const ReceiveStep& r) { return std::all_of(r.local.begin(), r.local.end(), same); });
}

// A READ that failed: its answer arrived up to some packet, or not at all.
void LaneJudge::judge_landing(const Step& step) {
  if (step.kind != WorkKind::read || step.remote_key == kWrongKey) return;
  const Bytes& actual = case_.outcome.arenas[sender_];
  const auto same = [&](Piece p) { return std::memcmp(&home_[p.offset], &actual[p.offset], p.length) == 0; };
  const std::span<const std::byte> source = std::span(away_).subspan(step.remote, step.length());
  for (std::size_t at = 0; at < source.size(); at += channel_.qps[case_.direction].mtu) {
    if (std::all_of(step.local.begin(), step.local.end(), same)) return;
    scatter(home_, step.local, source, at, std::min<std::size_t>(at + channel_.qps[0].mtu, source.size()));
  }
}

// ---- memory of unreliable lanes -------------------------------------------------------------------------------------

void LaneJudge::judge_unreliable() {
  std::size_t next = 0;
  for (std::size_t i = 0; i < successes_; ++i) judge_message(received_[i], next);
  if (undisturbed_ && successes_ != messages_.size()) complain("a message is missing and nothing was lost");
  for (const Step& step : lane_.steps) {
    if (nic::is_write(step.kind)) judge_unreliable_write(step);
  }
  if (service_ == wire::Service::uc && !undisturbed_) forgive_leftovers();
}

// What arrived is what was sent; in order, unless the network changes the order.
void LaneJudge::judge_message(const Completion& done, std::size_t& next) {
  const Bytes& actual = case_.outcome.arenas[receiver_];
  const std::size_t skip = service_ == wire::Service::ud ? kGrh : 0;
  for (std::size_t m = in_order_ ? next : 0; m < messages_.size(); ++m) {
    const Step& step = lane_.steps[messages_[m]];
    if (!describes(done, messages_[m])) continue;
    const Bytes message = gather(home_, step.local);
    const std::vector<Piece> place = nic::is_write(step.kind) ? target_of(step) : buffer_of(done);
    const Bytes found = gather(actual, place);
    if (!std::equal(message.begin(), message.end(), found.begin() + static_cast<std::ptrdiff_t>(skip))) continue;
    if (skip > 0) judge_grh(found);
    scatter(away_, place, found, 0, skip + message.size());
    next = m + 1;
    return;
  }
  complain("receive " + std::to_string(place_of(done.id)) + " got what nobody sent");
}

// IPv4: the header stands in the second half, and says from whom to whom.
void LaneJudge::judge_grh(const Bytes& found) {
  const auto last_byte = [&](std::size_t host) { return std::byte(host + 1); };
  if (found[20] != std::byte{0x45} || found[35] != last_byte(sender_) || found[39] != last_byte(receiver_)) {
    complain("wrong GRH before a datagram");
  }
}

// A message that was cut off may have been written in part. Each WRITE has a place of its own.
void LaneJudge::judge_unreliable_write(const Step& step) {
  const Bytes& actual = case_.outcome.arenas[receiver_];
  const Bytes message = gather(home_, step.local);
  for (std::size_t i = 0; i < message.size(); ++i) {
    std::byte& expected = away_[step.remote + i];
    const std::byte got = actual[step.remote + i];
    if (got != message[i] && (undisturbed_ || got != expected)) return complain("WRITE left bytes that nobody sent");
    expected = got;
  }
}

// A SEND that was cut off leaves some bytes in the receive that the next message gets, or in the one still waiting.
void LaneJudge::forgive_leftovers() {
  for (std::size_t i = 0; i < std::min(received_.size() + 1, lane_.receives.size()); ++i) {
    std::size_t used = 0;
    if (i < successes_ && received_[i].kind == CompletionKind::receive) used = received_[i].bytes;
    for (Piece piece : lane_.receives[i].local) {
      const auto skipped = static_cast<std::uint32_t>(std::min<std::size_t>(used, piece.length));
      used -= skipped;
      take_actual(receiver_, {piece.offset + skipped, piece.length - skipped});
    }
  }
}

LaneJudge::Bytes LaneJudge::gather(const Bytes& memory, std::span<const Piece> pieces) {
  Bytes all;
  for (const Piece& piece : pieces) {
    const auto from = memory.begin() + static_cast<std::ptrdiff_t>(piece.offset);
    all.insert(all.end(), from, from + piece.length);
  }
  return all;
}

void LaneJudge::take_actual(std::size_t host, Piece piece) {
  if (piece.length > 0) {
    std::memcpy(&case_.expected[host][piece.offset], &case_.outcome.arenas[host][piece.offset], piece.length);
  }
}

}  // namespace weft::test

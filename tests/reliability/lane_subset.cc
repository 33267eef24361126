// What a broken srnic or StaR connection may leave behind. Packets are placed as they come, so of work that was not
// finished any packet may be in memory and any may not; other bytes never are. What has an order keeps it: READs and
// atomics are carried out and messages are received in program order, each when all before it is complete.
#include <algorithm>
#include <cstring>

#include "reliability/lane_judge.h"

namespace weft::test {

using nic::WorkKind;

// Tries every step at which the receiver may have stopped to carry steps out in order, and leaves the expected memory
// in the state that fits.
bool LaneJudge::stopped_in_any_order(std::size_t done) {
  const std::size_t first = successes_ > 0 ? std::max(done, messages_[successes_ - 1] + 1) : done;
  const std::size_t last = successes_ < messages_.size() ? std::min(refused_, messages_[successes_]) : refused_;
  std::vector<Answer> answers;
  for (std::size_t stop = done; stop <= last; ++stop) {
    if (stop >= first && fits(stop, answers)) {
      take_leftovers(stop, answers);
      return true;
    }
    if (stop == last) break;
    const Step& step = lane_.steps[stop];
    if (!nic::reads_back(step.kind)) {
      apply(step);
      continue;
    }
    // Carried out over there; its answer may have come, in part or not at all.
    const Bytes landing = gather(home_, step.local);
    apply(step);
    answers.push_back({step, gather(home_, step.local)});
    std::size_t at = 0;
    for (const Piece& piece : step.local) {
      std::copy_n(landing.begin() + static_cast<std::ptrdiff_t>(at), piece.length, home_.begin() + piece.offset);
      at += piece.length;
    }
  }
  return false;
}

// With all steps before `stop` carried out and none behind it, except that packets of those may have been placed.
bool LaneJudge::fits(std::size_t stop, std::span<const Answer> answers) const {
  const Bytes& here = case_.outcome.arenas[sender_];
  const Bytes& there = case_.outcome.arenas[receiver_];
  for (const Answer& a : answers) {
    if (!some_packets_of(home_, here, a.step.local, a.bytes)) return false;
  }
  for (std::size_t i = 0; i < lane_.steps.size(); ++i) {
    const Step& step = lane_.steps[i];
    // What was not carried out has not been answered.
    if (nic::reads_back(step.kind) && i >= stop && !some_packets_of(home_, here, step.local, came_ahead(step))) {
      return false;
    }
    const auto word = [&](const Bytes& memory) { return &memory[step.remote]; };
    if (nic::is_atomic(step.kind)) {
      if (std::memcmp(word(away_), word(there), 8) != 0) return false;
    } else if (nic::is_write(step.kind) && step.remote_key != kWrongKey) {
      const Bytes message = i < stop ? Bytes{} : gather(home_, step.local);
      if (!some_packets_of(away_, there, std::array{Piece{step.remote, step.length()}}, message)) return false;
    } else if (consumes_receive(step.kind) && i >= stop) {
      if (!some_packets_of(away_, there, open_receive(i), gather(home_, step.local))) return false;
    }
  }
  return true;
}

// What a READ may bring that nothing else says was carried out. In StaR it does not wait for work before it whose
// memory is elsewhere, or whose bytes are in their place already. So it may have brought what is there now, too.
LaneJudge::Bytes LaneJudge::came_ahead(const Step& step) const {
  if (!is_star() || step.kind != WorkKind::read || step.remote_key == kWrongKey) return {};
  const std::array source{Piece{step.remote, step.length()}};
  const Bytes now = gather(case_.outcome.arenas[receiver_], source);
  const Bytes landed = gather(case_.outcome.arenas[sender_], step.local);
  Bytes bytes = gather(away_, source);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (landed[i] == now[i]) bytes[i] = now[i];
  }
  return bytes;
}

// Every packet's worth of the place holds what it held before, or what the message has there. The message may be
// shorter than the place: what is behind it is as before.
bool LaneJudge::some_packets_of(const Bytes& before, const Bytes& actual, std::span<const Piece> place,
                                const Bytes& message) const {
  const Bytes old = gather(before, place), now = gather(actual, place);
  // StaR's packets also end where a piece of memory ends, on either side.
  const std::size_t mtu = is_star() ? 1 : channel_.qps[case_.direction].mtu;
  for (std::size_t from = 0; from < now.size();) {
    const bool sent = from < message.size();
    const std::size_t to = sent ? std::min(from + mtu, std::min(message.size(), now.size())) : now.size();
    if (std::memcmp(&now[from], &old[from], to - from) != 0 &&
        (!sent || std::memcmp(&now[from], &message[from], to - from) != 0)) {
      return false;
    }
    from = to;
  }
  return true;
}

// The receive of a message that was not received, if it is known which one that is.
std::span<const Piece> LaneJudge::open_receive(std::size_t step) const {
  if (nic::is_write(lane_.steps[step].kind) || shared_) return {};
  const auto n =
      static_cast<std::size_t>(std::lower_bound(messages_.begin(), messages_.end(), step) - messages_.begin());
  if (n >= lane_.receives.size()) return {};
  return lane_.receives[n].local;
}

void LaneJudge::take_leftovers(std::size_t stop, std::span<const Answer> answers) {
  for (const Answer& a : answers) {
    for (const Piece& p : a.step.local) take_actual(sender_, p);
  }
  for (std::size_t i = stop; i < lane_.steps.size(); ++i) {
    const Step& step = lane_.steps[i];
    if (nic::is_write(step.kind)) take_actual(receiver_, {step.remote, step.length()});
    if (is_star() && step.kind == WorkKind::read) {
      for (const Piece& p : step.local) take_actual(sender_, p);
    }
    if (!consumes_receive(step.kind)) continue;
    for (const Piece& p : open_receive(i)) take_actual(receiver_, p);
  }
}

}  // namespace weft::test

#include "lab/calls.h"

#include <utility>

namespace weft::lab {

CallSide::CallSide(const Setting& setting, Station& station, std::uint32_t number, Peers peers, Meter& meter,
                   std::uint64_t seed)
    : Side(setting, station, number, std::move(peers), meter, seed),
      groups_(setting.group_size, setting.group_slot, setting.qps),
      waiting_(setting.threads, std::vector<std::deque<std::uint32_t>>(groups_.groups())) {}

void CallSide::want(Time at, std::uint32_t end) {
  const std::uint32_t thread = station_.ends[end].thread;
  const std::uint32_t group = groups_.group_of(connection_of(end));
  waiting_[thread][group].push_back(end);
  station_.host.alarm(groups_.next(group, at), *station_.cqs[thread]);
}

// One of those that may post does. Who may not yet has an alarm, also if an earlier one found its thread at work.
bool CallSide::begin(Time& at, std::uint32_t thread) {
  auto& by_group = waiting_[thread];
  std::deque<std::uint32_t>& may = by_group[groups_.active(at)];
  if (!may.empty()) {
    const std::uint32_t end = may.front();
    may.pop_front();
    post(at, end);
    return true;
  }
  for (std::uint32_t group = 0; group < by_group.size(); ++group) {
    if (!by_group[group].empty()) station_.host.alarm(groups_.next(group, at), *station_.cqs[thread]);
  }
  return false;
}

// ---- clients --------------------------------------------------------------------------------------------

CallClient::CallClient(const Setting& setting, Station& station, std::uint32_t number, Peers peers, Meter& meter,
                       std::uint64_t seed)
    : CallSide(setting, station, number, std::move(peers), meter, seed), calls_(station.ends.size()) {}

void CallClient::start(Time now) {
  for (std::uint32_t i = 0; i < station_.ends.size(); ++i) {
    Time at = now;
    post_receives(at, i, receive_depth(setting_));
    want(now, i);
  }
  station_.host.ring_doorbells(now);
}

void CallClient::post(Time& at, std::uint32_t end) {
  ++calls_[end].uncompleted;
  for (std::uint32_t i = 1; i <= setting_.call_messages; ++i) send(at, end, i == setting_.call_messages);
}

void CallClient::take(Time& at, std::uint32_t, const nic::Completion& done) {
  const auto end = static_cast<std::uint32_t>(done.id);
  Call& call = calls_[end];
  if (done.kind != nic::CompletionKind::receive) {
    --call.uncompleted;
    return call_again(at, end);
  }
  meter_.count(at);
  if (meter_.counting()) latencies_.push_back(at - call.began);
  call.answered = true;
  post_receives(at, end, 1);
  call_again(at, end);
}

void CallClient::call_again(Time at, std::uint32_t end) {
  Call& call = calls_[end];
  if (!call.answered || call.uncompleted == kMostUncompleted || meter_.over()) return;
  call.answered = false;
  call.began = at;
  want(at, end);
}

// ---- the server -----------------------------------------------------------------------------------------

CallServer::CallServer(const Setting& setting, Station& station, Peers peers, Meter& meter, std::uint64_t seed)
    : CallSide(setting, station, 0, std::move(peers), meter, seed), arrived_(station.ends.size()) {}

void CallServer::start(Time now) {
  for (std::uint32_t i = 0; i < station_.ends.size(); ++i) {
    Time at = now;
    post_receives(at, i, receive_depth(setting_));
  }
  station_.host.ring_doorbells(now);
}

void CallServer::take(Time& at, std::uint32_t, const nic::Completion& done) {
  if (done.kind != nic::CompletionKind::receive) return;  // an answer has arrived
  const auto end = static_cast<std::uint32_t>(done.id);
  if (++arrived_[end] < setting_.call_messages) return;
  arrived_[end] = 0;
  if (setting_.pattern == Pattern::rpc) return want(at, end);
  if (++complete_ < station_.ends.size()) return;
  complete_ = 0;
  for (std::uint32_t i = 0; i < station_.ends.size(); ++i) want(at, i);
}

// The answer leaves first, and then there is room for the next call.
void CallServer::post(Time& at, std::uint32_t end) {
  send(at, end, true);
  post_receives(at, end, setting_.call_messages);
}

}  // namespace weft::lab

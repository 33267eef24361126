#include "lab/workload.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "lab/kernel_stream.h"

namespace weft::lab {
namespace {

// A program polls more at once; but what it posts the card may see at once, although the thread's own time has not come
// to it yet. Few keep that short.
constexpr std::uint32_t kPollBatch = 4;

nic::WorkKind kind_of(Operation operation) {
  switch (operation) {
    case Operation::send: return nic::WorkKind::send;
    case Operation::write: return nic::WorkKind::write;
    case Operation::read: return nic::WorkKind::read;
    case Operation::rpc_write: return nic::WorkKind::rpc_write;
  }
  return nic::WorkKind::send;
}

}  // namespace

Side::Side(const Setting& setting, Station& station, std::uint32_t number, Peers peers, Meter& meter,
           std::uint64_t seed)
    : setting_(setting),
      station_(station),
      meter_(meter),
      random_(seed),
      number_(number),
      peers_(std::move(peers)),
      received_into_(station.ends.size()) {
  station.host.set_program(this);
  for (std::uint32_t thread = 0; thread < station.cqs.size(); ++thread) station.host.go_on(0, thread);
}

void Side::on_thread(Time now, std::uint32_t thread) {
  const sim::ThreadSpec& cost = setting_.profile.thread;
  if (Time at = now; begin(at, thread)) {
    busy_ += at - now;
    return station_.host.go_on(at, thread);
  }
  std::array<nic::Completion, kPollBatch> done;
  const std::uint32_t n = station_.host.poll(now, *station_.cqs[thread], done);
  Time at = now + (n == 0 ? cost.poll : 0);
  for (std::uint32_t i = 0; i < n; ++i) {
    at += cost.completion;
    if (done[i].status != nic::Status::success) throw std::runtime_error("a message failed");
    take(at, thread, done[i]);
  }
  if (n > 0) busy_ += at - now;
  station_.host.sleep(at, thread, *station_.cqs[thread]);
}

std::uint64_t Side::somewhere(const Station& s, std::uint32_t end, std::uint64_t buffer) {
  if (setting_.region_bytes == 0) return s.address + buffer_bytes(setting_) * end + buffer * setting_.bytes;
  const std::uint64_t places = s.bytes / std::max<std::uint64_t>(setting_.bytes, 1);
  return s.address + (places > 1 ? random_.below(places) * setting_.bytes : 0);
}

void Side::send(Time& at, std::uint32_t end, bool signaled) {
  const nic::Sge sge{somewhere(station_, end), setting_.bytes, station_.key};
  const nic::Fragment data{station_.memory, setting_.bytes};
  host::WorkRequest request;
  request.id = end;
  request.kind = kind_of(setting_.operation);
  request.signaled = signaled;
  request.is_inline = setting_.bytes <= setting_.inline_bytes && request.kind != nic::WorkKind::read;
  if (request.is_inline) {
    request.inline_data = {&data, 1};
  } else {
    request.sges = {&sge, 1};
  }
  if (request.kind != nic::WorkKind::send) {
    const Station& peer = peer_of(end);
    const bool to_kernel = request.kind == nic::WorkKind::rpc_write;
    request.remote_address = to_kernel ? stream_opcode(setting_) : somewhere(peer, remote_end(end));
    request.remote_key = peer.key;
  }
  if (request.kind != nic::WorkKind::read) work(at, setting_.bytes);
  post(at, end, request);
}

void Side::post(Time& at, std::uint32_t end, const host::WorkRequest& request) {
  at += setting_.profile.thread.post + setting_.profile.thread.doorbell;
  if (station_.host.post(at, station_.ends[end].poster, request) != host::Error::none)
    throw std::runtime_error("a send queue is full, or the work is none");
}

void Side::work(Time& at, std::uint64_t bytes) const {
  if (setting_.work_bits_per_second == 0) return;
  at += static_cast<Time>(static_cast<double>(bytes) * 8e12 / static_cast<double>(setting_.work_bits_per_second));
}

void Side::post_receives(Time& at, std::uint32_t end, std::uint32_t count) {
  const End& e = station_.ends[end];
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t& into = received_into_[end];
    into = buffers(setting_) == 1 ? 0 : into % receive_depth(setting_) + 1;  // the first is what is sent from
    const nic::Sge sge{somewhere(station_, end, into), setting_.bytes, station_.key};
    at += setting_.profile.thread.post;  // its doorbell is a word in the host's own memory
    if (e.qp->post_receive({end, {&sge, 1}}) != host::Error::none) throw std::runtime_error("a receive queue is full");
  }
  if (!e.qp->context().stateless()) return;
  at += setting_.profile.thread.doorbell;
  station_.host.ring_doorbells(at);
}

// ---- streams --------------------------------------------------------------------------------------------

void StreamClient::start(Time) {
  for (std::size_t i = 0; i < station_.ends.size(); ++i) {
    unsignaled_.push_back(static_cast<std::uint32_t>(random_.below(round())));
  }
  under_way_ = unsignaled_;
  for (std::uint32_t thread = 0; thread < setting_.threads; ++thread) to_begin_.push_back(thread);
}

bool StreamClient::begin(Time& at, std::uint32_t thread) {
  const std::uint32_t end = to_begin_[thread];
  if (end >= station_.ends.size()) return false;
  to_begin_[thread] += setting_.threads;
  while (under_way_[end] < setting_.depth) fill(at, end);
  return true;
}

void StreamClient::fill(Time& at, std::uint32_t end) {
  ++under_way_[end];
  const bool signaled = ++unsignaled_[end] >= round();
  if (signaled) unsignaled_[end] = 0;
  send(at, end, signaled);
}

void StreamClient::take(Time& at, std::uint32_t, const nic::Completion& done) {
  const auto end = static_cast<std::uint32_t>(done.id);
  const std::uint32_t finished = round();
  const std::uint32_t slot = station_.ends[end].qp->slot();
  sim::Estats& estats = station_.host.estats();
  if (estats.watches(slot)) {
    estats.counting = meter_.counting();
    // Completions come in the order of posting: the last finished one is this.
    estats.end(slot, station_.ends[end].qp->context().sq_posted - under_way_[end] + finished - 1, at);
  }
  if (setting_.operation != Operation::send) {
    for (std::uint32_t i = 0; i < finished; ++i) {
      if (setting_.operation == Operation::read) work(at, setting_.bytes);
      meter_.count(at);
    }
  }
  under_way_[end] -= finished;
  while (under_way_[end] < setting_.depth && !meter_.over()) fill(at, end);
}

void StreamServer::start(Time now) {
  if (setting_.operation != Operation::send && setting_.stateless == StatelessCards::nobody) return;
  for (std::uint32_t i = 0; setting_.operation == Operation::send && i < station_.ends.size(); ++i) {
    Time at = now;
    post_receives(at, i, receive_depth(setting_));
  }
  station_.host.ring_doorbells(now);  // a stateless side's state moves, whoever asks
}

void StreamServer::take(Time& at, std::uint32_t, const nic::Completion& done) {
  meter_.count(at);
  post_receives(at, static_cast<std::uint32_t>(done.id), 1);
}

// ---- back and forth -------------------------------------------------------------------------------------

void PingPong::start(Time now) {
  for (std::uint32_t i = 0; i < station_.ends.size(); ++i) {
    Time at = now;
    post_receives(at, i, receive_depth(setting_));
    if (!first_) continue;
    sent_[i] = at;
    send(at, i, false);
  }
  station_.host.ring_doorbells(now);
}

void PingPong::take(Time& at, std::uint32_t, const nic::Completion& done) {
  const auto end = static_cast<std::uint32_t>(done.id);
  if (first_) {
    meter_.count(at);
    if (meter_.counting()) half_.push_back((at - sent_[end]) / 2);
    if (meter_.over()) return;
    sent_[end] = at;
  }
  send(at, end, false);
  post_receives(at, end, 1);
}

void WritePingPong::start(Time now) {
  for (std::uint32_t i = 0; i < station_.ends.size(); ++i) {
    station_.host.watch(station_.memory + buffer_bytes(setting_) * i + setting_.bytes - 1, i);
    if (!first_) continue;
    Time at = sent_[i] = now;
    send(at, i, false);
  }
}

void WritePingPong::on_written(Time now, std::uint32_t end) {
  Time at = now + setting_.profile.thread.poll;
  if (first_) {
    meter_.count(at);
    if (meter_.counting()) half_.push_back((at - sent_[end]) / 2);
    if (meter_.over()) return;
    sent_[end] = at;
  }
  send(at, end, false);
  was_busy(at - now);
}

}  // namespace weft::lab

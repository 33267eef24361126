#include "sender.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>

#include "common/address.h"
#include "receiver.h"

namespace streams {

using namespace examples;

namespace {

using Clock = std::chrono::steady_clock;

// A stream is ended and another one begun after so many: a partition is not to overflow.
constexpr std::uint64_t kStreamBytes = kPartitions * kPartitionBytes / 2;

std::uint64_t opcode_of(const std::string& way) { return way == "dropped" ? kDropped : shipped(way.c_str()).opcode; }

}  // namespace

Sender::Sender(const Socket& receiver, std::uint32_t message_bytes)
    : message_bytes_(message_bytes),
      memory_(kAnswerBytes + std::size_t{kDepth} * message_bytes),
      mr_(card_.register_memory(memory_)),
      qp_(card_.make_queue_pair(Calls::makes)),
      peer_(introduce(receiver, card_, qp_, *mr_)) {
  std::mt19937_64 random(1);
  std::generate(memory_.begin(), memory_.end(), [&] { return static_cast<std::byte>(random()); });
}

double Sender::measure(const std::string& way, std::uint32_t milliseconds) {
  const auto began = Clock::now(), end = began + std::chrono::milliseconds(milliseconds);
  std::uint64_t bytes = 0;
  while (Clock::now() < end) {
    begin(way);
    bytes += send_stream(way, std::chrono::nanoseconds(end.time_since_epoch()).count());
    finish(way);
  }
  return static_cast<double>(bytes) / std::chrono::duration<double>(Clock::now() - began).count();
}

std::uint64_t Sender::send_stream(const std::string& way, std::int64_t until_ns) {
  std::uint64_t bytes = 0;
  std::uint32_t under_way = 0;
  while (bytes < kStreamBytes && std::chrono::nanoseconds(Clock::now().time_since_epoch()).count() < until_ns) {
    for (; under_way < kDepth; ++under_way, bytes += message_bytes_) post(way, next_++ % kDepth);
    under_way -= poll();
  }
  while (under_way != 0) under_way -= poll();
  return bytes;
}

void Sender::post(const std::string& way, std::uint32_t slot) {
  ibv_sge sge{number_of(&memory_[kAnswerBytes + std::size_t{slot} * message_bytes_]), message_bytes_, mr_->lkey};
  int code = 0;
  if (way == "write") {
    ibv_send_wr wr{}, *bad = nullptr;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = peer_.memory + (1 + slot) * kPartitionBytes, .rkey = peer_.rkey};
    code = ibv_post_send(qp_.get(), &wr, &bad);
  } else {
    weftdv_rpc_write payload{};
    payload.opcode = opcode_of(way);
    payload.rkey = peer_.rkey;
    payload.sg_list = &sge;
    payload.num_sge = 1;
    payload.send_flags = IBV_SEND_SIGNALED;
    code = weftdv_post_rpc_write(qp_.get(), &payload);
  }
  if (code != 0) give_up(way + " cannot be posted: " + std::strerror(code));
}

// Records of 64 bytes, a quarter of which count; all values; partitions by their lowest bits.
void Sender::begin(const std::string& way) {
  if (way == "filter") {
    weft_filter_call filter{};
    filter.record_bytes = 64;
    filter.value = 8;
    filter.most = 1ULL << 62;
    call(way, filter);
  } else if (way == "distinct") {
    call(way, weft_distinct_call{});
  } else if (way == "checksum") {
    call(way, weft_checksum_call{});
  } else if (way == "shuffle") {
    weft_shuffle_call shuffle{};
    shuffle.partitions = kPartitions;
    shuffle.partitions_at = peer_.memory;
    call(way, shuffle);
  }
}

void Sender::finish(const std::string& way) {
  if (way == "dropped") return call(way, std::uint64_t{0});
  if (way == "filter") {
    weft_filter_call end{};
    end.ask = WEFT_STREAM_FINISH;
    call(way, end);
  } else if (way == "distinct") {
    weft_distinct_call end{};
    end.ask = WEFT_STREAM_FINISH;
    call(way, end);
  } else if (way == "checksum") {
    weft_checksum_call end{};
    end.ask = WEFT_STREAM_FINISH;
    call(way, end);
  } else if (way == "shuffle") {
    weft_shuffle_call end{};
    end.ask = WEFT_STREAM_FINISH;
    call(way, end);
  }
}

// And waits for the answer.
template <class Parameters>
void Sender::call(const std::string& way, Parameters parameters) {
  std::uint32_t& outcome = *place_of<std::uint32_t>(number_of(memory_.data()));  // of the weft_reply_head
  std::atomic_ref(outcome).store(WEFT_CALL_NONE);
  ibv_sge sge{number_of(&parameters), sizeof parameters, 0};
  weftdv_rpc rpc{};
  rpc.opcode = opcode_of(way);
  rpc.rkey = peer_.rkey;
  rpc.sg_list = &sge;
  rpc.num_sge = 1;
  rpc.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
  rpc.answer_addr = number_of(memory_.data());
  rpc.answer_rkey = mr_->rkey;
  rpc.answer_length = kAnswerBytes;
  if (const int code = weftdv_post_rpc(qp_.get(), &rpc); code != 0) give_up(way + ": " + std::strerror(code));
  for (std::uint32_t done = 0; done == 0 || std::atomic_ref(outcome).load() == WEFT_CALL_NONE;) done += poll();
  if (outcome != WEFT_CALL_SUCCESS) give_up(way + " answers " + std::to_string(outcome));
}

std::uint32_t Sender::poll() {
  std::array<ibv_wc, kDepth> done;
  const int n = ibv_poll_cq(card_.cq(), kDepth, done.data());
  for (int i = 0; i < n; ++i) {
    const ibv_wc_status status = done[static_cast<std::size_t>(i)].status;
    if (status != IBV_WC_SUCCESS) give_up(ibv_wc_status_str(status));
  }
  return static_cast<std::uint32_t>(std::max(n, 0));
}

}  // namespace streams

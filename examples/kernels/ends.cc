#include "ends.h"

#include <atomic>

namespace tour {
namespace {

void connect(Card& card, const QueuePair& a, const QueuePair& b) {
  const Endpoint one = card.endpoint_of(a), other = card.endpoint_of(b);
  a.connect(other, one);
  b.connect(one, other);
}

void require(int code, const std::string& what) {
  if (code != 0) give_up(what + ": " + std::strerror(code));
}

}  // namespace

Ends::Ends() {
  for (const char* name : {"traverse", "get", "consistent", "update", "filter", "distinct", "checksum", "shuffle"})
    card_.deploy(name);
  connect(card_, calls_, serves_);
  for (int i = 0; i < 2; ++i) {
    ways_.push_back(card_.make_queue_pair(Calls::locally, 4));
    peers_.push_back(card_.make_queue_pair(Calls::none));
    connect(card_, ways_.back(), peers_.back());
  }
}

// For a completion. Polling drives the card.
void Ends::wait() {
  ibv_wc done{};
  while (ibv_poll_cq(card_.cq(), 1, &done) == 0) {
  }
  if (done.status != IBV_WC_SUCCESS) give_up(ibv_wc_status_str(done.status));
}

Answer Ends::answer() const {
  weft_reply_head head;
  std::memcpy(&head, memory_.data(), sizeof head);
  return {head.outcome, std::span(memory_).subspan(sizeof head, head.bytes)};
}

Answer Ends::call(const char* kernel, std::span<const std::byte> parameters) {
  std::uint32_t& outcome = *place_of<std::uint32_t>(number_of(memory_.data()));  // of the weft_reply_head
  outcome = WEFT_CALL_NONE;
  ibv_sge sge{number_of(parameters.data()), static_cast<std::uint32_t>(parameters.size()), 0};
  weftdv_rpc call{};
  call.opcode = shipped(kernel).opcode;
  call.rkey = mr_->rkey;
  call.sg_list = &sge;
  call.num_sge = 1;
  call.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
  call.answer_addr = number_of(memory_.data());
  call.answer_rkey = mr_->rkey;
  call.answer_length = kAnswer;
  require(weftdv_post_rpc(calls_.get(), &call), kernel);
  wait();
  ibv_wc none{};
  while (std::atomic_ref(outcome).load() == WEFT_CALL_NONE) (void)ibv_poll_cq(card_.cq(), 1, &none);
  return answer();
}

void Ends::feed(const char* kernel, std::span<const std::byte> payload) {
  ibv_sge sge{number_of(payload.data()), static_cast<std::uint32_t>(payload.size()), mr_->lkey};
  weftdv_rpc_write write{};
  write.opcode = shipped(kernel).opcode;
  write.rkey = mr_->rkey;
  write.sg_list = &sge;
  write.num_sge = 1;
  write.send_flags = IBV_SEND_SIGNALED;
  require(weftdv_post_rpc_write(calls_.get(), &write), kernel);
  wait();
}

Answer Ends::call_own(const char* kernel, std::span<const std::byte> parameters) {
  weftdv_local_rpc call{};
  call.opcode = shipped(kernel).opcode;
  call.lkey = mr_->lkey;
  call.parameters = parameters.data();
  call.parameter_bytes = static_cast<std::uint32_t>(parameters.size());
  call.send_flags = IBV_SEND_SIGNALED;
  call.answer_addr = number_of(memory_.data());
  call.answer_lkey = mr_->lkey;
  call.answer_length = kAnswer;
  require(weftdv_post_local_rpc(ways_[0].get(), &call), kernel);
  wait();  // the answer is there, and all that the kernel has sent has arrived
  return answer();
}

void Ends::feed_own(const char* kernel, std::span<const std::byte> payload) {
  ibv_sge sge{number_of(payload.data()), static_cast<std::uint32_t>(payload.size()), mr_->lkey};
  weftdv_local_rpc_write write{};
  write.opcode = shipped(kernel).opcode;
  write.lkey = mr_->lkey;
  write.sg_list = &sge;
  write.num_sge = 1;
  write.send_flags = IBV_SEND_SIGNALED;
  require(weftdv_post_local_rpc_write(ways_[0].get(), &write), kernel);
  wait();
}

}  // namespace tour

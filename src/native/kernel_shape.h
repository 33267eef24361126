// Kernels as programs know them (weft/kernel.h, weft/shipped_kernels.h) and the card's own: the same layout and the
// same numbers, which the compiler checks here.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/checksum.h"
#include "kernels/consistent.h"
#include "kernels/distinct.h"
#include "kernels/filter.h"
#include "kernels/get.h"
#include "kernels/shuffle.h"
#include "kernels/traverse.h"
#include "kernels/update.h"
#include "nic/kernels/kernel.h"
#include "weft/kernel.h"
#include "weft/shipped_kernels.h"

namespace weft::native {

// A step is called by one type of function and written as the other.
#define WEFT_SAME_PLACE(member) (offsetof(weft_kernel_step, member) == offsetof(nic::KernelStep, member))
static_assert(sizeof(weft_kernel_step) == sizeof(nic::KernelStep));
static_assert(WEFT_SAME_PLACE(event) && WEFT_SAME_PLACE(qpn) && WEFT_SAME_PLACE(input) && WEFT_SAME_PLACE(input_bytes));
static_assert(WEFT_SAME_PLACE(last) && WEFT_SAME_PLACE(offset) && WEFT_SAME_PLACE(state) && WEFT_SAME_PLACE(opcode));
static_assert(WEFT_SAME_PLACE(is_local) && WEFT_SAME_PLACE(taken));
static_assert(WEFT_SAME_PLACE(read_address) && WEFT_SAME_PLACE(read_bytes));
static_assert(WEFT_SAME_PLACE(port) && WEFT_SAME_PLACE(card) && WEFT_SAME_PLACE(context));
#undef WEFT_SAME_PLACE
static_assert(sizeof(weft_kernel_port) == sizeof(nic::KernelPort) &&
              offsetof(weft_kernel_port, reply) == offsetof(nic::KernelPort, reply) &&
              offsetof(weft_kernel_port, send) == offsetof(nic::KernelPort, send));
static_assert(sizeof(weft_kernel_target) == sizeof(nic::KernelTarget) &&
              offsetof(weft_kernel_target, key) == offsetof(nic::KernelTarget, key) &&
              offsetof(weft_kernel_target, qpn) == offsetof(nic::KernelTarget, qpn));
static_assert(sizeof(weft_kernel_next) == sizeof(nic::KernelNext));

template <class A, class B>
constexpr bool same_number(A a, B b) {
  return static_cast<std::uint64_t>(a) == static_cast<std::uint64_t>(b);
}
static_assert(same_number(WEFT_KERNEL_CALL, nic::KernelEvent::call));
static_assert(same_number(WEFT_KERNEL_MORE, nic::KernelEvent::again));
static_assert(same_number(WEFT_KERNEL_READ, nic::KernelNext::read));
static_assert(same_number(WEFT_KERNEL_FAILED, nic::KernelNext::failed));
static_assert(same_number(WEFT_KERNEL_RETRY, nic::KernelNext::retry));
static_assert(same_number(WEFT_KERNEL_REFUSED, nic::KernelSent::refused));
static_assert(same_number(WEFT_KERNEL_MOST_SEND, nic::KernelStep::kMostSend));
static_assert(same_number(WEFT_KERNEL_MOST_READ, nic::KernelStep::kMostRead));
static_assert(same_number(WEFT_KERNEL_MOST_REPLY, nic::KernelStep::kMostReply));
static_assert(same_number(WEFT_KERNEL_ANY, nic::kAnyOpcode));
static_assert(same_number(WEFT_CALL_COMPLETES, nic::CallHead::kCompletes));
static_assert(same_number(WEFT_CALL_SUCCESS, nic::CallOutcome::success));
static_assert(same_number(WEFT_CALL_TOO_LONG, nic::CallOutcome::too_long));
static_assert(same_number(WEFT_CALL_UNDELIVERED, nic::CallOutcome::undelivered));

static_assert(sizeof(weft_call_head) == sizeof(nic::CallHead) &&
              offsetof(weft_call_head, room) == offsetof(nic::CallHead, room) &&
              offsetof(weft_call_head, flags) == offsetof(nic::CallHead, flags));
static_assert(sizeof(weft_reply_head) == sizeof(nic::ReplyHead) &&
              offsetof(weft_reply_head, bytes) == offsetof(nic::ReplyHead, bytes));

static_assert(sizeof(weft_traverse_call) == sizeof(kernels::TraverseCall) &&
              offsetof(weft_traverse_call, key_mask) == offsetof(kernels::TraverseCall, key_mask) &&
              offsetof(weft_traverse_call, has_next) == offsetof(kernels::TraverseCall, has_next) &&
              offsetof(weft_traverse_call, last_predicate) == offsetof(kernels::TraverseCall, last_predicate));
static_assert(same_number(WEFT_TRAVERSE_NOT_EQUAL, kernels::Predicate::not_equal));
static_assert(sizeof(weft_get_entry) == sizeof(kernels::GetEntry) &&
              offsetof(weft_get_entry, next) == offsetof(kernels::GetEntry, next));
static_assert(sizeof(weft_get_call) == sizeof(kernels::GetCall));
static_assert(sizeof(weft_consistent_call) == sizeof(kernels::ConsistentCall) &&
              offsetof(weft_consistent_call, tries) == offsetof(kernels::ConsistentCall, tries));

static_assert(sizeof(weft_update_call) == sizeof(kernels::UpdateCall) &&
              offsetof(weft_update_call, bytes) == offsetof(kernels::UpdateCall, bytes));
static_assert(sizeof(weft_update_answer) == sizeof(kernels::UpdateAnswer));
static_assert(same_number(WEFT_STREAM_FINISH, kernels::StreamAsk::finish));
static_assert(sizeof(weft_filter_call) == sizeof(kernels::FilterCall) &&
              offsetof(weft_filter_call, value) == offsetof(kernels::FilterCall, value) &&
              offsetof(weft_filter_call, matches) == offsetof(kernels::FilterCall, matches));
static_assert(sizeof(weft_filter_answer) == sizeof(kernels::FilterAnswer) &&
              offsetof(weft_filter_answer, odd_bytes) == offsetof(kernels::FilterAnswer, odd_bytes));
static_assert(sizeof(weft_distinct_call) == sizeof(kernels::DistinctCall) &&
              offsetof(weft_distinct_call, save_to) == offsetof(kernels::DistinctCall, save_to));
static_assert(sizeof(weft_distinct_answer) == sizeof(kernels::DistinctAnswer) &&
              same_number(WEFT_SKETCH_BYTES, kernels::kSketchBytes));
static_assert(sizeof(weft_outlet) == sizeof(kernels::Outlet) &&
              offsetof(weft_outlet, sends) == offsetof(kernels::Outlet, sends) &&
              offsetof(weft_outlet, key) == offsetof(kernels::Outlet, key) &&
              offsetof(weft_outlet, qpn) == offsetof(kernels::Outlet, qpn));
static_assert(sizeof(weft_checksum_call) == sizeof(kernels::ChecksumCall) &&
              offsetof(weft_checksum_call, stream) == offsetof(kernels::ChecksumCall, stream) &&
              sizeof(weft_checksum_answer) == sizeof(kernels::ChecksumAnswer));
static_assert(sizeof(weft_partition) == sizeof(kernels::Partition));
static_assert(sizeof(weft_shuffle_call) == sizeof(kernels::ShuffleCall) &&
              offsetof(weft_shuffle_call, counts_to) == offsetof(kernels::ShuffleCall, counts_to));
static_assert(sizeof(weft_shuffle_answer) == sizeof(kernels::ShuffleAnswer));

inline nic::Kernel ours(const weft_kernel& k) {
  return {.opcode = k.opcode,
          .name = k.name != nullptr ? k.name : "",
          .step = std::bit_cast<decltype(nic::Kernel::step)>(k.step),
          .state_bytes = k.state_bytes,
          .most_steps = k.most_steps,
          .instances = k.instances,
          .context = k.context};
}

// `k.name` ends with a zero byte, and outlives what is made here.
inline weft_kernel theirs(const nic::Kernel& k) {
  return {.opcode = k.opcode,
          .name = k.name.data(),
          .step = std::bit_cast<decltype(weft_kernel::step)>(k.step),
          .state_bytes = k.state_bytes,
          .most_steps = k.most_steps,
          .instances = k.instances,
          .context = k.context};
}

// False: there is none of this name.
inline bool find_shipped(std::string_view name, weft_kernel& kernel) {
  for (const nic::Kernel& k :
       {kernels::traverse(), kernels::get(), kernels::consistent(), kernels::update(), kernels::filter(),
        kernels::distinct(), kernels::checksum_stream(), kernels::shuffle()}) {
    if (k.name != name) continue;
    kernel = theirs(k);
    return true;
  }
  return false;
}

}  // namespace weft::native

// Kernels that peers may call (nic/kernels): deployed, replaced and removed while calls go on.
#include <algorithm>

#include "host/device.h"

namespace weft::host {
namespace {

constexpr std::uint32_t kMostState = 1U << 20, kMostInstances = 4096;

// Answers calls of what does not exist.
nic::KernelNext refuse(nic::KernelStep&) { return nic::KernelNext::failed; }

}  // namespace

void Device::begin_kernels() {
  if (kernels_ != nullptr) return;
  kernels_ = std::make_unique<nic::KernelTable>();
  no_kernel_ = std::make_unique<nic::DeployedKernel>(
      nic::Kernel{.opcode = 0, .name = "none", .step = &refuse, .most_steps = 1, .instances = 64});
  card_.kernels = kernels_.get();
  card_.no_kernel = no_kernel_.get();
}

Error Device::deploy(const nic::Kernel& kernel) {
  if (kernel.step == nullptr || kernel.instances == 0 || kernel.most_steps == 0) return Error::invalid_argument;
  if (kernel.state_bytes > kMostState || kernel.instances > kMostInstances) return Error::limit_exceeded;
  begin_kernels();
  kernels_->deploy(kernel);
  return Error::none;
}

Error Device::remove_kernel(std::uint64_t opcode) {
  return kernels_ != nullptr && kernels_->remove(opcode) ? Error::none : Error::invalid_argument;
}

std::vector<nic::Kernel> Device::kernels() const {
  std::vector<nic::Kernel> all;
  if (kernels_ == nullptr) return all;
  kernels_->for_each([&](const nic::DeployedKernel& k) { all.push_back(k.kernel); });
  return all;
}

Error QueuePair::write_local_call(const LocalRequest& r) {
  using nic::QpState;
  const QpState state = context_->state;
  if (calls_ == nullptr || !calls_->has_local()) return Error::not_supported;
  if (state == QpState::reset || state == QpState::init || state == QpState::rtr) return Error::bad_state;
  if (r.answer.room != 0 && r.answer.room < sizeof(nic::ReplyHead)) return Error::invalid_argument;
  std::uint64_t length = 0;
  for (const nic::Fragment& f : r.parameters) length += f.bytes;
  for (const nic::Sge& s : r.payload) length += s.length;
  if (r.is_payload ? !r.parameters.empty() : !r.payload.empty()) return Error::invalid_argument;
  if (r.payload.size() > nic::LocalCall::kMostPieces || length > nic::kMaxMessage) return Error::invalid_argument;
  if (!r.is_payload && length > nic::LocalCall::kMostParameters) return Error::limit_exceeded;
  nic::LocalCalls& queue = calls_->local();
  if (queue.is_full()) return Error::queue_full;
  nic::LocalCall& l = queue.next();
  l.id = r.id;
  l.opcode = r.opcode;
  l.is_payload = r.is_payload;
  l.signaled = r.signaled;
  l.key = r.key;
  l.answer = r.answer;
  std::byte* to = l.parameters.data();
  for (const nic::Fragment& f : r.parameters) to = std::copy_n(f.data, f.bytes, to);
  std::copy(r.payload.begin(), r.payload.end(), l.sges.begin());
  l.sge_count = static_cast<std::uint32_t>(r.payload.size());
  l.length = static_cast<std::uint32_t>(length);
  queue.post();
  calls_->has_turn = true;
  return Error::none;
}

Error QueuePair::post_local_call(const LocalRequest& request) {
  const Error e = write_local_call(request);
  if (e == Error::none) device_.ring(*context_);
  return e;
}

}  // namespace weft::host

// Kernels that peers may call (nic/kernels): deployed, replaced and removed while calls go on.
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

}  // namespace weft::host

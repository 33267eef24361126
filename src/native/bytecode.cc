#include "native/bytecode.h"

#include <cstring>
#include <memory>

#include "bytecode/deployment.h"

namespace weft::native {
namespace {

static_assert(sizeof(weft_deployment_request) == sizeof(bytecode::DeploymentRequest) &&
              offsetof(weft_deployment_request, name) == offsetof(bytecode::DeploymentRequest, name) &&
              offsetof(weft_deployment_request, mac) == offsetof(bytecode::DeploymentRequest, mac));
static_assert(sizeof(weft_deployment_answer) == sizeof(bytecode::DeploymentAnswer));
static_assert(WEFT_KERNEL_DEPLOYMENT == bytecode::kDeployment && WEFT_MOST_DEPLOYED == bytecode::kMostSent);
static_assert(std::uint32_t{WEFT_DEPLOYMENT_NO_SUCH_KERNEL} ==
              static_cast<std::uint32_t>(bytecode::DeploymentOutcome::no_such_kernel));
static_assert(std::uint32_t{WEFT_DEPLOYMENT_REPLAYED} ==
              static_cast<std::uint32_t>(bytecode::DeploymentOutcome::replayed));
static_assert(std::uint32_t{WEFT_BYTECODE_INTERPRET} == bytecode::DeploymentRequest::kInterpret);

class CardsKernels final : public bytecode::DeploymentTarget {
 public:
  explicit CardsKernels(host::Device& device) : device_(device) {}
  bool deploy(const nic::Kernel& kernel) override { return device_.deploy(kernel) == host::Error::none; }
  bool remove(std::uint64_t opcode) override { return device_.remove_kernel(opcode) == host::Error::none; }
  [[nodiscard]] bool has(std::uint64_t opcode) const override {
    for (const nic::Kernel& k : device_.kernels()) {
      if (k.opcode == opcode) return true;
    }
    return false;
  }
  [[nodiscard]] bool has_queue_pair(std::uint32_t qpn) const override {
    return device_.find_qp(wire::Qpn(qpn)) != nullptr;
  }
  void refuse(Refusal why) override { device_.card().counters.add(why); }

 private:
  host::Device& device_;
};

// Those that this device has, or nullptr.
bytecode::Deployments* find_deployments(host::Device& device) {
  for (const nic::Kernel& k : device.kernels()) {
    if (k.opcode == bytecode::kDeployment) return static_cast<bytecode::Deployments*>(k.context);
  }
  return nullptr;
}

bool make_sense(const weft_deployment_rights& r) {
  return r.first_opcode <= r.last_opcode && r.last_opcode < bytecode::kDeployment && r.most_kernels != 0 &&
         r.most_steps != 0 && r.most_instances != 0;
}

template <std::size_t n>
bool copy_text(char (&to)[n], const char* from) {
  const std::size_t length = from == nullptr ? 0 : std::strlen(from);
  if (length >= n) return false;
  std::memcpy(to, from, length);
  return true;
}

}  // namespace

bytecode::MadeKernel make_kernel(const weft_bytecode& w, weft_bytecode_verdict* verdict) {
  bytecode::MadeKernel made;
  if (w.object == nullptr || (w.flags & ~std::uint32_t{WEFT_BYTECODE_INTERPRET}) != 0) {
    made.verdict = {w.object == nullptr ? bytecode::BytecodeFault::object_truncated
                                        : bytecode::BytecodeFault::bad_limits};
  } else {
    made = bytecode::make_kernel({.object = {static_cast<const std::byte*>(w.object), w.object_bytes},
                                  .section = w.section != nullptr ? w.section : "",
                                  .opcode = w.opcode,
                                  .name = w.name != nullptr ? w.name : "",
                                  .state_bytes = w.state_bytes,
                                  .most_steps = w.most_steps,
                                  .instances = w.instances,
                                  .interpret = (w.flags & WEFT_BYTECODE_INTERPRET) != 0});
  }
  if (verdict != nullptr) {
    const bytecode::FaultText& text = bytecode::text_of(made.verdict.fault);
    *verdict = {.fault = static_cast<std::uint32_t>(made.verdict.fault),
                .at = made.verdict.at,
                .name = text.name.data(),
                .meaning = text.meaning.data(),
                .instructions = made.program != nullptr ? made.program->instructions() : 0,
                .compiled = made.program != nullptr && made.program->is_compiled()};
  }
  return made;
}

host::Error error_of(bytecode::BytecodeFault fault) {
  switch (fault) {
    case bytecode::BytecodeFault::none: return host::Error::none;
    case bytecode::BytecodeFault::no_library: return host::Error::not_supported;
    case bytecode::BytecodeFault::bad_limits: return host::Error::limit_exceeded;
    default: return host::Error::invalid_argument;
  }
}

host::Error allow_deployment(host::Device& device, const host::QueuePair& qp, const weft_deployment_rights& r,
                             weft_deployment_key& key) {
  if (!make_sense(r)) return host::Error::invalid_argument;
  if (qp.context().calls == nullptr || bytecode::find_engine() == nullptr) return host::Error::not_supported;
  bytecode::Deployments* all = find_deployments(device);
  if (all == nullptr) {
    const auto made = std::make_shared<bytecode::Deployments>(std::make_unique<CardsKernels>(device));
    if (const host::Error e = device.deploy(bytecode::Deployments::kernel(made)); e != host::Error::none) return e;
    all = made.get();
  }
  for (std::size_t at = 0; at < sizeof key.bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t random = device.random_number();
    std::memcpy(key.bytes + at, &random, sizeof random);
  }
  bytecode::DeploymentKey secret;
  std::memcpy(secret.data(), key.bytes, secret.size());
  const bool taken = all->allow(qp.qpn().raw(),
                                {.first_opcode = r.first_opcode,
                                 .last_opcode = r.last_opcode,
                                 .most_kernels = r.most_kernels,
                                 .most_state_bytes = r.most_state_bytes,
                                 .most_steps = r.most_steps,
                                 .most_instances = r.most_instances},
                                secret);
  return taken ? host::Error::none : host::Error::table_full;
}

host::Error forbid_deployment(host::Device& device, const host::QueuePair& qp) {
  bytecode::Deployments* const all = find_deployments(device);
  return all != nullptr && all->forbid(qp.qpn().raw()) ? host::Error::none : host::Error::invalid_argument;
}

bool fill_request(struct weft_deployment_request* request, const weft_deployment_key* key, std::uint32_t qpn,
                  std::uint64_t number, weft_deployment_action action, const weft_bytecode* w) {
  if (request == nullptr || key == nullptr || w == nullptr) return false;
  const bool deploys = action == WEFT_DEPLOY;
  if (deploys && (w->object == nullptr || w->object_bytes > bytecode::kMostSent)) return false;
  bytecode::DeploymentRequest r{.action = static_cast<bytecode::DeploymentAction>(action),
                                .object_bytes = deploys ? static_cast<std::uint32_t>(w->object_bytes) : 0,
                                .number = number,
                                .opcode = w->opcode,
                                .state_bytes = w->state_bytes,
                                .most_steps = w->most_steps,
                                .instances = w->instances,
                                .flags = w->flags};
  if (!copy_text(r.name, w->name) || !copy_text(r.section, w->section)) return false;
  bytecode::DeploymentKey secret;
  std::memcpy(secret.data(), key->bytes, secret.size());
  r.mac = bytecode::mac_of(secret, qpn, r, {static_cast<const std::byte*>(w->object), r.object_bytes});
  std::memcpy(request, &r, sizeof r);
  return true;
}

}  // namespace weft::native

extern "C" bool weft_make_deployment_request(struct weft_deployment_request* request, const weft_deployment_key* key,
                                             std::uint32_t qpn, std::uint64_t number, weft_deployment_action action,
                                             const weft_bytecode* wanted) {
  return weft::native::fill_request(request, key, qpn, number, action, wanted);
}

extern "C" const char* weft_bytecode_fault_name(std::uint32_t fault) {
  return fault < weft::bytecode::kFaultTexts.size() ? weft::bytecode::kFaultTexts[fault].name.data() : "?";
}
extern "C" const char* weft_bytecode_fault_meaning(std::uint32_t fault) {
  return fault < weft::bytecode::kFaultTexts.size() ? weft::bytecode::kFaultTexts[fault].meaning.data() : "?";
}

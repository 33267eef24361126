#include "bytecode/deployment.h"

#include <algorithm>
#include <cstring>

#include <sodium.h>

#include "bytecode/area.h"
#include "bytecode/program.h"

namespace weft::bytecode {
namespace {

constexpr std::string_view kPurpose = "weft deployment 1";  // no MAC of anything else is one of this

const unsigned char* raw(const std::byte* bytes) {
  return static_cast<const unsigned char*>(static_cast<const void*>(bytes));
}

template <std::size_t n>
std::string_view text_in(const char (&field)[n]) {
  return {field, strnlen(field, n)};
}

// The counter of it; bytecode that is refused for what it is has its own.
Refusal refusal_of(DeploymentOutcome o) {
  switch (o) {
    case DeploymentOutcome::not_allowed: return Refusal::deployment_off;
    case DeploymentOutcome::bad_request: return Refusal::deployment_bad_request;
    case DeploymentOutcome::wrong_key: return Refusal::deployment_wrong_key;
    case DeploymentOutcome::replayed: return Refusal::deployment_replayed;
    case DeploymentOutcome::refused: return Refusal::deployment_bad_bytecode;
    default: return Refusal::deployment_beyond_rights;
  }
}

}  // namespace

std::array<std::byte, 32> mac_of(const DeploymentKey& key, std::uint32_t qpn, const DeploymentRequest& request,
                                 std::span<const std::byte> object) {
  static_assert(crypto_generichash_BYTES == 32 && crypto_generichash_KEYBYTES == 32);
  DeploymentRequest covered = request;
  covered.mac = {};
  std::array<std::byte, 32> mac;
  crypto_generichash_state state;
  crypto_generichash_init(&state, raw(key.data()), key.size(), mac.size());
  crypto_generichash_update(&state, raw(std::as_bytes(std::span(kPurpose)).data()), kPurpose.size());
  crypto_generichash_update(&state, raw(std::as_bytes(std::span(&qpn, 1)).data()), sizeof qpn);
  crypto_generichash_update(&state, raw(std::as_bytes(std::span(&covered, 1)).data()), sizeof covered);
  crypto_generichash_update(&state, raw(object.data()), object.size());
  crypto_generichash_final(&state, static_cast<unsigned char*>(static_cast<void*>(mac.data())), mac.size());
  return mac;
}

bool Deployments::allow(std::uint32_t qpn, const DeploymentRights& rights, const DeploymentKey& key) {
  std::erase_if(grants_, [&](const auto& one) { return !target_->has_queue_pair(one.first); });
  if (grants_.size() >= kMostGrants && !grants_.contains(qpn)) return false;
  Grant& grant = grants_[qpn];
  grant = Grant{};
  grant.rights = rights;
  grant.key = key;
  grant.object.resize(kMostSent);
  return true;
}

nic::Kernel Deployments::kernel(const std::shared_ptr<Deployments>& all) {
  return {.opcode = kDeployment,
          .name = "deployment",
          .step = &on_step,
          .state_bytes = 0,
          .most_steps = 1,
          .instances = kMostGrants,
          .context = all.get(),
          .owner = all};
}

Deployments::Grant* Deployments::find(std::uint32_t qpn) {
  const auto found = grants_.find(qpn);
  return found == grants_.end() ? nullptr : &found->second;
}

nic::KernelNext Deployments::on_step(nic::KernelStep& step) {
  Deployments& all = *static_cast<Deployments*>(step.context);
  Grant* const grant = all.find(step.qpn);
  if (step.event == nic::KernelEvent::payload) {
    if (grant != nullptr) all.take(*grant, step);
    return nic::KernelNext::wait;  // whoever has no grant is told so when it calls
  }
  const DeploymentAnswer answer = all.answer(step.qpn, {step.input, step.input_bytes});
  if (answer.outcome != DeploymentOutcome::done) all.target_->refuse(refusal_of(answer.outcome));
  return step.reply(&answer, sizeof answer) ? nic::KernelNext::done : nic::KernelNext::failed;
}

void Deployments::take(Grant& grant, const nic::KernelStep& step) {
  if (step.offset == 0) grant.received = 0;
  if (step.input_bytes != 0 && grant.received + step.input_bytes <= grant.object.size())
    std::memcpy(grant.object.data() + grant.received, step.input, step.input_bytes);
  grant.received += step.input_bytes;
}

DeploymentAnswer Deployments::answer(std::uint32_t qpn, std::span<const std::byte> parameters) {
  Grant* const grant = find(qpn);
  if (grant == nullptr) return {DeploymentOutcome::not_allowed};
  DeploymentRequest request;
  DeploymentAnswer answer = judge(*grant, qpn, parameters, request);
  if (answer.outcome == DeploymentOutcome::done) answer = carry_out(*grant, request);
  grant->received = 0;
  return answer;
}

// Who asks comes before what is asked: who has no key hears nothing of the rights or of what is deployed.
DeploymentAnswer Deployments::judge(Grant& grant, std::uint32_t qpn, std::span<const std::byte> parameters,
                                    DeploymentRequest& request) {
  if (parameters.size() != sizeof request) return {DeploymentOutcome::bad_request};
  std::memcpy(&request, parameters.data(), sizeof request);
  if (grant.received > grant.object.size() || request.object_bytes != grant.received)
    return {DeploymentOutcome::bad_request};
  const std::array<std::byte, 32> expected =
      mac_of(grant.key, qpn, request, std::span(grant.object).first(grant.received));
  if (sodium_memcmp(expected.data(), request.mac.data(), expected.size()) != 0) return {DeploymentOutcome::wrong_key};
  if (request.number <= grant.last_number) return {DeploymentOutcome::replayed};
  grant.last_number = request.number;
  const bool known = request.action == DeploymentAction::deploy || request.action == DeploymentAction::remove;
  if (!known || (request.flags & ~DeploymentRequest::kInterpret) != 0) return {DeploymentOutcome::bad_request};
  if (request.opcode < grant.rights.first_opcode || request.opcode > grant.rights.last_opcode)
    return {DeploymentOutcome::beyond_rights};
  return {DeploymentOutcome::done};
}

DeploymentAnswer Deployments::carry_out(Grant& grant, const DeploymentRequest& request) {
  std::erase_if(grant.opcodes, [&](std::uint64_t o) { return !target_->has(o); });  // the server has removed it
  const auto own = std::find(grant.opcodes.begin(), grant.opcodes.end(), request.opcode);
  const bool is_own = own != grant.opcodes.end();
  if (request.action == DeploymentAction::remove) {
    if (!is_own) return {DeploymentOutcome::no_such_kernel};
    grant.opcodes.erase(own);
    return {target_->remove(request.opcode) ? DeploymentOutcome::done : DeploymentOutcome::no_such_kernel};
  }
  if (!is_own && target_->has(request.opcode)) return {DeploymentOutcome::opcode_taken};
  if (!is_own && grant.opcodes.size() >= grant.rights.most_kernels) return {DeploymentOutcome::beyond_rights};
  const DeploymentAnswer answer = deploy(grant, request);
  if (!is_own && answer.outcome == DeploymentOutcome::done) grant.opcodes.push_back(request.opcode);
  return answer;
}

DeploymentAnswer Deployments::deploy(Grant& grant, const DeploymentRequest& request) {
  const DeploymentRights& rights = grant.rights;
  if (request.state_bytes > rights.most_state_bytes || request.most_steps > rights.most_steps ||
      request.instances > rights.most_instances)
    return {DeploymentOutcome::beyond_rights};
  const MadeKernel made = make_kernel({.object = std::span(grant.object).first(grant.received),
                                       .section = text_in(request.section),
                                       .opcode = request.opcode,
                                       .name = text_in(request.name),
                                       .state_bytes = request.state_bytes,
                                       .most_steps = request.most_steps,
                                       .instances = request.instances,
                                       .interpret = (request.flags & DeploymentRequest::kInterpret) != 0});
  if (made.verdict.fault != BytecodeFault::none)
    return {DeploymentOutcome::refused, made.verdict.fault, made.verdict.at};
  if (!target_->deploy(made.kernel)) return {DeploymentOutcome::refused, BytecodeFault::bad_limits};
  return {.outcome = DeploymentOutcome::done, .instructions = made.program->instructions()};
}

}  // namespace weft::bytecode

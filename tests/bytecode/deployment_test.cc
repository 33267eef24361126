// Peers that deploy over the network: who may, what is refused, and that it is counted.
#include "bytecode/deployment.h"

#include <bit>

#include "bytecode/bytecode_scene.h"
#include "native/bytecode.h"

namespace weft::test {
namespace {

using bytecode::BytecodeFault;
using bytecode::DeploymentAction;
using bytecode::DeploymentAnswer;
using bytecode::DeploymentOutcome;
using bytecode::DeploymentRequest;
using nic::CallOutcome;

constexpr weft_deployment_rights kRights{.first_opcode = 100,
                                         .last_opcode = 199,
                                         .most_kernels = 2,
                                         .most_state_bytes = 1024,
                                         .most_steps = 100,
                                         .most_instances = 8};

class PeerDeployments : public BytecodeScene {
 protected:
  void allow(const weft_deployment_rights& rights = kRights) {
    ASSERT_EQ(native::allow_deployment(scene.card(), server_qp(), rights, key), host::Error::none);
  }
  [[nodiscard]] const host::QueuePair& server_qp() const { return scene.server().qp(); }

  // What a peer sends: the object, and the call. `damage` changes the call after it was signed.
  DeploymentAnswer ask(const weft_bytecode& wanted, weft_deployment_action action = WEFT_DEPLOY,
                       void (*damage)(DeploymentRequest&) = nullptr) {
    weft_deployment_request request{};
    EXPECT_TRUE(weft_make_deployment_request(&request, &key, server_qp().qpn().raw(), ++number, action, &wanted));
    DeploymentRequest changed = std::bit_cast<DeploymentRequest>(request);
    if (damage != nullptr) damage(changed);
    return ask_again(changed, {static_cast<const std::byte*>(wanted.object), wanted.object_bytes});
  }
  DeploymentAnswer ask_again(const DeploymentRequest& request, std::span<const std::byte> object) {
    if (request.object_bytes != 0) send(16 * 1024, object, bytecode::kDeployment);
    scene.clear_answers();
    EXPECT_EQ(call(bytes_of_object(request), bytecode::kDeployment), CallOutcome::success);
    return answer_as<DeploymentAnswer>();
  }
  weft_bytecode wanted(const std::vector<std::byte>& object, std::uint64_t opcode = 100) {
    return {.object = object.data(),
            .object_bytes = object.size(),
            .section = nullptr,
            .opcode = opcode,
            .name = "peers",
            .state_bytes = 64,
            .most_steps = 100,
            .instances = 4,
            .flags = 0};
  }
  CallOutcome call_where(std::uint64_t opcode) {
    const std::uint64_t address = scene.memory().address;
    return call(bytes_of_object(address), opcode);
  }

  weft_deployment_key key{};
  std::uint64_t number = 0;
  const std::vector<std::byte> where = bytecode::object_of("where"), write = bytecode::object_of("write");
};

TEST_P(PeerDeployments, AreCarriedOutForWhoHasTheKey) {
  allow();
  const DeploymentAnswer answer = ask(wanted(where));
  EXPECT_EQ(answer.outcome, DeploymentOutcome::done);
  EXPECT_EQ(answer.instructions, 17U);
  EXPECT_EQ(call_where(100), CallOutcome::success);
  EXPECT_EQ(ask(wanted(write)).outcome, DeploymentOutcome::done) << "it replaces its own";
  EXPECT_EQ(ask(wanted(where, 150)).outcome, DeploymentOutcome::done);
  EXPECT_EQ(ask(wanted(where), WEFT_REMOVE).outcome, DeploymentOutcome::done);
  EXPECT_EQ(call_where(100), CallOutcome::no_such_kernel);
  EXPECT_EQ(call_where(150), CallOutcome::success);
  EXPECT_EQ(ask(wanted(where), WEFT_REMOVE).outcome, DeploymentOutcome::no_such_kernel);
}

TEST_P(PeerDeployments, AreOffUnlessTheServerAllowsThem) {
  EXPECT_EQ(call({}, bytecode::kDeployment), CallOutcome::no_such_kernel) << "nobody knows of it";
  allow();
  ASSERT_EQ(native::forbid_deployment(scene.card(), server_qp()), host::Error::none);
  EXPECT_EQ(ask(wanted(where)).outcome, DeploymentOutcome::not_allowed);
  EXPECT_EQ(scene.refused(Refusal::deployment_off), 1U);
  EXPECT_EQ(call_where(100), CallOutcome::no_such_kernel);
}

TEST_P(PeerDeployments, NeedTheKeyOfThisQueuePair) {
  allow();
  const weft_deployment_key right = key;
  for (std::size_t bit = 0; bit < 256; bit += 37) {
    key = right;
    key.bytes[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    EXPECT_EQ(ask(wanted(where)).outcome, DeploymentOutcome::wrong_key) << bit;
  }
  key = right;
  allow();  // a new key takes the place of the old one
  key = right;
  EXPECT_EQ(ask(wanted(where)).outcome, DeploymentOutcome::wrong_key);
  EXPECT_EQ(scene.refused(Refusal::deployment_wrong_key), 8U);
  EXPECT_EQ(call_where(100), CallOutcome::no_such_kernel);
}

TEST_P(PeerDeployments, AreNotChangedOnTheirWay) {
  allow();
  using Damage = void (*)(DeploymentRequest&);
  const Damage damages[] = {[](DeploymentRequest& r) { r.opcode ^= 1; },
                            [](DeploymentRequest& r) { r.number += 1; },
                            [](DeploymentRequest& r) { r.state_bytes += 1; },
                            [](DeploymentRequest& r) { r.most_steps += 1; },
                            [](DeploymentRequest& r) { r.instances += 1; },
                            [](DeploymentRequest& r) { r.flags ^= 1; },
                            [](DeploymentRequest& r) { r.name[0] ^= 1; },
                            [](DeploymentRequest& r) { r.section[31] ^= 1; },
                            [](DeploymentRequest& r) { r.mac[31] ^= std::byte{1}; },
                            [](DeploymentRequest& r) { r.mac[0] ^= std::byte{128}; },
                            [](DeploymentRequest& r) { r.action = DeploymentAction::remove; }};
  for (const Damage damage : damages)
    EXPECT_EQ(ask(wanted(where), WEFT_DEPLOY, damage).outcome, DeploymentOutcome::wrong_key) << &damage - damages;
  // Another object in the place of the one that was signed, of the same length.
  weft_deployment_request request{};
  const weft_bytecode ours = wanted(where);
  ASSERT_TRUE(weft_make_deployment_request(&request, &key, server_qp().qpn().raw(), ++number, WEFT_DEPLOY, &ours));
  const DeploymentRequest same = std::bit_cast<DeploymentRequest>(request);
  std::vector<std::byte> other = where;
  other.back() ^= std::byte{1};
  EXPECT_EQ(ask_again(same, other).outcome, DeploymentOutcome::wrong_key);
  EXPECT_EQ(ask_again(same, where).outcome, DeploymentOutcome::done) << "as it was signed";
  EXPECT_EQ(ask_again(same, where).outcome, DeploymentOutcome::replayed) << "and once";
  EXPECT_EQ(scene.refused(Refusal::deployment_replayed), 1U);
}

TEST_P(PeerDeployments, StayWithinTheirRights) {
  allow();
  EXPECT_EQ(ask(wanted(where, 99)).outcome, DeploymentOutcome::beyond_rights);
  EXPECT_EQ(ask(wanted(where, 200)).outcome, DeploymentOutcome::beyond_rights);
  EXPECT_EQ(ask(wanted(where, nic::kAnyOpcode)).outcome, DeploymentOutcome::beyond_rights);
  EXPECT_EQ(ask(wanted(where, bytecode::kDeployment)).outcome, DeploymentOutcome::beyond_rights);
  weft_bytecode large = wanted(where);
  large.state_bytes = 1025;
  EXPECT_EQ(ask(large).outcome, DeploymentOutcome::beyond_rights);
  large = wanted(where);
  large.most_steps = 101;
  EXPECT_EQ(ask(large).outcome, DeploymentOutcome::beyond_rights);
  large = wanted(where);
  large.instances = 9;
  EXPECT_EQ(ask(large).outcome, DeploymentOutcome::beyond_rights);
  EXPECT_EQ(ask(wanted(where, 100)).outcome, DeploymentOutcome::done);
  EXPECT_EQ(ask(wanted(where, 101)).outcome, DeploymentOutcome::done);
  EXPECT_EQ(ask(wanted(where, 102)).outcome, DeploymentOutcome::beyond_rights) << "a third one";
  EXPECT_EQ(scene.refused(Refusal::deployment_beyond_rights), 8U);
}

TEST_P(PeerDeployments, DoNotTouchTheServersOwnKernels) {
  allow();
  ASSERT_EQ(deploy("where", false, 100), BytecodeFault::none);
  EXPECT_EQ(ask(wanted(write)).outcome, DeploymentOutcome::opcode_taken);
  EXPECT_EQ(ask(wanted(where), WEFT_REMOVE).outcome, DeploymentOutcome::no_such_kernel);
  EXPECT_EQ(call_where(100), CallOutcome::success);
}

TEST_P(PeerDeployments, OfHostileBytecodeAreToldItsFault) {
  allow();
  const std::vector<std::byte> outside = bytecode::object_of("outside");
  weft_bytecode bad = wanted(outside);
  bad.section = "weft/constant";
  DeploymentAnswer answer = ask(bad);
  EXPECT_EQ(answer.outcome, DeploymentOutcome::refused);
  EXPECT_EQ(answer.fault, BytecodeFault::object_relocated);
  std::vector<std::byte> cut = where;
  cut.resize(100);
  answer = ask(wanted(cut));
  EXPECT_EQ(answer.fault, BytecodeFault::object_truncated);
  EXPECT_EQ(scene.refused(Refusal::deployment_bad_bytecode), 2U);
  EXPECT_STREQ(weft_bytecode_fault_name(static_cast<std::uint32_t>(answer.fault)), "object_truncated");
}

TEST_P(PeerDeployments, WithoutSenseAreRefused) {
  allow();
  EXPECT_EQ(call(bytes_of("hello"), bytecode::kDeployment), CallOutcome::success);
  EXPECT_EQ(answer_as<DeploymentAnswer>().outcome, DeploymentOutcome::bad_request);
  // Another object than the one that is asked for, several times.
  for (std::uint64_t n = 0; n < 5; ++n) {
    std::vector<std::byte> much(16 * 1024);
    send(8 * 1024, much, bytecode::kDeployment);
  }
  weft_deployment_request request{};
  const weft_bytecode ours = wanted(where);
  ASSERT_TRUE(weft_make_deployment_request(&request, &key, server_qp().qpn().raw(), ++number, WEFT_DEPLOY, &ours));
  EXPECT_EQ(call(bytes_of_object(request), bytecode::kDeployment), CallOutcome::success);
  EXPECT_EQ(answer_as<DeploymentAnswer>().outcome, DeploymentOutcome::bad_request);
  EXPECT_EQ(scene.refused(Refusal::deployment_bad_request), 2U);
  EXPECT_EQ(ask(ours).outcome, DeploymentOutcome::done) << "and the next one is carried out";
}

TEST_P(PeerDeployments, AreNotGrantedWithoutSense) {
  weft_deployment_rights rights = kRights;
  rights.last_opcode = 99;
  EXPECT_EQ(native::allow_deployment(scene.card(), server_qp(), rights, key), host::Error::invalid_argument);
  rights.last_opcode = ~std::uint64_t{0};
  EXPECT_EQ(native::allow_deployment(scene.card(), server_qp(), rights, key), host::Error::invalid_argument);
  const host::QueuePair& serves_none = scene.caller().qp();
  EXPECT_EQ(native::allow_deployment(scene.caller().node().device(), serves_none, kRights, key),
            host::Error::not_supported);
}

// Calls go on while their kernel is replaced: each is answered by one of the two.
TEST_P(PeerDeployments, ReplaceKernelsWhileTheyAreCalled) {
  allow();
  ASSERT_EQ(ask(wanted(where)).outcome, DeploymentOutcome::done);
  for (int n = 0; n < 10; ++n) {
    struct {
      std::uint64_t address;
      char text[8];
    } both{scene.memory().address, "replace"};
    ASSERT_EQ(scene.call({.id = 7, .opcode = 100, .parameters = bytes_of_object(both)}), host::Error::none);
    ASSERT_EQ(ask(wanted(n % 2 == 0 ? write : where)).outcome, DeploymentOutcome::done);
  }
  EXPECT_EQ(scene.refused(Refusal::kernel_unknown), 0U);
  EXPECT_EQ(scene.refused(Refusal::kernel_failed), 0U);
}

INSTANTIATE_TEST_SUITE_P(Dialects, PeerDeployments, testing::Values(nic::Dialect::roce, nic::Dialect::srnic));

}  // namespace
}  // namespace weft::test

// Kernels through the public interface, in the simulated world: the same functions that programs of the real one have.
#include <cstring>
#include <string>

#include "pair.h"
#include "weft/shipped_kernels.h"

namespace weft::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kOp = 0x77;
constexpr std::size_t kAnswer = 8 * 1024;  // in the caller's memory

weft_kernel_next echo(weft_kernel_step* step) {
  return weft_kernel_reply(step, step->input, step->input_bytes) ? WEFT_KERNEL_DONE : WEFT_KERNEL_FAILED;
}

weft_kernel kernel_of(weft_kernel_next (*step)(weft_kernel_step*)) {
  return {.opcode = kOp,
          .name = "test",
          .step = step,
          .state_bytes = 64,
          .most_steps = 100,
          .instances = 4,
          .context = nullptr};
}

class Kernels : public testing::Test {
 protected:
  Kernels() {
    sim.connect();
    a.qp = must(a.domain.create_queue_pair({.limits = kLimits, .send_cq = &a.cq, .calls = true}));
    b.qp = must(b.domain.create_queue_pair({.limits = kLimits, .send_cq = &b.cq, .serves_calls = 2}));
    must(connect(a.qp, b.qp));
  }
  Result<> post(std::string_view parameters, std::uint64_t opcode = kOp) {
    const weft_call_head head{.address = a.region.remote(kAnswer).address,
                              .key = a.region.remote(kAnswer).key.raw(),
                              .room = 4096,
                              .immediate = 0,
                              .flags = 0};
    const std::array<Bytes, 2> pieces{std::as_bytes(std::span(&head, 1)), std::as_bytes(std::span(parameters))};
    const RemoteAddress kernel{.address = opcode, .key = b.region.remote().key};
    return a.qp.post({.id = 3, .verb = Verb::rpc, .remote = kernel, .inline_data = std::span<const Bytes>(pieces)});
  }
  weft_call_outcome call(std::string_view parameters, std::uint64_t opcode = kOp) {
    must(post(parameters, opcode));
    EXPECT_TRUE(sim.run(Duration::seconds(1)));
    EXPECT_THAT(a.drain(), SizeIs(1));
    return static_cast<weft_call_outcome>(head().outcome);
  }
  [[nodiscard]] weft_reply_head head() const {
    weft_reply_head h{};
    std::memcpy(&h, &a.memory[kAnswer], sizeof h);
    return h;
  }
  [[nodiscard]] std::string answer() const {
    std::string text(head().bytes, '\0');
    std::memcpy(text.data(), &a.memory[kAnswer + sizeof(weft_reply_head)], text.size());
    return text;
  }

  Simulation sim{{.device = kSmall}};
  Side a{sim}, b{sim};
};

TEST_F(Kernels, AreCalled) {
  EXPECT_EQ(call("hello"), WEFT_CALL_NO_SUCH_KERNEL);
  must(b.device.deploy(kernel_of(&echo)));
  EXPECT_EQ(call("hello"), WEFT_CALL_SUCCESS);
  EXPECT_EQ(answer(), "hello");
  EXPECT_THAT(b.drain(), IsEmpty());
}

TEST_F(Kernels, AreListedReplacedAndRemoved) {
  EXPECT_THAT(b.device.kernels(), IsEmpty());
  must(b.device.deploy(kernel_of(&echo)));
  must(b.device.deploy(kernel_of([](weft_kernel_step*) { return WEFT_KERNEL_FAILED; })));
  ASSERT_THAT(b.device.kernels(), SizeIs(1));
  EXPECT_STREQ(b.device.kernels()[0].name, "test");
  EXPECT_EQ(call("x"), WEFT_CALL_FAILED);
  must(b.device.remove_kernel(kOp));
  EXPECT_EQ(error_of(b.device.remove_kernel(kOp)), Error::invalid_argument);
  EXPECT_EQ(error_of(b.device.deploy(kernel_of(nullptr))), Error::invalid_argument);
}

TEST_F(Kernels, ThatShipFindTheirParametersAsProgramsWriteThem) {
  weft_kernel get{}, consistent{}, traverse{};
  ASSERT_TRUE(weft_shipped_kernel("get", &get) && weft_shipped_kernel("consistent", &consistent) &&
              weft_shipped_kernel("traverse", &traverse));
  EXPECT_FALSE(weft_shipped_kernel("put", &get) || weft_shipped_kernel(nullptr, &get));
  for (const weft_kernel& k : {get, consistent, traverse}) must(b.device.deploy(k));
  const std::uint64_t base = b.region.remote().address;
  const std::string value = "the value of forty-two";

  const weft_get_entry entry{
      .keys = {7, 42, 0}, .values = {0, std::uint64_t{value.size()} << 48 | (base + 1024), 0}, .next = 0, .unused = 0};
  std::memcpy(b.memory.data(), &entry, sizeof entry);
  std::memcpy(&b.memory[1024], value.data(), value.size());
  const weft_get_call by_key{.entry = base, .key = 42};
  EXPECT_EQ(call({static_cast<const char*>(static_cast<const void*>(&by_key)), sizeof by_key}, get.opcode),
            WEFT_CALL_SUCCESS);
  EXPECT_EQ(answer(), value);

  const std::uint64_t right = weft_checksum(&b.memory[1024], 24);
  std::memcpy(&b.memory[1024 + 24], &right, sizeof right);
  weft_consistent_call object{.address = base + 1024, .bytes = 32, .tries = 2};
  EXPECT_EQ(call({static_cast<const char*>(static_cast<const void*>(&object)), sizeof object}, consistent.opcode),
            WEFT_CALL_SUCCESS);
  EXPECT_EQ(answer().substr(0, value.size()), value);
  b.memory[1024] ^= std::byte{1};
  EXPECT_EQ(call({static_cast<const char*>(static_cast<const void*>(&object)), sizeof object}, consistent.opcode),
            WEFT_CALL_FAILED);
}

// Sends what it is fed to the peer.
weft_kernel_next forward(weft_kernel_step* step) {
  auto* to = static_cast<weft_kernel_target*>(step->state);
  if (step->event == WEFT_KERNEL_CALL) {
    if (step->input_bytes != sizeof *to) return WEFT_KERNEL_DONE;
    std::memcpy(to, step->input, sizeof *to);
    return WEFT_KERNEL_WAIT;
  }
  const weft_kernel_sent sent = weft_kernel_send(step, to, step->input, step->input_bytes);
  to->address += sent == WEFT_KERNEL_SENT ? step->input_bytes : 0;
  return sent == WEFT_KERNEL_SENT   ? WEFT_KERNEL_WAIT
         : sent == WEFT_KERNEL_FULL ? WEFT_KERNEL_RETRY
                                    : WEFT_KERNEL_FAILED;
}

TEST_F(Kernels, OfThisDeviceSendWhatTheyAreFed) {
  a.qp = must(a.domain.create_queue_pair({.limits = kLimits, .send_cq = &a.cq, .local_calls = 2}));
  b.qp = must(b.domain.create_queue_pair({.limits = kLimits, .send_cq = &b.cq}));
  must(connect(a.qp, b.qp));
  must(a.device.deploy(kernel_of(&forward)));
  const RemoteAddress kernel{.address = kOp, .key = a.region.remote().key};
  const weft_call_head head{.address = a.region.remote(kAnswer).address,
                            .key = a.region.remote(kAnswer).key.raw(),
                            .room = 64,
                            .immediate = 0,
                            .flags = 0};
  const auto call = [&](Bytes parameters) {
    const std::array<Bytes, 2> pieces{std::as_bytes(std::span(&head, 1)), parameters};
    must(a.qp.post({.verb = Verb::local_rpc, .remote = kernel, .inline_data = std::span<const Bytes>(pieces)}));
    EXPECT_TRUE(sim.run(Duration::seconds(1)));
    EXPECT_THAT(a.drain(), SizeIs(1));
    return this->head().outcome;
  };
  const weft_kernel_target to{.address = b.region.remote(100).address, .key = b.region.remote().key.raw(), .qpn = 0};
  EXPECT_EQ(call(std::as_bytes(std::span(&to, 1))), WEFT_CALL_SUCCESS);
  must(a.qp.post({.verb = Verb::local_rpc_write, .local = a.region.sge(0, 6000), .remote = kernel}));
  EXPECT_TRUE(sim.run(Duration::seconds(1)));
  EXPECT_THAT(a.drain(), SizeIs(1));
  EXPECT_EQ(call({}), WEFT_CALL_SUCCESS);
  EXPECT_EQ(std::memcmp(&b.memory[100], a.memory.data(), 6000), 0);

  const auto posted = [&](const WorkRequest& r) { return error_of(a.qp.post(r)); };
  EXPECT_EQ(posted({.verb = Verb::local_rpc, .remote = kernel}), Error::invalid_argument) << "no head";
  EXPECT_EQ(posted({.verb = Verb::local_rpc, .local = a.region.sge(0, 64), .remote = kernel}), Error::invalid_argument);
  EXPECT_EQ(posted({.verb = static_cast<Verb>(200)}), Error::invalid_argument);
  EXPECT_EQ(error_of(b.qp.post({.verb = Verb::local_rpc_write, .local = b.region.sge(0, 64)})), Error::not_supported);
}

TEST_F(Kernels, AreCalledByThoseWhoWereMadeToAlone) {
  EXPECT_EQ(error_of(b.qp.post({.verb = Verb::rpc, .local = b.region.sge(0, 64)})), Error::not_supported);
  EXPECT_EQ(error_of(a.qp.post({.verb = Verb::rpc, .local = a.region.sge(0, 8)})), Error::invalid_argument);
  EXPECT_EQ(error_of(a.qp.post({.verb = Verb::rpc, .local = a.region.sge(0, 4096)})), Error::limit_exceeded);
  const auto made = [&](const QueuePairOptions& o) { return error_of(a.domain.create_queue_pair(o)); };
  EXPECT_EQ(made({.send_cq = &a.cq, .serves_calls = 1025}), Error::limit_exceeded);
  EXPECT_EQ(made({.service = Service::ud, .send_cq = &a.cq, .calls = true}), Error::not_supported);
  EXPECT_EQ(made({.send_cq = &a.cq, .role = StarRole::stateful, .serves_calls = 1}), Error::not_supported);
}

// tests/bytecode has those that run.
TEST_F(Kernels, AsBytecodeAreRefusedWithAReason) {
  const char nothing[] = "no object of eBPF";
  weft_bytecode bytecode{.object = nothing,
                         .object_bytes = sizeof nothing,
                         .section = nullptr,
                         .opcode = kOp,
                         .name = "test",
                         .state_bytes = 64,
                         .most_steps = 100,
                         .instances = 4,
                         .flags = 0};
  weft_bytecode_verdict verdict{};
  EXPECT_EQ(error_of(b.device.deploy(bytecode, &verdict)), Error::invalid_argument);
  EXPECT_STREQ(verdict.name, "object_truncated");
  bytecode.instances = 0;
  EXPECT_EQ(error_of(b.device.deploy(bytecode)), Error::limit_exceeded);
  EXPECT_THAT(b.device.kernels(), IsEmpty());
  weft_deployment_rights rights{.first_opcode = 2,
                                .last_opcode = 1,
                                .most_kernels = 1,
                                .most_state_bytes = 0,
                                .most_steps = 1,
                                .most_instances = 1};
  EXPECT_EQ(error_of(b.qp.allow_deployment(rights)), Error::invalid_argument);
  rights.last_opcode = 2;
  EXPECT_EQ(error_of(a.qp.allow_deployment(rights)), Error::not_supported) << "it serves no calls";
  EXPECT_EQ(error_of(b.qp.forbid_deployment()), Error::invalid_argument) << "nothing was granted";
}

}  // namespace
}  // namespace weft::test

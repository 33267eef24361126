// Peers that deploy bytecode over the network. The server's program grants it, to the peer of one queue pair, for a
// range of op-codes: it makes a key of 256 bits and gives it to that peer in a way of its own. Then its card has a
// kernel of the op-code kDeployment. The peer sends an object to it (RPC WRITE), and calls it: the call says what the
// object is to become, and has a MAC over all of that and the object, under the key. The key itself does not travel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "bytecode/fault.h"
#include "nic/kernels/kernel.h"
#include "wire/refusal.h"

namespace weft::bytecode {

inline constexpr std::uint64_t kDeployment = ~std::uint64_t{0} - 1;  // the op-code
inline constexpr std::size_t kMostSent = 64 * 1024;                  // bytes of an object
inline constexpr std::uint32_t kMostGrants = 1024;
using DeploymentKey = std::array<std::byte, 32>;

enum class DeploymentAction : std::uint32_t { none, deploy, remove };

// The parameters. Numbers are little endian, as all parameters of kernels here are the machine's own.
struct DeploymentRequest {
  DeploymentAction action{};
  std::uint32_t object_bytes = 0;
  std::uint64_t number = 0;  // larger than in all requests with this key before
  std::uint64_t opcode = 0;
  std::uint32_t state_bytes = 0, most_steps = 0, instances = 0, flags = 0;
  char name[32] = {}, section[32] = {};  // filled up with zeros
  std::array<std::byte, 32> mac{};       // of all the rest
  static constexpr std::uint32_t kInterpret = 1;
};
static_assert(sizeof(DeploymentRequest) == 136);

enum class DeploymentOutcome : std::uint32_t {
  none,
  done,
  not_allowed,    // nobody has granted it to this queue pair's peer
  bad_request,    // it has another length, or asks for something that nobody knows
  wrong_key,      // its MAC is not what the key makes of it
  replayed,       // its number is not new
  beyond_rights,  // an op-code, or a number of kernels, steps or bytes, that was not granted
  opcode_taken,   // by a kernel that this peer did not deploy
  refused,        // the bytecode: `fault` says why
  no_such_kernel,
};

struct DeploymentAnswer {
  DeploymentOutcome outcome{};
  BytecodeFault fault{};
  std::uint32_t at = 0, instructions = 0;
};
static_assert(sizeof(DeploymentAnswer) == 16);

struct DeploymentRights {
  std::uint64_t first_opcode = 0, last_opcode = 0;
  std::uint32_t most_kernels = 0, most_state_bytes = 0, most_steps = 0, most_instances = 0;
};

[[nodiscard]] std::array<std::byte, 32> mac_of(const DeploymentKey& key, std::uint32_t qpn,
                                               const DeploymentRequest& request, std::span<const std::byte> object);

// The card whose kernels these are.
class DeploymentTarget {
 public:
  virtual ~DeploymentTarget() = default;
  virtual bool deploy(const nic::Kernel& kernel) = 0;
  virtual bool remove(std::uint64_t opcode) = 0;
  [[nodiscard]] virtual bool has(std::uint64_t opcode) const = 0;
  [[nodiscard]] virtual bool has_queue_pair(std::uint32_t qpn) const = 0;
  virtual void refuse(Refusal why) = 0;
};

class Deployments {
 public:
  explicit Deployments(std::unique_ptr<DeploymentTarget> target) : target_(std::move(target)) {}

  // A grant replaces the one that the queue pair has. False: there are as many as may be.
  [[nodiscard]] bool allow(std::uint32_t qpn, const DeploymentRights& rights, const DeploymentKey& key);
  // Kernels that were deployed stay.
  bool forbid(std::uint32_t qpn) { return grants_.erase(qpn) != 0; }

  // The kernel that peers call, whose context and owner is `all`.
  [[nodiscard]] static nic::Kernel kernel(const std::shared_ptr<Deployments>& all);

 private:
  struct Grant {
    DeploymentRights rights{};
    DeploymentKey key{};
    std::uint64_t last_number = 0;
    std::vector<std::uint64_t> opcodes;  // deployed
    std::vector<std::byte> object;       // as much of it as has come,
    std::size_t received = 0;            //   of so much: all that is too long is dropped
  };
  static nic::KernelNext on_step(nic::KernelStep& step);
  void take(Grant& grant, const nic::KernelStep& step);
  [[nodiscard]] DeploymentAnswer answer(std::uint32_t qpn, std::span<const std::byte> parameters);
  [[nodiscard]] DeploymentAnswer judge(Grant& grant, std::uint32_t qpn, std::span<const std::byte> parameters,
                                       DeploymentRequest& request);
  [[nodiscard]] DeploymentAnswer carry_out(Grant& grant, const DeploymentRequest& request);
  [[nodiscard]] DeploymentAnswer deploy(Grant& grant, const DeploymentRequest& request);
  [[nodiscard]] Grant* find(std::uint32_t qpn);

  std::unique_ptr<DeploymentTarget> target_;
  std::map<std::uint32_t, Grant> grants_;
};

}  // namespace weft::bytecode

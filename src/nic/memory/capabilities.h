// Who may touch a stateless card's memory: whoever shows a capability, a MAC over it, its holder's address and queue
// pair, under one secret of this card. Checking one needs no state of the connection. A new secret begins a new epoch;
// capabilities of the epoch before it stay good until that is ended, which revokes all of them at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/refusal.h"
#include "wire/star.h"

namespace weft::nic {

// How a stateful card knows that a state or a rule comes from the stateless card: by a MAC under the key that the first
// state of the connection brought. `number`: of the question that is answered.
[[nodiscard]] wire::StarMac seal_of(const wire::StarMac& key, wire::Qpn stateful, wire::Psn number,
                                    std::span<const std::byte> said);
[[nodiscard]] bool is_sealed(const wire::StarMac& seal, const wire::StarMac& key, wire::Qpn stateful, wire::Psn number,
                             std::span<const std::byte> said);

// Who holds a capability: the stateful side of one connection.
struct Holder {
  wire::Address address{};
  wire::Qpn qpn{};
};

class CapabilityIssuer {
 public:
  using Secret = std::array<std::uint8_t, 16>;

  // Before the first secret nothing is issued, and nothing is good.
  [[nodiscard]] bool active() const { return epochs_[0].live; }
  [[nodiscard]] std::uint8_t epoch() const { return epochs_[0].number; }

  // A new epoch. The one before stays good until end_old_epoch().
  void rotate(const Secret& secret);
  void end_old_epoch() { epochs_[1].live = false; }
  // The key for what this card says of one connection, by the name of its block. It does not change with the epoch, so
  // that a new epoch can be told of.
  void set_seal_secret(const Secret& secret) { seal_secret_ = secret; }
  [[nodiscard]] wire::StarMac seal_key(std::uint64_t block) const;

  // Fills in epoch and MAC.
  [[nodiscard]] wire::Capability issue(const Holder& holder, wire::Capability wanted) const;
  [[nodiscard]] Refusal check(const Holder& holder, const wire::Capability& shown) const;

 private:
  struct Epoch {
    Secret secret{};
    std::uint8_t number = 0;
    bool live = false;
  };
  std::array<Epoch, 2> epochs_{};  // the newest first
  Secret seal_secret_{};
};

}  // namespace weft::nic

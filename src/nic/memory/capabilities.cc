#include "nic/memory/capabilities.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <span>

#include <sodium.h>

#include "wire/bytes.h"

namespace weft::nic {
namespace {

static_assert(crypto_shorthash_siphashx24_BYTES == sizeof(wire::StarMac));
static_assert(crypto_shorthash_siphashx24_KEYBYTES == sizeof(CapabilityIssuer::Secret));

// Takes as long whatever differs.
bool same(const wire::StarMac& a, const wire::StarMac& b) { return sodium_memcmp(a.data(), b.data(), a.size()) == 0; }

// SipHash with 128 bits: made for short messages, as these are.
wire::StarMac mac_of(const CapabilityIssuer::Secret& secret, const Holder& holder, const wire::Capability& c) {
  std::array<std::byte, 40> covered;
  const std::span<std::byte, 40> b(covered);
  wire::put_array<0>(b, holder.address.bytes);
  wire::put<std::uint32_t, 16>(b, holder.qpn.raw());
  wire::put<std::uint32_t, 20>(b, c.key.raw());
  wire::put<std::uint32_t, 24>(b, std::uint32_t{c.rights} << 8 | c.epoch);
  wire::put<std::uint32_t, 28>(b, c.length);
  wire::put<std::uint64_t, 32>(b, c.base);
  wire::StarMac mac;
  crypto_shorthash_siphashx24(mac.data(), wire::as_unsigned_chars(covered.data()), covered.size(), secret.data());
  return mac;
}

}  // namespace

wire::StarMac seal_of(const wire::StarMac& key, wire::Qpn stateful, wire::Psn number, std::span<const std::byte> said) {
  std::array<std::byte, 80> covered{};
  const std::size_t bytes = 8 + said.size();
  assert(bytes <= covered.size());
  wire::put<std::uint32_t, 0>(std::span<std::byte, 80>(covered), stateful.raw());
  wire::put<std::uint32_t, 4>(std::span<std::byte, 80>(covered), number.raw());
  std::copy(said.begin(), said.end(), covered.begin() + 8);
  wire::StarMac mac;
  crypto_shorthash_siphashx24(mac.data(), wire::as_unsigned_chars(covered.data()), bytes, key.data());
  return mac;
}

bool is_sealed(const wire::StarMac& seal, const wire::StarMac& key, wire::Qpn stateful, wire::Psn number,
               std::span<const std::byte> said) {
  return same(seal, seal_of(key, stateful, number, said));
}

wire::StarMac CapabilityIssuer::seal_key(std::uint64_t block) const {
  std::array<std::byte, 8> name;
  wire::put<std::uint64_t, 0>(std::span<std::byte, 8>(name), block);
  wire::StarMac key;
  crypto_shorthash_siphashx24(key.data(), wire::as_unsigned_chars(name.data()), name.size(), seal_secret_.data());
  return key;
}

void CapabilityIssuer::rotate(const Secret& secret) {
  epochs_[1] = epochs_[0];
  epochs_[0] = {secret, static_cast<std::uint8_t>(epochs_[1].number + 1), true};
}

wire::Capability CapabilityIssuer::issue(const Holder& holder, wire::Capability wanted) const {
  wanted.epoch = epochs_[0].number;
  wanted.mac = mac_of(epochs_[0].secret, holder, wanted);
  return wanted;
}

Refusal CapabilityIssuer::check(const Holder& holder, const wire::Capability& shown) const {
  for (const Epoch& e : epochs_) {
    if (!e.live || e.number != shown.epoch) continue;
    return same(mac_of(e.secret, holder, shown), shown.mac) ? Refusal::none : Refusal::star_bad_capability;
  }
  return Refusal::star_stale_epoch;
}

}  // namespace weft::nic

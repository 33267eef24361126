#include "nic/memory/capabilities.h"

#include <cstddef>
#include <span>

#include <sodium.h>

#include "wire/bytes.h"

namespace weft::nic {
namespace {

static_assert(crypto_shorthash_siphashx24_BYTES == sizeof(wire::StarMac));
static_assert(crypto_shorthash_siphashx24_KEYBYTES == sizeof(CapabilityIssuer::Secret));

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

void CapabilityIssuer::rotate(const Secret& secret) {
  epochs_[1] = epochs_[0];
  epochs_[0] = {secret, static_cast<std::uint8_t>(epochs_[1].number + 1), true};
}

wire::Capability CapabilityIssuer::issue(const Holder& holder, wire::Capability wanted) const {
  wanted.epoch = epochs_[0].number;
  wanted.mac = mac_of(epochs_[0].secret, holder, wanted);
  return wanted;
}

// The comparison takes as long whatever differs.
Refusal CapabilityIssuer::check(const Holder& holder, const wire::Capability& shown) const {
  for (const Epoch& e : epochs_) {
    if (!e.live || e.number != shown.epoch) continue;
    const wire::StarMac expected = mac_of(e.secret, holder, shown);
    return sodium_memcmp(expected.data(), shown.mac.data(), expected.size()) == 0 ? Refusal::none
                                                                                  : Refusal::star_bad_capability;
  }
  return Refusal::star_stale_epoch;
}

}  // namespace weft::nic

// The payload of a packet: bytes at hand, or bytes that still lie in the sender's memory and that only the world
// can fetch from there. An exported payload has a length like any other, so a packet is judged without it; but whoever
// wants the bytes has to say near(), which an exported one does not have.
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::wire {

// Where an exported payload is from, as the world that will fetch it knows it: worlds derive their own from this.
struct Export {};

class Payload {
 public:
  Payload() = default;
  template <class Bytes>
    requires std::convertible_to<const Bytes&, std::span<const std::byte>>
    // NOLINTNEXTLINE(google-explicit-constructor): bytes at hand are a payload
    Payload(const Bytes& near) : Payload(near.data(), near.size()) {}

    // The export outlives the packet.
    static Payload exported(const Export& exported_by, std::uint64_t address, std::size_t bytes) {
      Payload out;
      out.address_ = address;
      out.bytes_ = bytes;
      out.export_ = &exported_by;
      return out;
    }

    [[nodiscard]] std::size_t size() const { return bytes_; }
    [[nodiscard]] bool empty() const { return bytes_ == 0; }
    [[nodiscard]] bool is_exported() const { return export_ != nullptr; }

    // Not of an exported one: what cannot be fetched must not be made up. Release builds ask, too.
    [[nodiscard]] std::span<const std::byte> near() const {
      assert(!is_exported());
      return {near_, bytes_};
    }
    // For an exported payload: who exports it, and its address in the sender's memory, which is not ours.
    [[nodiscard]] const Export& exported_by() const { return *export_; }
    [[nodiscard]] std::uint64_t address() const { return address_; }

    [[nodiscard]] Payload part(std::size_t from, std::size_t bytes) const {
      assert(from <= bytes_ && bytes <= bytes_ - from);
      return is_exported() ? exported(*export_, address_ + from, bytes) : Payload(near_ + from, bytes);
    }

   private:
    Payload(const std::byte* near, std::size_t bytes) : near_(near), bytes_(bytes) {}

    union {
      const std::byte* near_ = nullptr;
      std::uint64_t address_;
    };
    std::size_t bytes_ = 0;
    const Export* export_ = nullptr;
};

}  // namespace weft::wire

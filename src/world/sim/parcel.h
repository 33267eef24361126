// A packet in flight, as a value: in the simulated world packets are not bytes. Parcels live in a pool and are known by
// their index; whoever holds the index owns the parcel and hands it on or releases it.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "wire/packet.h"
#include "wire/refusal.h"
#include "world/sim/address_key.h"
#include "world/sim/payload_pool.h"

namespace weft::sim {

using HostIndex = std::uint32_t;
inline constexpr HostIndex kNoHost = 0xFFFF'FFFF;

// What a packet costs on an Ethernet link, in byte times: preamble and inter-frame gap (20), Ethernet header (14), IP,
// UDP (8), transport headers, payload, pad, ICRC (4), FCS (4). A frame without preamble is at least 64 bytes.
constexpr std::uint32_t wire_bytes(bool v4, std::size_t header_bytes, std::uint32_t payload_bytes) {
  const std::uint32_t padded = (payload_bytes + 3) & ~3u;
  const std::uint32_t frame = 14 + (v4 ? 20 : 40) + 8 + static_cast<std::uint32_t>(header_bytes) + padded + 4 + 4;
  return (frame < 64 ? 64 : frame) + 20;
}
constexpr std::uint32_t wire_bytes(bool v4, wire::Opcode opcode, std::uint32_t payload_bytes) {
  return wire_bytes(v4, wire::info(opcode).header_bytes, payload_bytes);
}

// A payload that stays in the sending host's memory until it is placed. The sender counts its revocations: one since
// the packet was sent, and the packet is lost.
struct ParcelExport : wire::Export {
  const std::byte* from = nullptr;             // nullptr: it travels
  const std::uint64_t* revocations = nullptr;  // the sender's
  std::uint64_t revocations_then = 0;
};

struct alignas(64) Parcel {
  // What links and switches look at comes first, in one cache line.
  std::uint32_t wire_bytes = 0;            // set when it is sent
  HostIndex from = kNoHost, to = kNoHost;  // likewise
  std::uint32_t payload_bytes = 0;
  PayloadPool::Buffer buffer;       // without data the payload is a length only
  Refusal refusal = Refusal::none;  // why the receiving port will refuse it, if it was corrupted on the way
  bool live = false;
  std::uint16_t packets = 1;  // more than one: a burst (wire/packet.h)
  wire::Flow flow;
  wire::Headers headers;
  ParcelExport exported_by;

  // Empty when the payload is a length only.
  [[nodiscard]] std::span<const std::byte> payload() const { return {buffer.data, buffer.data ? payload_bytes : 0}; }
  // Not const: who may only read the parcel may only read its payload.
  // NOLINTNEXTLINE(readability-make-member-function-const)
  [[nodiscard]] std::span<std::byte> payload() { return {buffer.data, buffer.data ? payload_bytes : 0}; }
  // The packet refers to the parcel.
  [[nodiscard]] wire::Packet packet() const {
    if (exported_by.from == nullptr) return {flow, headers, payload(), packets};
    return {flow, headers,
            wire::Payload::exported(exported_by, std::bit_cast<std::uint64_t>(exported_by.from), payload_bytes),
            packets};
  }
};
static_assert(sizeof(Parcel) == 256);

enum class ParcelId : std::uint32_t {};

class ParcelPool {
 public:
  [[nodiscard]] Parcel& operator[](ParcelId id) { return blocks_[index(id) / kBlock][index(id) % kBlock]; }
  [[nodiscard]] const Parcel& operator[](ParcelId id) const { return blocks_[index(id) / kBlock][index(id) % kBlock]; }

  // A packet that is nothing yet but room for its payload. The caller writes flow and headers, which hold what an
  // earlier packet left there, and payload(), in place.
  ParcelId make(std::uint32_t payload_bytes) {
    const ParcelId id = make_hollow(payload_bytes);
    if (payload_bytes > 0) (*this)[id].buffer = payloads_.take(payload_bytes);
    return id;
  }
  // The same, but its payload is a length only.
  ParcelId make_hollow(std::uint32_t payload_bytes) {
    const ParcelId id = take();
    Parcel& parcel = (*this)[id];
    parcel.payload_bytes = payload_bytes;
    parcel.buffer = {};
    parcel.refusal = Refusal::none;
    parcel.packets = 1;
    parcel.exported_by = {};
    return id;
  }
  ParcelId make(const wire::Flow& flow, const wire::Headers& headers, std::uint32_t payload_bytes) {
    const ParcelId id = make(payload_bytes);
    Parcel& parcel = (*this)[id];
    parcel.flow = flow;
    parcel.headers = headers;
    return id;
  }
  ParcelId make(const wire::Flow& flow, const wire::Headers& headers, std::span<const std::byte> payload) {
    const ParcelId id = make(flow, headers, static_cast<std::uint32_t>(payload.size()));
    if (!payload.empty()) std::memcpy((*this)[id].buffer.data, payload.data(), payload.size());
    return id;
  }
  ParcelId copy(ParcelId original) {
    const Parcel& from = (*this)[original];
    const ParcelId id = from.buffer.data == nullptr ? make_hollow(from.payload_bytes) : make(from.payload_bytes);
    Parcel& made = (*this)[id];
    const PayloadPool::Buffer buffer = made.buffer;
    made = from;
    made.buffer = buffer;
    const std::span<const std::byte> payload = from.payload();
    if (!payload.empty()) std::memcpy(buffer.data, payload.data(), payload.size());
    return id;
  }

  void release(ParcelId id) {
    Parcel& parcel = (*this)[id];
    assert(parcel.live);
    parcel.live = false;
    if (parcel.buffer.data != nullptr) payloads_.give_back(parcel.buffer);
    free_.push_back(id);
  }

  // How many are in flight. A world at rest has none: anything else is a leak.
  [[nodiscard]] std::size_t in_flight() const { return made_ - free_.size(); }
  [[nodiscard]] std::size_t payloads_in_flight() const { return payloads_.outstanding(); }
  // The most that were ever in flight at once, rounded up to a block.
  [[nodiscard]] std::size_t capacity() const { return blocks_.size() * kBlock; }

  // What the pool has taken from the machine, which it keeps.
  [[nodiscard]] std::size_t bytes() const { return capacity() * sizeof(Parcel) + payloads_.bytes(); }

  // Hints that a parcel will be looked at soon; and, once that is near, its payload.
  void prefetch(ParcelId id) const { fetch_lines(&(*this)[id], sizeof(Parcel)); }
  void prefetch_payload(ParcelId id) const {
    const std::span<const std::byte> payload = (*this)[id].payload();
    fetch_lines(payload.data(), payload.size());
  }

 private:
  static constexpr std::size_t kBlock = 256;
  static std::size_t index(ParcelId id) { return static_cast<std::size_t>(id); }
  static void fetch_lines(const void* start, std::size_t bytes) {
    constexpr std::size_t kAtMost = 16 * 64;  // the machine sees the pattern by then
    for (std::size_t at = 0; at < bytes && at < kAtMost; at += 64) {
      __builtin_prefetch(static_cast<const std::byte*>(start) + at);
    }
    asm volatile("");  // g++ 12 takes a function that only prefetches for one that does nothing, and drops the call
  }

  ParcelId take() {
    if (free_.empty()) {
      if (made_ == capacity()) blocks_.push_back(std::make_unique<Parcel[]>(kBlock));
      free_.push_back(static_cast<ParcelId>(made_++));
    }
    const ParcelId id = free_.back();
    free_.pop_back();
    (*this)[id].live = true;
    return id;
  }

  std::vector<std::unique_ptr<Parcel[]>> blocks_;  // parcels do not move while others are made
  std::vector<ParcelId> free_;
  std::size_t made_ = 0;
  PayloadPool payloads_;
};

}  // namespace weft::sim

// Scatter/gather lists: which pieces of host memory are bytes [offset, offset + length) of a message.
#pragma once

#include <algorithm>
#include <span>

#include "nic/core.h"
#include "nic/host_memory.h"

namespace weft::nic {

using Pieces = FixedVector<Fragment, kMaxSges>;

// Where bytes [offset, offset + length) of this element are, which must have them; the gate may refuse.
template <World W>
[[nodiscard]] Refusal find_piece(Core<W>& core, const Context& c, const Sge& sge, Rights want, std::uint64_t offset,
                                 std::uint32_t length, std::byte*& at) {
  const Refusal r = core.translate(c, sge.key, want, sge.address + offset, length, at);
  // sge.address + offset may wrap past 2^64: then the whole element is no region's.
  return r == Refusal::none && sge.address + offset < sge.address ? Refusal::out_of_bounds : r;
}

template <World W, class Piece>
[[nodiscard, gnu::noinline]] Refusal for_each_of_many(Core<W>& core, const Context& c, std::span<const Sge> sges,
                                                      Rights want, std::uint64_t offset, std::uint32_t length,
                                                      Piece& piece) {
  for (const Sge& sge : sges) {
    if (length == 0) break;
    if (offset >= sge.length) {
      offset -= sge.length;
      continue;
    }
    const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(sge.length - offset, length));
    std::byte* at = nullptr;
    if (const Refusal r = find_piece(core, c, sge, want, offset, bytes, at); r != Refusal::none) return r;
    piece(at, bytes);
    length -= bytes;
    offset = 0;
  }
  return length == 0 ? Refusal::none : Refusal::receive_too_small;
}

// Calls piece(pointer, bytes) for each part, in order, after the gate let it pass. Most lists have one element.
template <World W, class Piece>
[[nodiscard]] Refusal for_each_piece(Core<W>& core, const Context& c, std::span<const Sge> sges, Rights want,
                                     std::uint64_t offset, std::uint32_t length, Piece&& piece) {
  if (sges.size() != 1 || length == 0 || offset + length > sges[0].length) [[unlikely]]
    return for_each_of_many(core, c, sges, want, offset, length, piece);
  std::byte* at = nullptr;
  if (const Refusal r = find_piece(core, c, sges[0], want, offset, length, at); r != Refusal::none) return r;
  piece(at, length);
  return Refusal::none;
}

template <World W>
[[nodiscard]] Refusal gather(Core<W>& core, const Context& c, std::span<const Sge> sges, std::uint64_t offset,
                             std::uint32_t length, Pieces& out) {
  return for_each_piece(core, c, sges, Rights::none, offset, length, [&](std::byte* at, std::uint32_t bytes) {
    core.world.read(BusRead::payload, at, bytes);
    (void)out.try_push({at, bytes});  // never more than kMaxSges pieces: post_send saw to it
  });
}

template <World W>
[[nodiscard, gnu::noinline]] Refusal scatter_exported(Core<W>& core, const Context& c, std::span<const Sge> sges,
                                                      std::uint64_t offset, const wire::Payload& data) {
  std::size_t done = 0;
  bool there = true;
  const Refusal r = for_each_piece(core, c, sges, Rights::local_write, offset, static_cast<std::uint32_t>(data.size()),
                                   [&](std::byte* at, std::uint32_t bytes) {
                                     there = there && core.dma_write(at, data.part(done, bytes));
                                     done += bytes;
                                   });
  return r == Refusal::none && !there ? Refusal::payload_gone : r;
}

template <World W>
[[nodiscard]] Refusal scatter(Core<W>& core, const Context& c, std::span<const Sge> sges, std::uint64_t offset,
                              const wire::Payload& data) {
  if (!data.is_exported()) [[likely]] {
    const std::byte* from = data.near().data();
    return for_each_piece(core, c, sges, Rights::local_write, offset, static_cast<std::uint32_t>(data.size()),
                          [&](std::byte* at, std::uint32_t bytes) {
                            core.world.dma_write(at, {from, bytes});
                            from += bytes;
                          });
  }
  return scatter_exported(core, c, sges, offset, data);
}

}  // namespace weft::nic

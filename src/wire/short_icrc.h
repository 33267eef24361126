// The ICRC of what a small packet has behind its UDP header. The library's code is made for long streams: of a hundred
// bytes most of its time is the start. Here they are folded in a register, sixteen at a time, by multiplication without
// carries, where the processor has that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::wire {

extern const bool kHasShortIcrc;

// `before` is icrc_begin()'s. From the BTH on; its byte that routers change is read as ones. A multiple of four bytes,
// and a BTH at least. Only where kHasShortIcrc.
[[nodiscard]] std::uint32_t short_icrc(std::uint32_t before, std::span<const std::byte> headers_and_more);

}  // namespace weft::wire

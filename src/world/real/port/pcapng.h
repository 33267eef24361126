// The few blocks of pcapng that a capture of one interface needs (draft-ietf-opsawg-pcapng), in this machine's byte
// order: readers learn it from the first block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft::real::pcapng {

struct CapturedPacket {
  std::uint64_t wall_ns = 0;  // since 1970
  bool inbound = false;
  std::span<const std::byte> headers, payload;  // of one frame
  std::string_view comment;                     // at most kMaxComment bytes of it are kept
};

inline constexpr std::size_t kMaxComment = 1024;

// How every file of Weft's begins, and others' do not: it names who wrote it.
void begin_section(std::vector<std::byte>& out);

// begin_section(), and the section's only interface: Ethernet, time in nanoseconds.
void begin(std::vector<std::byte>& out, std::string_view interface, std::string_view description);

void append(std::vector<std::byte>& out, const CapturedPacket& packet);
// What append adds.
[[nodiscard]] std::size_t bytes_of(const CapturedPacket& packet);

}  // namespace weft::real::pcapng

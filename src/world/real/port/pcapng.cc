#include "world/real/port/pcapng.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>

namespace weft::real::pcapng {
namespace {

enum class Block : std::uint32_t { interface = 1, enhanced_packet = 6, section = 0x0A0D'0D0A };
enum class Option : std::uint16_t {
  end = 0,
  comment = 1,
  if_name = 2,
  epb_flags = 2,
  if_description = 3,
  userappl = 4,
  if_tsresol = 9
};

constexpr std::uint32_t kByteOrder = 0x1A2B'3C4D;
constexpr std::uint16_t kEthernet = 1;
constexpr std::byte kNanoseconds{9};  // 10^-9
constexpr std::uint32_t kInbound = 1, kOutbound = 2;
constexpr std::size_t kFixed = 32;  // of an enhanced packet block: all but data and options

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; }

template <class Number>
void put(std::vector<std::byte>& out, Number number) {
  const auto bytes = std::bit_cast<std::array<std::byte, sizeof number>>(number);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void put(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void pad(std::vector<std::byte>& out, std::size_t begin) { out.resize(begin + padded(out.size() - begin)); }

void put_option(std::vector<std::byte>& out, Option option, std::span<const std::byte> value) {
  const std::size_t begin = out.size();
  put(out, static_cast<std::uint16_t>(option));
  put(out, static_cast<std::uint16_t>(value.size()));
  put(out, value);
  pad(out, begin);
}

void put_option(std::vector<std::byte>& out, Option option, std::string_view text) {
  put_option(out, option, std::as_bytes(std::span(text)));
}

std::size_t begin_block(std::vector<std::byte>& out, Block type) {
  const std::size_t begin = out.size();
  put(out, static_cast<std::uint32_t>(type));
  put(out, std::uint32_t{0});  // its length, when it is known
  return begin;
}

void end_block(std::vector<std::byte>& out, std::size_t begin) {
  const auto length = static_cast<std::uint32_t>(out.size() - begin + sizeof(std::uint32_t));
  std::memcpy(out.data() + begin + 4, &length, sizeof length);
  put(out, length);
}

}  // namespace

void begin_section(std::vector<std::byte>& out) {
  const std::size_t section = begin_block(out, Block::section);
  put(out, kByteOrder);
  put(out, std::uint16_t{1});  // version 1.0
  put(out, std::uint16_t{0});
  put(out, ~std::uint64_t{0});  // how long the section is, is not known
  put_option(out, Option::userappl, "weft");
  put_option(out, Option::end, std::span<const std::byte>());
  end_block(out, section);
}

void begin(std::vector<std::byte>& out, std::string_view interface, std::string_view description) {
  begin_section(out);
  const std::size_t description_block = begin_block(out, Block::interface);
  put(out, kEthernet);
  put(out, std::uint16_t{0});
  put(out, std::uint32_t{0});  // packets are captured whole
  put_option(out, Option::if_name, interface);
  put_option(out, Option::if_description, description);
  put_option(out, Option::if_tsresol, std::span(&kNanoseconds, 1));
  put_option(out, Option::end, std::span<const std::byte>());
  end_block(out, description_block);
}

void append(std::vector<std::byte>& out, const CapturedPacket& packet) {
  [[maybe_unused]] const std::size_t before = out.size();
  const std::size_t block = begin_block(out, Block::enhanced_packet);
  const auto bytes = static_cast<std::uint32_t>(packet.headers.size() + packet.payload.size());
  put(out, std::uint32_t{0});  // the first interface
  put(out, static_cast<std::uint32_t>(packet.wall_ns >> 32));
  put(out, static_cast<std::uint32_t>(packet.wall_ns));
  put(out, bytes);
  put(out, bytes);
  const std::size_t data = out.size();
  put(out, packet.headers);
  put(out, packet.payload);
  pad(out, data);
  if (!packet.comment.empty()) put_option(out, Option::comment, packet.comment.substr(0, kMaxComment));
  const auto flags = std::bit_cast<std::array<std::byte, 4>>(packet.inbound ? kInbound : kOutbound);
  put_option(out, Option::epb_flags, flags);
  put_option(out, Option::end, std::span<const std::byte>());
  end_block(out, block);
  assert(out.size() - before == bytes_of(packet));
}

std::size_t bytes_of(const CapturedPacket& packet) {
  const std::size_t comment = packet.comment.empty() ? 0 : 4 + padded(std::min(packet.comment.size(), kMaxComment));
  constexpr std::size_t kFlags = 8, kEnd = 4;
  return kFixed + padded(packet.headers.size() + packet.payload.size()) + comment + kFlags + kEnd;
}

}  // namespace weft::real::pcapng

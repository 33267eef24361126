// What a server and its clients write to each other, and how each knows that it is right. Every connection has as many
// slots of memory as requests may be under way in it, on both sides; message n of a connection goes to slot n modulo
// their number, and each of its words follows from the connection, from n and from who wrote it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace weft::connections {

enum class Writer : std::uint8_t { server, client };

class MessageSlots {
 public:
  MessageSlots(std::uint32_t connections, std::uint32_t depth, std::uint32_t bytes)
      : depth_(depth), bytes_(bytes), memory_(std::size_t{connections} * depth * bytes) {}

  [[nodiscard]] std::span<std::byte> memory() { return memory_; }
  [[nodiscard]] std::size_t offset(std::uint32_t connection, std::uint64_t message) const {
    return (std::size_t{connection} * depth_ + message % depth_) * bytes_;
  }

  void write(std::uint32_t at, std::uint32_t connection, std::uint64_t message, Writer writer) {
    std::uint64_t word = first_word(connection, message, writer);
    std::byte* to = memory_.data() + offset(at, message);
    for (std::size_t i = 0; i < bytes_; i += sizeof word, ++word) std::memcpy(to + i, &word, part(i));
  }
  [[nodiscard]] bool holds(std::uint32_t at, std::uint32_t connection, std::uint64_t message, Writer writer) const {
    std::uint64_t word = first_word(connection, message, writer);
    const std::byte* from = memory_.data() + offset(at, message);
    for (std::size_t i = 0; i < bytes_; i += sizeof word, ++word) {
      if (std::memcmp(from + i, &word, part(i)) != 0) return false;
    }
    return true;
  }
  void clear(std::uint32_t at, std::uint64_t message) { std::memset(memory_.data() + offset(at, message), 0, bytes_); }

 private:
  [[nodiscard]] static std::uint64_t first_word(std::uint32_t connection, std::uint64_t message, Writer writer) {
    std::uint64_t x = (std::uint64_t{connection} << 40) ^ (message << 1) ^ (writer == Writer::server ? 1 : 0);
    x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9;
    return (x ^ (x >> 27)) | 1;  // never what fresh memory holds
  }
  [[nodiscard]] std::size_t part(std::size_t at) const { return bytes_ - at < 8 ? bytes_ - at : 8; }

  std::uint32_t depth_, bytes_;
  std::vector<std::byte> memory_;
};

}  // namespace weft::connections

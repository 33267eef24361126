// The socket over which the two processes tell each other what they need to know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace weft::connections {

class ControlSocket {
 public:
  enum class WhenGone : std::uint8_t { says_so, is_quiet };  // and ends, both

  explicit ControlSocket(int socket, WhenGone when_gone = WhenGone::says_so) : socket_(socket), when_gone_(when_gone) {}

  template <class T>
  void write(const T* values, std::size_t count) const {
    static_assert(std::is_trivially_copyable_v<T>);
    write_bytes(values, count * sizeof(T));
  }
  template <class T>
  void read(T* values, std::size_t count) const {
    static_assert(std::is_trivially_copyable_v<T>);
    read_bytes(values, count * sizeof(T));
  }
  // The other's, for ours.
  template <class T>
  [[nodiscard]] T exchange(const T& mine) const {
    T theirs{};
    write(&mine, 1);
    read(&theirs, 1);
    return theirs;
  }
  // Both are here now.
  void meet() const { (void)exchange('m'); }

  // Whether the other has said something, or is gone. `patience`: in milliseconds; -1: until it is so.
  [[nodiscard]] bool is_told(int patience) const;

 private:
  void write_bytes(const void* data, std::size_t bytes) const;
  void read_bytes(void* data, std::size_t bytes) const;

  [[noreturn]] void end() const;

  int socket_;
  WhenGone when_gone_;
};

}  // namespace weft::connections

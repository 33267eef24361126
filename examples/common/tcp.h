// TCP connections that move whole messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace examples {

// A file descriptor that is closed with its owner.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();

  [[nodiscard]] int fd() const { return fd_; }
  // All of it, or false: the other side has gone.
  [[nodiscard]] bool read(std::span<std::byte> into) const;
  [[nodiscard]] bool write(std::span<const std::byte> bytes) const;
  template <class T>
  [[nodiscard]] bool read_into(T& value) const {
    return read(std::as_writable_bytes(std::span(&value, 1)));
  }
  template <class T>
  [[nodiscard]] bool write_from(const T& value) const {
    return write(std::as_bytes(std::span(&value, 1)));
  }

 private:
  int fd_ = -1;
};

// These end the program with a sentence if they cannot.
[[nodiscard]] Socket listen_at(const std::string& address, std::uint16_t port);
[[nodiscard]] Socket connect_to(const std::string& address, std::uint16_t port);
[[nodiscard]] Socket accept_at(const Socket& listener);
[[noreturn]] void give_up(const std::string& what);

}  // namespace examples

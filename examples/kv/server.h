// The server: the table, registered with the card, which serves READs and kernels by itself; and TCP for all else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace kv {

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 17900;
  std::size_t keys = 100'000, value_bytes = 64;
  bool deploy = false;  // clients may bring kernels of their own
};

// Fills the table with keys 1 ... `keys` and serves until standard input ends, or, if that is a file, until it is
// killed.
void serve(const ServerOptions& options);

// The first value of a key: bytes that its number makes.
void fill_value(std::uint64_t key, std::byte* value, std::size_t bytes);

}  // namespace kv

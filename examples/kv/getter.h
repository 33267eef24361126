// A way to GET, for many clients with one GET each under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "table.h"

namespace kv {

struct Got {
  std::size_t client = 0;
  bool is_whole = true;        // false: it was being changed; the client asks again
  std::optional<Bytes> value;  // none: there is no such key. Good until the client's next GET
};

class Getter {
 public:
  virtual ~Getter() = default;
  virtual void start(std::size_t client, std::uint64_t key) = 0;
  // Adds what has come.
  virtual void poll(std::vector<Got>& got) = 0;
};

struct ServerPlace {
  std::string address = "127.0.0.1";
  std::uint16_t port = 17900;
};

[[nodiscard]] std::unique_ptr<Getter> get_by_reads(const ServerPlace& server, std::size_t clients);
[[nodiscard]] std::unique_ptr<Getter> get_by_kernel(const ServerPlace& server, std::size_t clients);
// A kernel that the client deploys on the server's card: the object file of get.c.
[[nodiscard]] std::unique_ptr<Getter> get_by_bytecode(const ServerPlace& server, std::size_t clients,
                                                      const std::string& object);
[[nodiscard]] std::unique_ptr<Getter> get_by_tcp(const ServerPlace& server, std::size_t clients);

}  // namespace kv

// The other program: it answers every message with a copy. It is killed without warning and started anew.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include <sys/types.h>

#include "objects.h"

namespace stress {

inline constexpr std::uint32_t kEchoDepth = 16, kEchoBytes = 2048;

class Peer {
 public:
  explicit Peer(const char* program) : program_(program) { start(); }
  ~Peer() { end(); }

  // A queue pair of the peer's, connected to ours. Nothing if the peer died over it.
  std::optional<Address> connect(const Address& mine);
  [[nodiscard]] std::uint32_t deaths() const { return deaths_; }
  void kill_and_restart();

 private:
  void start();
  void end();

  const char* program_;
  std::mutex lock_;
  pid_t process_ = -1;
  int socket_ = -1;
  std::atomic<std::uint32_t> deaths_ = 0;
};

// Starts the broker before there are threads: the thread sanitizer takes what the library does instead (a child that
// shares its memory until it becomes the broker) for a fork, and sees races everywhere from then on.
void start_broker_early();

// What the other program does, until its socket closes.
int serve(int socket);

}  // namespace stress

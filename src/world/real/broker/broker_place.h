// Where a user's broker listens: at a socket in a folder that only this user can write to. Network namespaces have one
// each, as they have a port 4791 each. Programs of one user must look in the same places, whatever their environment
// is: neither $XDG_RUNTIME_DIR nor $TMPDIR is asked.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <tl/expected.hpp>

#include "world/real/os/descriptor.h"
#include "world/real/os/trouble.h"

namespace weft::real {

// A folder of this user's, which nobody else may look into; else what is wrong with it, and whose it is.
[[nodiscard]] tl::expected<void, Trouble> check_private(const std::string& folder);

// The folder that a new broker listens in: /run/user/UID, or else /tmp/weft-broker-UID, which is made.
[[nodiscard]] tl::expected<std::string, Trouble> broker_folder();
// Sockets at which one may listen already, by path. The session of a user may have begun after the broker did.
[[nodiscard]] tl::expected<std::vector<std::string>, Trouble> broker_sockets();

// For people: the name and the number of a user.
[[nodiscard]] std::string text_of_user(uid_t user);

// The socket that a broker listens at. A lock beside it says that its owner is alive. One that was killed leaves both
// to the next. They go with their owner, and so does a folder of our own. But the lock file stays while lanes that have
// not come back keep numbers locked in it.
class BrokerListener {
 public:
  // EADDRINUSE: there is a broker already.
  [[nodiscard]] static tl::expected<BrokerListener, Trouble> take();

  BrokerListener() = default;
  // For tests: a socket that nobody finds by a path.
  explicit BrokerListener(Descriptor socket) : socket_(std::move(socket)) {}
  BrokerListener(BrokerListener&& other) noexcept = default;
  BrokerListener& operator=(BrokerListener&& other) noexcept;
  ~BrokerListener() { release(); }

  [[nodiscard]] int fd() const { return socket_.get(); }
  // Can it still be found? Its folder goes when its user's session ends.
  [[nodiscard]] bool is_found() const;
  void release();

  // A lane's lock on its number, for the lane to keep: on a byte of the lock file. The kernel ends it with the last
  // descriptor of it. So the next broker knows which numbers have an owner, though it has heard of none, and which
  // process that is (0: one that we cannot see). Empty: the lane has it already, or it cannot be had (errno).
  [[nodiscard]] Descriptor lock_number(std::uint8_t lane_number, pid_t owner) const;
  [[nodiscard]] bool is_number_locked(std::uint8_t lane_number) const;
  // It is locked, and by one that runs: neither stopped, nor ended and survived by a child.
  [[nodiscard]] bool is_owner_running(std::uint8_t lane_number) const;

 private:
  std::string folder_, path_;
  Descriptor socket_, lock_;
  ino_t inode_ = 0;  // of the path
};

}  // namespace weft::real

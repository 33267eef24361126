// One end of a conversation between a lane, the broker and the weft command: messages, each with some text and some
// descriptors.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "world/real/broker/messages.h"
#include "world/real/os/descriptor.h"

namespace weft::real {

struct Incoming {
  Message message;
  std::string text;
  std::vector<Descriptor> descriptors;
};

class Conversation {
 public:
  Conversation() = default;
  explicit Conversation(Descriptor socket) : socket_(std::move(socket)) {}

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(socket_); }
  void close() { socket_.reset(); }

  // False: the other end is gone, or does not take any more.
  bool say(Message message, std::string_view text = {}, std::span<const int> descriptors = {}) const;

  // What has arrived, without waiting. Empty and !over(): nothing yet.
  [[nodiscard]] std::optional<Incoming> hear();
  // Waits for a message at most this long.
  [[nodiscard]] std::optional<Incoming> wait(int milliseconds);
  [[nodiscard]] bool over() const { return over_; }

 private:
  [[nodiscard]] bool is_silent() const;

  Descriptor socket_;
  bool over_ = false;
};

// The name of this user's broker, an abstract socket: network namespaces have one each, as they have a port 4791 each.
[[nodiscard]] std::string broker_name();
[[nodiscard]] Conversation call_broker();     // empty when there is none: ECONNREFUSED, or why there is no socket
[[nodiscard]] Descriptor listen_as_broker();  // empty when there is one already

}  // namespace weft::real

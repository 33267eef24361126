// One end of a conversation between a lane, the broker and the weft command: messages, each with some text and some
// descriptors.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "world/real/broker/messages.h"
#include "world/real/os/descriptor.h"
#include "world/real/os/trouble.h"

namespace weft::real {

struct Incoming {
  Message message;
  std::string text;
  std::vector<Descriptor> descriptors;
  bool lacks_descriptors = false;  // some came for which this process has no room: then there are none
};

class Conversation {
 public:
  Conversation() = default;
  explicit Conversation(Descriptor socket) : socket_(std::move(socket)) {}

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(socket_); }
  void close() { socket_.reset(); }

  // False: the other end is gone, or does not take any more.
  bool say(const Message& message, std::string_view text = {}, std::span<const int> descriptors = {}) const {
    return send(message, text, descriptors, 0);
  }
  // The same without waiting, whatever the other end does.
  bool say_at_once(const Message& message, std::string_view text) const;

  // What has arrived, without waiting. Empty and !over(): nothing yet.
  [[nodiscard]] std::optional<Incoming> hear();
  // Waits for a message at most this long.
  [[nodiscard]] std::optional<Incoming> wait(int milliseconds);
  [[nodiscard]] bool over() const { return over_; }

 private:
  [[nodiscard]] bool is_silent() const;
  bool send(Message message, std::string_view text, std::span<const int> descriptors, int flags) const;

  Descriptor socket_;
  bool over_ = false;
};

inline constexpr int kAnswerWithin = 5000;  // milliseconds: nobody waits longer for a broker

// A line to this user's broker. ECONNREFUSED: there is none.
[[nodiscard]] tl::expected<Conversation, Trouble> find_broker();
// The same, for whoever does not ask why there is none.
[[nodiscard]] Conversation call_broker();
// Who is at the other end of a line, for people.
[[nodiscard]] std::string text_of_other(int socket);

}  // namespace weft::real

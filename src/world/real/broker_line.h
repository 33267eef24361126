// A lane's line to the broker: joining, calls that wait for an answer, and what the broker says by itself.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "world/real/conversation.h"
#include "world/real/trouble.h"

namespace weft::real {

class BrokerLine {
 public:
  struct Joined {
    std::uint8_t place = 0;
    std::vector<Descriptor> sockets;  // by address
  };
  // Starts a broker if there is none.
  [[nodiscard]] tl::expected<Joined, Trouble> join(std::span<const wire::Address> addresses,
                                                   const wire::DialectVersions& versions, int door, int wake);

  [[nodiscard]] int fd() const { return line_.fd(); }
  // Asks and waits; what arrives in between is kept for hear(). Empty: the broker is gone or silent.
  [[nodiscard]] std::optional<Incoming> call(const Message& question, Topic answer);
  void say(const Message& message, std::string_view text = {});
  // Something that the broker said by itself, if there is any.
  [[nodiscard]] std::optional<Incoming> hear();
  // The same, of one topic only: the others are kept for hear().
  [[nodiscard]] std::optional<Incoming> hear_only(Topic topic);
  [[nodiscard]] bool over();
  void abandon() { line_.close(); }

 private:
  std::mutex lock_;
  Conversation line_;
  std::deque<Incoming> kept_;
};

// The path of weft-broker: WEFT_BROKER, or what lies beside this library; empty: there is none.
[[nodiscard]] std::string broker_program();

}  // namespace weft::real

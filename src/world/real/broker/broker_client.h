// A lane as the broker's client: joining, calls that wait for an answer, and what the broker says by itself.
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

#include "world/real/broker/conversation.h"
#include "world/real/os/trouble.h"

namespace weft::real {

class BrokerClient {
 public:
  BrokerClient() = default;
  explicit BrokerClient(Conversation conversation)
      : conversation_(std::move(conversation)) {}  // for tests: somebody else has joined

  struct Joined {
    std::uint8_t lane_number = 0;
    std::vector<Descriptor> sockets;  // by address; if it plays a role of StaR, by port and address
  };
  struct Self {
    std::span<const wire::Address> addresses;
    wire::DialectVersions versions;
    wire::StarRoles roles;
    int shared_status, wake;
    std::uint8_t lane_number = 0;  // that it had with a broker that is no more; 0: it is new
  };
  // Starts a broker if there is none. Waits for an address that others are about to let go of. One that comes back does
  // not (EADDRINUSE; EAGAIN: it is with others that come back), and has its ports again.
  [[nodiscard]] tl::expected<Joined, Trouble> join(const Self& self);
  void leave();
  // The broker is gone: its line is of no use any more.
  void hang_up();
  // Is there a broker? Starts one if not.
  [[nodiscard]] static bool is_there();

  [[nodiscard]] int fd() const { return conversation_.fd(); }
  // An eventfd that is rung whenever something is kept: fd() says nothing of it any more to whoever waits there.
  void set_bell(int eventfd);
  // Asks and waits; what arrives in between is kept for hear(). Empty: the broker is gone or silent, or what it said
  // must be heard after what is kept.
  [[nodiscard]] std::optional<Incoming> call(const Message& question, Topic answer);
  // The same while packets wait: it waits a moment, and for a broker that was silent last time not at all.
  [[nodiscard]] std::optional<Incoming> call_in_passing(const Message& question, Topic answer);
  // The same, but it asks a silent broker, too, and hardly waits: an answer that is late is for hear().
  [[nodiscard]] std::optional<Incoming> call_at_a_glance(const Message& question, Topic answer);
  void say(const Message& message, std::string_view text = {});
  // For whoever must not wait. False: it was not said; there is no room, or another thread talks with the broker.
  [[nodiscard]] bool say_at_once(const Message& message, std::string_view text);
  // Something that the broker said by itself, if there is any. Nothing, too, while somebody waits for an answer: this
  // and what follows never wait. The bell is rung for what that one keeps.
  [[nodiscard]] std::optional<Incoming> hear();
  // The same, of one topic only, what was kept first: the others are kept for hear().
  [[nodiscard]] std::optional<Incoming> hear_only(Topic topic);
  // The next introduction of a lane, in the order in which they came. All else is kept for hear(), and the end of a
  // lane comes before it.
  [[nodiscard]] std::optional<Incoming> hear_introduction();
  [[nodiscard]] bool over();
  void abandon() {
    conversation_.close();
    number_lock_.reset();
  }

 private:
  class Turn;

  void remember(const Message& said);
  [[nodiscard]] bool claim_ports(Conversation& conversation);
  void keep(Incoming in);
  [[nodiscard]] bool has_kept_end_of(std::uint32_t lane_number) const;
  // What is kept first. Whatever else arrives is kept.
  template <class Predicate>
  [[nodiscard]] std::optional<Incoming> hear_first(Predicate&& is_it);
  [[nodiscard]] std::optional<Incoming> answer_to(const Message& question, Topic answer, int milliseconds);

  std::mutex lock_;
  Conversation conversation_;
  Descriptor number_lock_;  // on our lane number: it outlives the broker
  int bell_ = -1;
  std::vector<BoundPort> ports_;  // ours: as often as they were bound, and whether we listen there
  std::deque<Incoming> kept_;
  bool silent_ = false;  // it has not answered the last call, and has said nothing since
};

// The path of weft-broker: WEFT_BROKER, or what lies beside this library; empty: there is none.
[[nodiscard]] std::string broker_program();

}  // namespace weft::real

// A lane that is no more than what it says to the broker.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <sys/eventfd.h>

#include "support/patience.h"
#include "world/real/broker/conversation.h"
#include "world/real/os/mapping.h"
#include "world/real/shm/shared_page.h"

namespace weft::real {

// No more than what a lane says to the broker.
struct BareLane {
  explicit BareLane(std::uint8_t host) : address(wire::Address::v4(127, 0, 7, host)) {
    Message hello(Topic::hello);
    hello.hello.address_count = 1;
    hello.hello.addresses[0] = address;
    talk.say(hello, {}, std::array{shared_status.get(), wake.get()});
    if (const auto in = talk.wait(kPatienceMilliseconds); in && in->message.code == 0)
      lane_number = in->message.lane_number;
  }
  // What it is answered when it wants to meet another.
  std::optional<Incoming> meet(const BareLane& other) {
    Message question(Topic::meet);
    question.local_peer = {.address = other.address, .lane_number = other.lane_number};
    if (!talk.say(question)) return std::nullopt;
    return news_of(other.lane_number);
  }
  // The next that it is told of this lane. Datagrams, and what it is told of others, are passed over: other tests have
  // lanes, too.
  std::optional<Incoming> news_of(std::uint32_t lane) {
    for (;;) {
      auto in = talk.wait(kPatienceMilliseconds);
      if (!in) return in;
      if (in->message.topic == Topic::met && in->message.local_peer.lane_number == lane) return in;
      datagrams += in->message.topic == Topic::datagram ? 1 : 0;
    }
  }

  wire::Address address;
  Descriptor shared_status = make_shared_memory("weft-status", sizeof(SharedStatus)), wake{eventfd(0, EFD_CLOEXEC)};
  Conversation talk = call_broker();
  std::uint32_t lane_number = 0;
  int datagrams = 0;  // that were passed over
};

}  // namespace weft::real

#include "world/real/lane/lane.h"

#include <cerrno>

#include "world/real/lane/engine.h"
#include "world/real/os/clock.h"

namespace weft::real {

Lane::Lane(const Settings& settings, LaneOwner& owner) : engine_(std::make_unique<Engine>(settings, owner, lock_)) {}
Lane::~Lane() = default;

tl::expected<void, Trouble> Lane::attach() {
  const std::lock_guard guard(lock_);
  return engine_->attach();
}

tl::expected<void, Trouble> Lane::play(host::StarRole role) {
  const std::lock_guard guard(lock_);
  return engine_->play(role);
}

host::Device& Lane::device() { return engine_->device(); }
Time Lane::now() const { return clock_now(); }
void Lane::rang(std::uint32_t slot) { engine_->rang(slot); }
void Lane::polled() { engine_->polled(); }
void Lane::poll() { engine_->poll(); }
void Lane::flush() { engine_->flush(); }
void Lane::abandon() { engine_->abandon(); }
void Lane::armed() { engine_->armed(); }
void Lane::rest() { engine_->rest(); }
Lane::MoveCounts Lane::moves() const { return engine_->moves(); }
std::uint8_t Lane::number() const { return engine_->lane_number(); }

tl::expected<std::uint16_t, Trouble> Lane::bind_service(std::uint16_t space, const wire::Address& address,
                                                        std::uint16_t port) {
  Message m(Topic::bind);
  m.service = {.space = space, .port = port, .on = 0, .address = address};
  const auto in = engine_->broker().call(m, Topic::bound);
  if (!in) return tl::unexpected(Trouble{ENETDOWN, "the broker does not answer"});
  if (in->message.code == ENOMEM) return tl::unexpected(Trouble{ENOMEM, "the broker's table of ports is full"});
  if (in->message.code != 0) return tl::unexpected(Trouble{in->message.code, "the port is in use"});
  return in->message.service.port;
}

void Lane::release_service(std::uint16_t space, const wire::Address& address, std::uint16_t port) {
  Message m(Topic::release);
  m.service = {.space = space, .port = port, .on = 0, .address = address};
  engine_->broker().say(m);
}

void Lane::listen(std::uint16_t space, const wire::Address& address, std::uint16_t port, bool on) {
  Message m(Topic::listen);
  m.service = {.space = space, .port = port, .on = on ? 1U : 0U, .address = address};
  engine_->broker().say(m);
}

bool Lane::reaches(const wire::Address& address, std::optional<wire::Qpn> qpn) {
  return engine_->reaches(address, qpn ? wire::lane_number(*qpn) : std::uint8_t{0});
}

void Lane::send_mad(const wire::Address& from, const wire::Address& to, std::span<const std::byte> mad) {
  const std::lock_guard guard(lock_);
  engine_->send_mad(from, to, mad);
}

}  // namespace weft::real

// The way to QP1 for librdmacm.so.1 (verbs/cm_port.h), over a context's lane.
#pragma once

#include <mutex>

#include "verbs/cm_port.h"

namespace weft::verbs {

class Context;

class CmPortOfContext final : public CmPort {
 public:
  explicit CmPortOfContext(Context& context) : context_(context) {}

  [[nodiscard]] std::span<const wire::Address> addresses() const override;
  [[nodiscard]] int open(CmReceiver& receiver) override;
  void close() override;
  [[nodiscard]] bool reaches(const wire::Address& address) override;
  [[nodiscard]] std::uint8_t lane_number() const override;
  [[nodiscard]] int bind_service(std::uint16_t space, const wire::Address& address, std::uint16_t& port) override;
  void release_service(std::uint16_t space, const wire::Address& address, std::uint16_t port) override;
  void listen(std::uint16_t space, const wire::Address& address, std::uint16_t port, bool on) override;
  void send_mad(const wire::Address& from, const wire::Address& to, std::span<const std::byte> mad) override;

  // From the lane.
  void deliver(const wire::Address& from, const wire::Address& to, std::span<const std::byte> mad);

 private:
  Context& context_;
  std::mutex delivering_;  // held while the receiver is told: after close() it hears nothing more
  CmReceiver* receiver_ = nullptr;
};

}  // namespace weft::verbs

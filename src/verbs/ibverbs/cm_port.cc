#include "verbs/ibverbs/cm_port.h"

#include <cerrno>
#include <exception>
#include <new>
#include <utility>

#include "verbs/ibverbs/context.h"
#include "verbs/ibverbs/errors.h"

namespace weft::verbs {
namespace {

// 0 or errno. Without memory it is not done. Not noexcept: the cancelling of a thread that waits in here unwinds its
// stack.
template <class Deed>
int without_exceptions(Deed&& deed) {
  try {
    return std::forward<Deed>(deed)();
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (const std::exception&) {  // the system gives no thread, no lock
    return EAGAIN;
  }
}

}  // namespace

// The table of addresses is made with the device and never changes: no lock.
std::span<const wire::Address> CmPortOfContext::addresses() const { return context_.device.config().gids; }

int CmPortOfContext::open(CmReceiver& receiver) {
  if (context_.lost()) return EIO;
  {
    const std::lock_guard lock(delivering_);
    if (receiver_ != nullptr) return EBUSY;
    receiver_ = &receiver;
  }
  const int code = without_exceptions([&] { return context_.attach(); });
  if (code != 0) close();
  return code;
}

void CmPortOfContext::close() {
  if (context_.lost()) return;
  const std::lock_guard lock(delivering_);
  receiver_ = nullptr;
}

void CmPortOfContext::deliver(const wire::Address& from, const wire::Address& to, std::span<const std::byte> mad) {
  const std::lock_guard lock(delivering_);
  if (receiver_ != nullptr) receiver_->on_mad(from, to, mad);
}

bool CmPortOfContext::reaches(const wire::Address& address) {
  bool yes = context_.lost();
  (void)without_exceptions([&] {
    yes = yes || context_.reaches(address);
    return 0;
  });
  return yes;
}

std::uint8_t CmPortOfContext::lane_number() const { return context_.lane.number(); }

int CmPortOfContext::bind_service(std::uint16_t space, const wire::Address& address, std::uint16_t& port) {
  if (context_.lost()) return EIO;
  return without_exceptions([&] {
    const auto bound = context_.lane.bind_service(space, address, port);
    if (!bound) return bound.error().code != 0 ? bound.error().code : EIO;
    port = *bound;
    return 0;
  });
}

void CmPortOfContext::release_service(std::uint16_t space, const wire::Address& address, std::uint16_t port) {
  if (context_.lost()) return;
  (void)without_exceptions([&] {
    context_.lane.release_service(space, address, port);
    return 0;
  });
}

void CmPortOfContext::listen(std::uint16_t space, const wire::Address& address, std::uint16_t port, bool on) {
  if (context_.lost()) return;
  (void)without_exceptions([&] {
    context_.lane.listen(space, address, port, on);
    return 0;
  });
}

// A datagram for which there is no memory is lost.
void CmPortOfContext::send_mad(const wire::Address& from, const wire::Address& to, std::span<const std::byte> mad) {
  if (context_.lost()) return;
  (void)without_exceptions([&] {
    context_.lane.send_mad(from, to, mad);
    return 0;
  });
}

}  // namespace weft::verbs

extern "C" weft::verbs::CmPort* weft_cm_port(ibv_context* context) {
  if (context == nullptr || !weft::verbs::is_ours(context)) return nullptr;
  return &weft::verbs::context_of(context).cm_port;
}

// Completion queues, their channels, and shared receive queues.
#include <algorithm>

#include "native/convert.h"
#include "native/inside.h"
#include "weft/completion_queue.h"
#include "weft/shared_receive_queue.h"

namespace weft {
namespace {

using native::refuse;

void describe(const nic::Completion& from, Completion& to) {
  to.id = from.id;
  to.status = static_cast<CompletionStatus>(from.status);
  to.kind = static_cast<CompletionKind>(from.kind);
  to.reason = Reason(static_cast<std::uint8_t>(from.reason));
  to.bytes = from.bytes;
  to.immediate.reset();
  to.invalidated.reset();
  if (from.has_immediate) to.immediate = from.immediate;
  if (from.has_invalidated) to.invalidated = Key(from.immediate);
  to.has_grh = from.has_grh;
  to.solicited = from.solicited;
  to.traffic_class = from.traffic_class;
  to.qpn = native::theirs(from.qpn);
  to.source_qpn = native::theirs(from.source_qpn);
  to.when = Duration::picoseconds(from.when);
}

}  // namespace

// ---- completion queues ----------------------------------------------------------------------------------------------

Result<> CompletionQueue::destroy(native::DeviceState& device, host::CompletionQueue* cq) {
  return native::gone(device, device.device->destroy(cq));
}

std::size_t CompletionQueue::poll(std::span<Completion> out) {
  host::CompletionQueue& cq = *id();
  std::size_t taken = 0;
  for (nic::Completion one; taken < out.size() && cq.poll({&one, 1}) == 1; ++taken) describe(one, out[taken]);
  return taken;
}

Result<> CompletionQueue::request_notify(bool solicited_only) {
  if (device_ == nullptr) return refuse(Error::closed);
  id_->request_notify(solicited_only);
  return {};
}

Result<> CompletionQueue::moderate(std::uint16_t count, Duration period) {
  if (device_ == nullptr) return refuse(Error::closed);
  return native::result_of(id_->moderate(count, period.in_picoseconds()));
}

Result<> CompletionQueue::resize(std::uint32_t entries) {
  if (device_ == nullptr) return refuse(Error::closed);
  return native::result_of(device_->device->resize(*id_, entries));
}

CqNumber CompletionQueue::number() const { return CqNumber(id()->number()); }
std::uint32_t CompletionQueue::capacity() const { return id()->capacity(); }
std::uint32_t CompletionQueue::waiting() const { return id()->waiting(); }
bool CompletionQueue::overflowed() const { return id()->overflowed(); }

// ---- channels -------------------------------------------------------------------------------------------------------

Result<> CompletionChannel::destroy(native::DeviceState& device, std::uint32_t channel) {
  return native::gone(device, device.device->destroy_channel(channel));
}

std::optional<CqNumber> CompletionChannel::next() {
  const host::CompletionQueue* cq = device().device->next_completion_event(id_);
  if (cq == nullptr) return std::nullopt;
  return CqNumber(cq->number());
}

// ---- shared receive queues ------------------------------------------------------------------------------------------

Result<> SharedReceiveQueue::destroy(native::DeviceState& device, host::SharedReceiveQueue* srq) {
  return native::gone(device, device.device->destroy(srq));
}

Result<> SharedReceiveQueue::post_receive(const ReceiveRequest& request) {
  if (device_ == nullptr) return refuse(Error::closed);
  native::Elements<nic::Sge> sges;
  if (!sges.assign(request.local.list())) return refuse(Error::invalid_argument);
  return native::result_of(id_->post({.id = request.id, .sges = sges.span()}));
}

Result<> SharedReceiveQueue::set_limit(std::uint32_t limit) {
  if (device_ == nullptr) return refuse(Error::closed);
  return native::result_of(id_->set_limit(limit));
}

SrqNumber SharedReceiveQueue::number() const { return SrqNumber(id()->number()); }
std::uint32_t SharedReceiveQueue::capacity() const { return id()->capacity(); }
std::uint32_t SharedReceiveQueue::max_sges() const { return id()->max_sges(); }
std::uint32_t SharedReceiveQueue::limit() const { return id()->limit(); }

}  // namespace weft

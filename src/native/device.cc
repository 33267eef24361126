#include "weft/device.h"

#include <bit>
#include <utility>

#include "native/bytecode.h"
#include "native/convert.h"
#include "native/inside.h"
#include "native/kernel_shape.h"

namespace weft {

using native::Inside;
using native::refuse;

namespace native {

Device open(DeviceState& state) {
  if (std::exchange(state.open, true)) detail::misuse("a device was opened twice");
  return Inside::adopt(state);
}

host::DeviceConfig config_of(const DeviceLimits& l) {
  host::DeviceConfig config;
  config.card.max_qps = l.max_queue_pairs;
  config.card.max_cqs = l.max_completion_queues;
  config.card.max_srqs = l.max_shared_receive_queues;
  // One place of the table is never given away.
  config.card.region_slot_bits = static_cast<std::uint32_t>(std::bit_width(l.max_regions));
  config.card.window_packets = l.window_packets;
  config.mtu = l.max_mtu;
  config.max_queue_entries = l.max_queue_entries;
  config.max_cq_entries = l.max_completion_entries;
  config.max_sges = l.max_sges;
  config.max_inline = l.max_inline_bytes;
  config.max_reads = l.max_reads;
  return config;
}

}  // namespace native

Result<> Device::destroy(native::DeviceState& device, std::uint32_t) {
  if (device.objects != 0) return refuse(Error::busy);
  device.open = false;
  return {};
}

Result<Domain> Device::create_domain() {
  if (device_ == nullptr) return refuse(Error::closed);
  return native::adopt<Domain>(*device_, device_->device->create_domain());
}

Result<CompletionQueue> Device::create_completion_queue(std::uint32_t entries, const CompletionChannel* channel) {
  if (device_ == nullptr) return refuse(Error::closed);
  if (channel != nullptr && Inside::device(*channel) != device_) return refuse(Error::invalid_argument);
  return native::adopt<CompletionQueue>(
      *device_, device_->device->create_cq(entries, channel != nullptr ? Inside::id(*channel) : nic::kNone));
}

Result<CompletionChannel> Device::create_completion_channel() {
  if (device_ == nullptr) return refuse(Error::closed);
  return native::adopt<CompletionChannel>(*device_, device_->device->create_channel());
}

std::optional<Event> Device::next_event() {
  const std::optional<nic::HostEvent> event = device().device->next_async_event();
  if (!event) return std::nullopt;
  Event e{.kind = static_cast<Event::Kind>(event->kind)};
  switch (event->kind) {
    case nic::EventKind::cq_error: e.cq = CqNumber(event->number); break;
    case nic::EventKind::srq_limit_reached:
    case nic::EventKind::srq_error: e.srq = SrqNumber(event->number); break;
    default: e.qpn = Qpn(event->number); break;
  }
  return e;
}

Result<> Device::deploy(const weft_kernel& kernel) {
  if (device_ == nullptr) return refuse(Error::closed);
  return native::result_of(device_->device->deploy(native::ours(kernel)));
}

Result<> Device::deploy(const weft_bytecode& bytecode, weft_bytecode_verdict* verdict) {
  if (device_ == nullptr) return refuse(Error::closed);
  const bytecode::MadeKernel made = native::make_kernel(bytecode, verdict);
  if (made.verdict.fault != bytecode::BytecodeFault::none)
    return native::result_of(native::error_of(made.verdict.fault));
  return native::result_of(device_->device->deploy(made.kernel));
}

Result<> Device::remove_kernel(std::uint64_t opcode) {
  if (device_ == nullptr) return refuse(Error::closed);
  return native::result_of(device_->device->remove_kernel(opcode));
}

std::vector<weft_kernel> Device::kernels() const {
  std::vector<weft_kernel> all;
  for (const nic::Kernel& k : device().device->kernels()) all.push_back(native::theirs(k));
  return all;
}

Address Device::address(std::uint8_t index) const {
  const auto& gids = device().device->config().gids;
  if (index >= gids.size()) detail::misuse("a device was asked for an address that it does not have");
  return native::theirs(gids[index]);
}

std::uint8_t Device::addresses() const { return static_cast<std::uint8_t>(device().device->config().gids.size()); }

DeviceLimits Device::limits() const {
  const host::DeviceConfig& config = device().device->config();
  return {.max_queue_pairs = config.card.max_qps,
          .max_completion_queues = config.card.max_cqs,
          .max_shared_receive_queues = config.card.max_srqs,
          .max_regions = (1U << config.card.region_slot_bits) - 1,
          .max_queue_entries = config.max_queue_entries,
          .max_completion_entries = config.max_cq_entries,
          .max_sges = config.max_sges,
          .max_inline_bytes = config.max_inline,
          .max_mtu = config.mtu,
          .max_reads = config.max_reads,
          .window_packets = config.card.window_packets};
}

Psn Device::random_psn() { return native::theirs(device().device->random_psn()); }

std::vector<Counter> Device::counters() const {
  const nic::Counters& counted = device().device->card().counters;
  std::vector<Counter> all;
  all.reserve(nic::kCounterNames.size() + kRefusals.size());
  for (std::size_t i = 0; i < nic::kCounterNames.size(); ++i) {
    all.push_back({nic::kCounterNames[i], nic::kCounterMeanings[i], counted.get(static_cast<nic::Counter>(i))});
  }
  for (std::size_t i = 1; i < kRefusals.size(); ++i) {  // 0 is no refusal
    all.push_back({kRefusals[i].counter, kRefusals[i].meaning, counted.get(static_cast<Refusal>(i))});
  }
  return all;
}

std::optional<std::uint64_t> Device::counter(std::string_view name) const {
  for (const Counter& one : counters()) {
    if (one.name == name) return one.value;
  }
  return std::nullopt;
}

}  // namespace weft

#include "host/memory_use.h"

namespace weft::host {

MemoryUse memory_use(const Device& device) {
  const nic::CardState& card = device.card();
  MemoryUse use;
  device.for_each_qp([&use](const QueuePair& qp) {
    ++use.queue_pairs;
    use.rings += qp.ring_bytes();
    const StarRole role = qp.options().role;
    use.stateless += role == StarRole::stateless ? 1 : 0;
    if (role != StarRole::none) use.star += qp.block() != nullptr ? sizeof(nic::StatelessBlock) : sizeof(nic::StarLink);
  });
  device.for_each_queue([&use](const auto& queue) { use.rings += queue.ring_bytes(); });
  card.memory.for_each([&use](const nic::Region& region) {
    if (region.kind != nic::RegionKind::region) {
      ++use.windows;
      return;
    }
    ++use.regions;
    use.registered += region.length;
  });
  use.context_state = (use.queue_pairs - use.stateless) * nic::kContextStateBytes;
  use.context_table = std::uint64_t{card.contexts.size()} * sizeof(nic::Context);
  use.scheduler =
      card.ready.bytes() + card.owing.bytes() + card.timers.bytes() + card.cq_timers.bytes() + card.peers.bytes();
  use.region_table = std::uint64_t{card.memory.size()} * sizeof(nic::Region);
  use.queue_tables = card.cqs.size() * sizeof(nic::CompletionRing) + card.srqs.size() * sizeof(nic::SharedReceiveRing);
  use.caches = card.works.bytes() + card.receives.bytes() + card.translations.bytes();
  if (card.recent_data != nullptr) use.caches += card.recent_data->bytes();
  use.translation_table = device.translation_bytes();
  use.recovery = device.retransmission().bytes() + card.reorder_notes.used() * sizeof(nic::ReorderNote);
  return use;
}

}  // namespace weft::host

#include "receiver.h"

#include <cstring>
#include <vector>

#include "common/address.h"
#include "common/card.h"
#include "introduction.h"

namespace streams {
namespace {

weft_kernel_next drop(weft_kernel_step* step) {
  return step->event == WEFT_KERNEL_CALL ? WEFT_KERNEL_DONE : WEFT_KERNEL_WAIT;
}

void write_table(std::byte* memory) {
  for (std::size_t p = 0; p < kPartitions; ++p) {
    const weft_partition place{examples::number_of(memory + (p + 1) * kPartitionBytes), kPartitionBytes};
    std::memcpy(memory + p * sizeof place, &place, sizeof place);
  }
}

}  // namespace

void receive(const examples::Socket& sender) {
  examples::Card card(64);
  std::vector<std::byte> memory(kReceiverBytes);
  write_table(memory.data());
  const ibv_mr* const mr = card.register_memory(memory);
  for (const char* const name : {"filter", "distinct", "checksum", "shuffle"}) card.deploy(name);
  card.deploy({.opcode = kDropped,
               .name = "dropped",
               .step = &drop,
               .state_bytes = 0,
               .most_steps = 1,
               .instances = 1,
               .context = nullptr});
  const examples::QueuePair qp = card.make_queue_pair(examples::Calls::serves);
  (void)introduce(sender, card, qp, *mr);
  std::byte end{};
  (void)sender.read_into(end);
}

}  // namespace streams

// Answers of kernels, as they come back to the caller: WRITEs of one packet whose first bytes are a ReplyHead. In both
// dialects they are carried out in their turn, when all that the kernel has answered before is in its place.
#pragma once

#include <atomic>
#include <cstring>

#include "nic/completions.h"
#include "nic/kernels/kernel.h"
#include "nic/rc/admit.h"

namespace weft::nic {

struct ReplyPlace {
  std::byte* at = nullptr;
  std::uint32_t bytes = 0;  // that the kernel has answered, this packet's and those before it
};

template <World W>
[[nodiscard, gnu::noinline]] Admission admit_reply(Core<W>& core, const Context& c, const wire::Packet& p,
                                                   ReplyPlace& place) {
  const auto bytes = p.payload.near();
  if (bytes.size() < sizeof(ReplyHead)) return invalid(Refusal::kernel_bad_reply);
  ReplyHead head;
  std::memcpy(&head, bytes.data(), sizeof head);
  place.bytes = head.bytes;
  const wire::Reth target{p.headers.reth.address, p.headers.reth.key, static_cast<std::uint32_t>(bytes.size())};
  return admit_write(core, c, target, place.at);
}

// In one piece, if it lies so that the machine can.
template <World W>
void place_head(Core<W>& core, std::byte* at, std::span<const std::byte> bytes) {
  std::atomic_thread_fence(std::memory_order_release);
  if (std::uint64_t* word = word_at(at)) {
    std::uint64_t head = 0;
    std::memcpy(&head, bytes.data(), sizeof head);
    core.world.write(BusWrite::atomic, word, sizeof *word);
    std::atomic_ref(*word).store(head, std::memory_order_release);
  } else {
    core.world.dma_write(at, bytes);
  }
}

// The head comes last: a program that sees it may read the rest.
template <World W>
[[gnu::noinline]] void place_reply(Core<W>& core, const wire::Packet& p, const ReplyPlace& place) {
  const auto bytes = p.payload.near();
  const auto rest = bytes.subspan(sizeof(ReplyHead));
  if (!rest.empty()) core.world.dma_write(place.at + sizeof(ReplyHead), rest);
  place_head(core, place.at, bytes.first(sizeof(ReplyHead)));
}

template <World W>
void finish_reply(Completions<W>& completions, Context& c, const wire::Headers& h, std::uint32_t bytes) {
  completions.finish_receive(c, {.kind = CompletionKind::receive_write_immediate, .bytes = bytes, .headers = &h});
}

}  // namespace weft::nic

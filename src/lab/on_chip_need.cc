#include "lab/on_chip_need.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "lab/quantity.h"
#include "nic/on_chip.h"

namespace weft::lab {
namespace {

struct Part {
  std::string_view name;
  std::uint64_t bytes;
};

std::array<Part, 6> parts(const Profile& profile) {
  const nic::CardConfig& card = profile.device.card;
  const sim::CacheSpec& contexts = profile.chip.contexts;
  // Without a cache every context is on chip; as large as this card's are, if the profile does not say.
  const std::uint64_t each = contexts.entry_bytes != 0 ? contexts.entry_bytes : sizeof(nic::Context);
  const std::uint64_t context_bytes = each * (contexts.entries != 0 ? contexts.entries : card.max_qps);
  return {{{"contexts", context_bytes},
           {"translations", card.mtt_cache_bytes},
           {"work entries", std::uint64_t{card.work_cache_bytes} + card.receive_cache_bytes},
           {"scheduler", nic::scheduler_bytes(card.max_qps)},
           {"receive buffer", profile.chip.receive_buffer_bytes},
           {"transmit buffer", profile.chip.transmit_buffer_bytes}}};
}

}  // namespace

std::uint64_t on_chip_need(const Profile& profile) {
  std::uint64_t sum = 0;
  for (const Part& part : parts(profile)) sum += part.bytes;
  return sum;
}

std::string does_not_fit(const Profile& profile) {
  const auto text = [](std::uint64_t bytes) { return quantity_text(Kind::size, static_cast<double>(bytes)); };
  const std::uint64_t need = on_chip_need(profile);
  if (profile.chip.sram_bytes == 0 || need <= profile.chip.sram_bytes) return {};
  std::string sum;
  for (const Part& part : parts(profile)) {
    if (part.bytes != 0) sum += fmt::format("{}{} {}", sum.empty() ? "" : ", ", part.name, text(part.bytes));
  }
  return fmt::format("{} on chip are needed ({}), and sram_bytes is {}", text(need), sum,
                     text(profile.chip.sram_bytes));
}

}  // namespace weft::lab

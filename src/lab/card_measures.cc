#include "lab/card_measures.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <vector>

#include "host/device.h"
#include "lab/profile_shelf.h"
#include "nic/on_chip.h"
#include "wire/frame.h"
#include "wire/star.h"
#include "world/sim/chip/shell.h"

namespace weft::lab {
namespace {

using nic::Design;
using nic::Structure;
using Measured = std::optional<double>;

constexpr std::uint32_t kQps = 10'000;  // the paper's "10K"

double megabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / nic::kMegabyte; }

template <Design kDesign, Structure kStructure>
Measured on_chip() {
  return megabytes(nic::on_chip_bytes(kDesign, kStructure, kQps));
}
Measured reordering_gigabytes() {
  return megabytes(nic::on_chip_bytes(Design::conventional, Structure::reordering_buffers, kQps)) / 1024;
}
Measured scheduler() { return megabytes(nic::scheduler_bytes(kQps)); }
Measured total() { return megabytes(nic::on_chip_total(Design::srnic, kQps)); }
Measured schedule_queue() {
  return static_cast<double>(nic::on_chip_bytes(Design::srnic, Structure::schedule_queue, kQps)) / nic::kKilobyte;
}
// Mellanox's CX-5, in the paper: 256 queue pairs before it slows down, and 2 MB.
Measured connections_ratio() { return (kQps / *total()) / (256 / 2.0); }

// ---- headers: frames are encoded, and what is not payload counted ------------------------------------------------

constexpr std::size_t kPayload = 1024;

Measured header_bytes(wire::Opcode opcode) {
  const std::vector<std::byte> payload(kPayload);
  std::vector<std::byte> datagram(2 * kPayload), frame(2 * kPayload);
  wire::Flow flow;
  flow.source = wire::Address::v4(192, 0, 2, 1);
  flow.destination = wire::Address::v4(192, 0, 2, 2);
  wire::Headers headers;
  headers.bth.opcode = opcode;
  const std::size_t bytes = wire::encode_datagram(headers, payload, flow, datagram);
  const std::size_t whole = wire::build_frame(flow, std::span(datagram).first(bytes), frame);
  if (bytes == 0 || whole == 0) return std::nullopt;
  return static_cast<double>(whole - kPayload);
}
Measured roce_header() { return header_bytes(wire::Opcode::rc_send_middle); }
Measured send_header() { return header_bytes(wire::Opcode::srnic_send_middle); }
Measured write_header() { return header_bytes(wire::Opcode::srnic_write_middle); }

// How much less payload fits into the same bits, in per cent.
Measured goodput_change(Measured header) {
  if (!header) return std::nullopt;
  return ((kPayload + *roce_header()) / (kPayload + *header) - 1) * 100;
}
Measured send_goodput() { return goodput_change(send_header()); }
Measured write_goodput() { return goodput_change(write_header()); }

constexpr auto kConventional = Design::conventional;
constexpr auto kSrnic = Design::srnic;
// What a card keeps for stateless connections, which are made for this: the slots that are taken.
Measured star_state() {
  class Zeros final : public host::RandomSource {
    std::uint64_t next() override { return ++value_; }
    std::uint64_t value_ = 1;
  } numbers;
  constexpr std::uint32_t kConnections = 1000;
  host::Device device({.gids = {wire::Address::v4(10, 0, 0, 1)}, .max_stateless = kConnections}, numbers);
  const host::Domain domain = *device.create_domain();
  host::CompletionQueue* cq = *device.create_cq(1);
  for (std::uint32_t i = 0; i < kConnections; ++i) {
    if (!device.create_qp(domain, {.send_cq = cq, .receive_cq = cq, .role = host::StarRole::stateless})) return {};
  }
  std::size_t taken = 0;
  for (std::uint32_t slot = 0; slot < device.card().contexts.size(); ++slot) {
    if (device.card().contexts[slot].qpn.raw() != 0) taken += sizeof(nic::Context);
  }
  return static_cast<double>(taken) / kConnections;
}
Measured star_header() { return static_cast<double>(wire::StarHeader::kBytes); }
Measured star_types() { return static_cast<double>(wire::kStarTypes); }
Measured star_guard() { return static_cast<double>(wire::StarGuard::kBytes); }

// StRoM's table of large pages: what it reaches, and in how many parts a read of 4 KB is made that begins so many bytes
// before the end of a page.
std::optional<sim::ChipSpec> strom_chip() {
  ProfileShelf shelf;
  const auto profile = shelf.find("strom-10g");
  return profile ? std::optional(profile->chip) : std::nullopt;
}
Measured tlb_reach() {
  const auto chip = strom_chip();
  if (!chip) return std::nullopt;
  return static_cast<double>(chip->tlb.entries * chip->tlb.page_bytes) / (1U << 30);
}
template <std::size_t kBefore>
Measured tlb_parts() {
  const auto chip = strom_chip();
  if (!chip) return std::nullopt;
  sim::Shell shell(*chip, 1, 1);
  const auto* page_end = std::bit_cast<const std::byte*>(static_cast<std::uintptr_t>(chip->tlb.page_bytes));
  shell.begin(0, 0);
  shell.read(nic::BusRead::payload, page_end - kBefore, 4096);
  return static_cast<double>(shell.splits() + 1);
}

constexpr std::array kMeasures{
    CardMeasure{"conventional_receive_buffer", "MB at 10 000 queue pairs, as the next ones",
                on_chip<kConventional, Structure::receive_buffer>},
    CardMeasure{"conventional_qpc", "MB", on_chip<kConventional, Structure::contexts>},
    CardMeasure{"conventional_mtt", "MB", on_chip<kConventional, Structure::translations>},
    CardMeasure{"conventional_wqe_cache", "MB", on_chip<kConventional, Structure::work_caches>},
    CardMeasure{"conventional_bitmap", "MB", on_chip<kConventional, Structure::bitmaps>},
    CardMeasure{"conventional_reordering", "GB", reordering_gigabytes},
    CardMeasure{"conventional_requests", "MB", on_chip<kConventional, Structure::outstanding_requests>},
    CardMeasure{"receive_buffer", "MB", on_chip<kSrnic, Structure::receive_buffer>},
    CardMeasure{"qpc", "MB", on_chip<kSrnic, Structure::contexts>},
    CardMeasure{"mtt", "MB", on_chip<kSrnic, Structure::translations>},
    CardMeasure{"wqe_cache", "MB", on_chip<kSrnic, Structure::work_caches>},
    CardMeasure{"bitmap", "MB", on_chip<kSrnic, Structure::bitmaps>},
    CardMeasure{"reordering", "MB", on_chip<kSrnic, Structure::reordering_buffers>},
    CardMeasure{"requests", "MB", on_chip<kSrnic, Structure::outstanding_requests>},
    CardMeasure{"scheduler", "MB: schedule queue, acknowledgement queue and timers", scheduler},
    CardMeasure{"total", "MB: all that is on chip", total},
    CardMeasure{"schedule_queue", "KB", schedule_queue},
    CardMeasure{"connections_ratio", "queue pairs for each MB, against 256 in 2 MB", connections_ratio},
    CardMeasure{"roce_header", "B of a frame's headers, in a message's middle", roce_header},
    CardMeasure{"send_header", "B, srnic", send_header},
    CardMeasure{"write_header", "B, srnic", write_header},
    CardMeasure{"send_goodput", "% that srnic's header changes goodput by at 1024 bytes", send_goodput},
    CardMeasure{"write_goodput", "%", write_goodput},
    CardMeasure{"star_state", "B on a card for a connection that is stateless there", star_state},
    CardMeasure{"star_header", "B of StaR's header", star_header},
    CardMeasure{"star_types", "types of StaR packets", star_types},
    CardMeasure{"star_guard", "B more with a capability", star_guard},
    CardMeasure{"tlb_reach", "GB that StRoM's TLB has translations for", tlb_reach},
    CardMeasure{"tlb_parts_across", "of a read of 4 KB, 1 KB before the end of a page", tlb_parts<1024>},
    CardMeasure{"tlb_parts_inside", "of a read of 4 KB that ends with its page", tlb_parts<4096>}};

}  // namespace

std::span<const CardMeasure> card_measures() { return kMeasures; }

const CardMeasure* find_card_measure(std::string_view name) {
  const auto* found = std::find_if(kMeasures.begin(), kMeasures.end(), [&](const auto& m) { return m.name == name; });
  return found == kMeasures.end() ? nullptr : found;
}

}  // namespace weft::lab

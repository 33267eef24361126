#include "cli/reproduce/measure.h"

#include <algorithm>
#include <array>
#include <vector>

#include "nic/on_chip.h"
#include "wire/frame.h"

namespace weft::cli {
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

struct Way {
  std::string_view claim, row;
  Measured (*measure)();
};

constexpr auto kConventional = Design::conventional;
constexpr auto kSrnic = Design::srnic;
constexpr std::array kWays{
    Way{"srnic-table1", "conventional receive buffer", on_chip<kConventional, Structure::receive_buffer>},
    Way{"srnic-table1", "conventional QPC", on_chip<kConventional, Structure::contexts>},
    Way{"srnic-table1", "conventional MTT", on_chip<kConventional, Structure::translations>},
    Way{"srnic-table1", "conventional WQE cache", on_chip<kConventional, Structure::work_caches>},
    Way{"srnic-table1", "conventional bitmap", on_chip<kConventional, Structure::bitmaps>},
    Way{"srnic-table1", "conventional reordering buffer", reordering_gigabytes},
    Way{"srnic-table1", "conventional outstanding request table",
        on_chip<kConventional, Structure::outstanding_requests>},
    Way{"srnic-table1", "SRNIC receive buffer", on_chip<kSrnic, Structure::receive_buffer>},
    Way{"srnic-table1", "SRNIC QPC", on_chip<kSrnic, Structure::contexts>},
    Way{"srnic-table1", "SRNIC MTT", on_chip<kSrnic, Structure::translations>},
    Way{"srnic-table1", "SRNIC WQE cache", on_chip<kSrnic, Structure::work_caches>},
    Way{"srnic-table1", "SRNIC bitmap", on_chip<kSrnic, Structure::bitmaps>},
    Way{"srnic-table1", "SRNIC reordering buffer", on_chip<kSrnic, Structure::reordering_buffers>},
    Way{"srnic-table1", "SRNIC outstanding request table", on_chip<kSrnic, Structure::outstanding_requests>},
    Way{"srnic-table2", "QPC", on_chip<kSrnic, Structure::contexts>},
    Way{"srnic-table2", "MTT", on_chip<kSrnic, Structure::translations>},
    Way{"srnic-table2", "receive buffer", on_chip<kSrnic, Structure::receive_buffer>},
    Way{"srnic-table2", "SQ scheduler", scheduler},
    Way{"srnic-table2", "total", total},
    Way{"srnic-header", "RoCE header", roce_header},
    Way{"srnic-header", "SEND header", send_header},
    Way{"srnic-header", "WRITE header", write_header},
    Way{"srnic-header", "SEND goodput change", send_goodput},
    Way{"srnic-header", "WRITE goodput change", write_goodput},
    Way{"srnic-schedq", "schedule queue", schedule_queue},
    Way{"srnic-18x", "ratio", connections_ratio}};

const Way* find(std::string_view claim, std::string_view row) {
  const auto* found =
      std::find_if(kWays.begin(), kWays.end(), [&](const Way& w) { return w.claim == claim && w.row == row; });
  return found == kWays.end() ? nullptr : found;
}

}  // namespace

bool can_measure(std::string_view claim, std::string_view row) { return find(claim, row) != nullptr; }

Measured measure(std::string_view claim, std::string_view row) {
  const Way* way = find(claim, row);
  return way == nullptr ? std::nullopt : way->measure();
}

}  // namespace weft::cli

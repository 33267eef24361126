// Writes a capture of four packets for tap_test.py. Usage: tap_sample FILE
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "wire/frame.h"
#include "wire/refusal.h"
#include "world/real/port/tap.h"

namespace weft {
namespace {

std::vector<std::byte> write_packet(const wire::Flow& flow, std::uint32_t psn) {
  wire::Headers headers;
  headers.bth.opcode = wire::Opcode::rc_write_only;
  headers.bth.destination = wire::Qpn(0x1234);
  headers.bth.psn = wire::Psn(psn);
  headers.reth = {.address = 0xABCD'0000, .key = wire::Key(0x77), .length = 21};
  const std::vector<std::byte> payload(21, std::byte{0x5A});
  std::vector<std::byte> out(wire::datagram_bytes(headers.bth.opcode, payload.size()));
  out.resize(wire::encode_datagram(headers, payload, flow, out));
  return out;
}

int sample(const std::string& path) {
  tl::expected<real::Tap, std::string> tap = real::Tap::open(path, real::seconds(100));
  if (!tap) return std::fprintf(stderr, "%s\n", tap.error().c_str()), 1;
  wire::Flow v4, v6;
  v4.source = wire::Address::v4(127, 0, 0, 1);
  v4.destination = wire::Address::v4(127, 0, 0, 2);
  v4.traffic_class = 3;
  v6.source = {{0xFD, 1}};
  v6.destination = {{0xFD, 2}};

  tap->packet(real::seconds(100), real::Direction::outbound, v4, write_packet(v4, 1));
  tap->packet(real::seconds(100) + real::nanoseconds(1'234'567), real::Direction::outbound, v4, write_packet(v4, 2),
              "dropped: loss (impairment)");
  const RefusalText& why = text(Refusal::bad_icrc);
  tap->packet(real::seconds(101), real::Direction::inbound, v6, write_packet(v6, 3),
              std::string("refused: ").append(why.counter).append(": ").append(why.meaning));
  tap->packet(real::seconds(102), real::Direction::inbound, v6, std::vector<std::byte>(3), "refused: rx_truncated");
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return argc == 2 ? weft::sample(argv[1]) : 2; }

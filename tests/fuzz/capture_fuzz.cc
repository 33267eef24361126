// Packets of any flow, bytes, comment and time go through the tap, and what it has written is read with a reader of its
// own, after the draft (draft-ietf-opsawg-pcapng). These hold:
//   * the file is a section, an interface and one block for each packet that fits a UDP datagram, and nothing else;
//   * a block is a multiple of four bytes long, says so at both ends, and its options stay inside of it;
//   * a packet is found again with its bytes, its direction, its comment as far as that is kept, and its time;
//   * Ethernet, IP and UDP around it say what its flow says, and agree in their lengths.
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz_bytes.h"
#include "wire/frame.h"
#include "world/real/port/pcapng.h"
#include "world/real/port/tap.h"

namespace weft::real {
namespace {

using fuzz::FuzzBytes;
using fuzz::require;

struct Captured {
  Time now = 0;
  Direction direction{};
  wire::Flow flow{};
  std::vector<std::byte> payload;
  std::string comment;
};

// ---- reading

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  [[nodiscard]] bool over() const { return rest_.empty(); }
  template <class Number>
  Number number() {
    Number value{};
    std::memcpy(&value, bytes(sizeof value).data(), sizeof value);
    return value;
  }
  std::span<const std::byte> bytes(std::size_t count) {
    require(count <= rest_.size(), "a part goes beyond its whole");
    const auto out = rest_.first(count);
    rest_ = rest_.subspan(count);
    return out;
  }
  std::span<const std::byte> padded(std::size_t count) {
    const auto out = bytes(count);
    for (const std::byte pad : bytes(-count & 3)) require(pad == std::byte{0}, "padding that is not zero");
    return out;
  }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }

 private:
  std::span<const std::byte> rest_;
};

struct Block {
  std::uint32_t type = 0;
  std::span<const std::byte> body;
};

Block next_block(Reader& file) {
  Block out;
  out.type = file.number<std::uint32_t>();
  const auto length = file.number<std::uint32_t>();
  require(length % 4 == 0 && length >= 12, "a block of no length");
  out.body = file.bytes(length - 12);
  require(file.number<std::uint32_t>() == length, "a block whose ends differ");
  return out;
}

struct Options {
  std::string comment;
  std::uint32_t flags = 0;
};

Options options_in(Reader& body, std::uint16_t flags_code) {
  Options out;
  for (;;) {
    const auto code = body.number<std::uint16_t>(), bytes = body.number<std::uint16_t>();
    const auto value = body.padded(bytes);
    if (code == 0) break;
    if (code == 1) out.comment.assign(static_cast<const char*>(static_cast<const void*>(value.data())), value.size());
    if (code == flags_code && bytes == 4) std::memcpy(&out.flags, value.data(), 4);
  }
  require(body.left() == 0, "something behind the last option");
  return out;
}

std::uint16_t big_endian(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[at]) << 8 |
                                    std::to_integer<unsigned>(bytes[at + 1]));
}

bool equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

void check_frame(std::span<const std::byte> frame, const Captured& want) {
  const bool v4 = want.flow.source.is_v4();
  const std::size_t ip = 14, udp = ip + (v4 ? 20 : 40), payload = udp + 8;
  require(frame.size() == payload + want.payload.size(), "a frame of another length");
  require(big_endian(frame, 12) == (v4 ? 0x0800 : 0x86DD), "a frame of another kind");
  require(big_endian(frame, v4 ? ip + 2 : ip + 4) == frame.size() - (v4 ? ip : udp), "an IP packet of another length");
  require(big_endian(frame, udp + 4) == frame.size() - udp, "a datagram of another length");
  require(big_endian(frame, udp) == want.flow.source_port && big_endian(frame, udp + 2) == wire::kRocePort,
          "a datagram of other ports");
  const std::size_t address = v4 ? 4 : 16;
  const auto source = std::as_bytes(std::span(want.flow.source.bytes)).last(address);
  const auto destination = std::as_bytes(std::span(want.flow.destination.bytes)).last(address);
  require(equal(frame.subspan(v4 ? ip + 12 : ip + 8, address), source), "a packet from somebody else");
  require(equal(frame.subspan(v4 ? ip + 16 : ip + 24, address), destination), "a packet to somebody else");
  require(equal(frame.subspan(payload), want.payload), "other bytes");
}

std::uint64_t check_packet(const Block& block, const Captured& want) {
  require(block.type == 6, "a block of another kind");
  Reader body(block.body);
  require(body.number<std::uint32_t>() == 0, "a packet of another interface");
  const std::uint64_t high = body.number<std::uint32_t>(), low = body.number<std::uint32_t>();
  const auto kept = body.number<std::uint32_t>(), whole = body.number<std::uint32_t>();
  require(kept == whole, "a packet that was cut");
  check_frame(body.padded(kept), want);
  const Options options = options_in(body, 2);
  require(options.comment == want.comment.substr(0, pcapng::kMaxComment), "another comment");
  require((options.flags & 3) == (want.direction == Direction::inbound ? 1U : 2U), "another direction");
  return high << 32 | low;
}

void check_file(std::span<const std::byte> bytes, const std::vector<Captured>& packets) {
  Reader file(bytes);
  require(next_block(file).type == 0x0A0D'0D0A, "no section");
  require(next_block(file).type == 1, "no interface");
  std::uint64_t offset = 0;
  for (const Captured& packet : packets) {
    const std::uint64_t at = check_packet(next_block(file), packet);
    const std::uint64_t since = at - static_cast<std::uint64_t>(packet.now / real::nanoseconds(1));
    require(&packet == &packets.front() || since == offset, "another time");
    offset = since;
  }
  require(file.over(), "something behind the last packet");
}

// ---- writing

wire::Address address(FuzzBytes& choices, bool v4) {
  if (v4) return wire::Address::v4(10, choices.number<std::uint8_t>(), 0, choices.number<std::uint8_t>());
  wire::Address a{{0xFD}};
  for (std::size_t i = 8; i < 16; ++i) a.bytes[i] = choices.number<std::uint8_t>();
  return a;
}

// Bytes of the input, over and over.
template <class Container>
Container some(FuzzBytes& choices, std::size_t most) {
  const std::size_t size = choices.one_in(8) ? choices.next(most + 1) : choices.next(100);
  const auto pattern = choices.take(1 + choices.next(16));
  Container out(size, {});
  for (std::size_t i = 0; i < size && !pattern.empty(); ++i) {
    out[i] = static_cast<typename Container::value_type>(pattern[i % pattern.size()]);
  }
  return out;
}

Captured packet(FuzzBytes& choices, Time now) {
  const bool v4 = choices.one_in(2);
  Captured p;
  p.now = now;
  p.direction = choices.one_in(2) ? Direction::inbound : Direction::outbound;
  p.flow = {.source = address(choices, v4),
            .destination = address(choices, v4),
            .flow_label = choices.number<std::uint32_t>() & 0xF'FFFF,
            .source_port = choices.number<std::uint16_t>(),
            .traffic_class = choices.number<std::uint8_t>(),
            .hop_limit = choices.number<std::uint8_t>()};
  p.payload = some<std::vector<std::byte>>(choices, 66'000);
  p.comment = some<std::string>(choices, 3000);
  return p;
}

void run(FuzzBytes choices) {
  static const int file = memfd_create("weft.pcapng", MFD_CLOEXEC);
  std::vector<Captured> packets;
  {
    Time now = static_cast<Time>(choices.next(1ULL << 40));
    auto tap = Tap::open("/proc/self/fd/" + std::to_string(file), now);
    require(tap.has_value(), "a capture can be begun");
    for (int most = 64; most > 0 && !choices.over(); --most) {
      now += static_cast<Time>(choices.next(1ULL << 38));
      Captured p = packet(choices, now);
      tap->packet(p.now, p.direction, p.flow, p.payload, p.comment);
      if (p.payload.size() <= wire::kMaxUdpPayloadBytes) packets.push_back(std::move(p));
      if (choices.one_in(8)) tap->flush();
      require(tap->next_deadline() > now, "it is late");
    }
    require(tap->trouble().empty(), "the file can be written");
  }
  struct stat facts {};
  require(fstat(file, &facts) == 0, "there is a file");
  std::vector<std::byte> bytes(static_cast<std::size_t>(facts.st_size));
  require(pread(file, bytes.data(), bytes.size(), 0) == facts.st_size, "the file can be read");
  check_file(bytes, packets);
}

}  // namespace
}  // namespace weft::real

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  weft::real::run({data, size});
  return 0;
}

#include "wire/codec.h"

#include "base/canary.h"
#include "wire/star.h"

namespace weft::wire {
namespace {

// Writes the header and returns the position behind it.
template <class Header>
inline std::byte* write(std::byte* at, const Header& header) {
  header.encode(std::span<std::byte, Header::kBytes>(at, Header::kBytes));
  return at + Header::kBytes;
}

template <class Header>
inline const std::byte* read(const std::byte* at, Header& header) {
  header = Header::decode(std::span<const std::byte, Header::kBytes>(at, Header::kBytes));
  return at + Header::kBytes;
}

// Acknowledgements, and responses without more: besides packets with nothing but a BTH, most in roce are these.
constexpr std::size_t kAckBytes = Bth::kBytes + Aeth::kBytes;

constexpr bool every_header_fits() {
  for (const auto& o : kOpcodes) {
    if (o.service != Service::none && (o.header_bytes > kMaxHeaderBytes || o.header_bytes % 4 != 0)) return false;
  }
  return true;
}
static_assert(every_header_fits());

}  // namespace

// IBA chapter 9: extensions stand in the order DETH, RETH, AtomicETH, AETH, AtomicAckETH, ImmDt, IETH. In srnic the
// Sequence stands before them, the target in the place of the RETH and the ACK in that of the AETH.
std::size_t encode_headers(const Headers& headers, std::span<std::byte, kMaxHeaderBytes> out) {
  const OpcodeInfo& o = info(headers.bth.opcode);
  if (!o.known()) [[unlikely]]
    return is_star(headers.bth.opcode) ? encode_star_headers(headers, out) : 0;
  std::byte* at = write(out.data(), headers.bth);
  if (o.header_bytes == Bth::kBytes) return Bth::kBytes;
  if (o.aeth && o.header_bytes == kAckBytes) {
    write(at, headers.aeth);
    return kAckBytes;
  }
  if (o.sequence) at = write(at, headers.sequence);
  if (o.target) at = write(at, Target{headers.reth.address, headers.reth.key});
  if (o.srnic_ack) at = write(at, headers.srnic_ack);
  if (at == out.data() + o.header_bytes) return o.header_bytes;  // most packets have no more
  if (o.deth) at = write(at, headers.deth);
  if (o.reth) at = write(at, headers.reth);
  if (o.atomic_eth) at = write(at, headers.atomic);
  if (o.aeth) at = write(at, headers.aeth);
  if (o.atomic_ack_eth) at = write(at, headers.atomic_ack);
  if (o.immediate) at = write(at, headers.immediate);
  if (o.ieth) at = write(at, headers.invalidate);
  if (o.verb == Verb::cnp) std::memset(at, 0, kCnpReservedBytes);
  return o.header_bytes;
}

Refusal parse(std::span<const std::byte> udp_payload, Packet& out) {
  if (out.flow.to != UdpPort::roce) [[unlikely]]
    return parse_star(udp_payload, out);
  const std::size_t size = udp_payload.size();
  if (size < Bth::kBytes + kIcrcBytes) [[unlikely]] {
    return Refusal::truncated;
  }
  Headers& headers = out.headers;
  const std::byte* at = read(udp_payload.data(), headers.bth);
  const OpcodeInfo& o = info(headers.bth.opcode);
  if (headers.bth.version != 0) [[unlikely]] {
    return Refusal::bad_version;
  }
  if (!o.known()) [[unlikely]] {
    return Refusal::unknown_opcode;
  }
  if (size < o.header_bytes + kIcrcBytes) [[unlikely]] {
    return Refusal::truncated;
  }
  const std::size_t body = size - o.header_bytes - kIcrcBytes;  // payload and pad
  if (body % 4 != 0 || headers.bth.pad > body) [[unlikely]] {
    return Refusal::bad_pad;
  }
  if (!o.payload && body != 0) [[unlikely]] {
    return Refusal::payload_not_allowed;
  }
  out.payload = udp_payload.subspan(o.header_bytes, canary(Canary::pad_is_payload) ? body : body - headers.bth.pad);
  if (o.header_bytes == Bth::kBytes) return Refusal::none;
  if (o.aeth && o.header_bytes == kAckBytes) {
    read(at, headers.aeth);
    return Refusal::none;
  }
  if (o.sequence) at = read(at, headers.sequence);
  if (o.target) {
    Target target;
    at = read(at, target);
    headers.reth = {.address = target.address, .key = target.key, .length = 0};
  }
  if (o.srnic_ack) at = read(at, headers.srnic_ack);
  if (at == udp_payload.data() + o.header_bytes) return Refusal::none;  // most packets have no more
  if (o.deth) at = read(at, headers.deth);
  if (o.reth) at = read(at, headers.reth);
  if (o.atomic_eth) at = read(at, headers.atomic);
  if (o.aeth) at = read(at, headers.aeth);
  if (o.atomic_ack_eth) at = read(at, headers.atomic_ack);
  if (o.immediate) at = read(at, headers.immediate);
  if (o.ieth) read(at, headers.invalidate);
  return Refusal::none;
}

}  // namespace weft::wire

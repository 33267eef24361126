// Any bytes are a packet or a named refusal, and what is accepted survives being written and read again.
// The first byte chooses the shared status: a frame with its ICRC checked, a frame without (or nothing would get past
// it), a UDP payload, a management datagram.
#include <cstdlib>
#include <vector>

#include "wire/cm.h"
#include "wire/frame.h"
#include "wire/ip_cm.h"
#include "wire/move.h"
#include "wire/test_model.h"
#include "wire/vendor_mad.h"

namespace weft::wire {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// Headers that an opcode lacks are as `parse` found them, so that whole values can be compared.
void survives_encoding(const Packet& packet) {
  std::vector<std::byte> datagram(datagram_bytes(packet.headers.bth.opcode, packet.payload.size()));
  require(encode_datagram(packet.headers, packet.payload.near(), packet.flow, datagram) == datagram.size());
  Packet again{.flow = packet.flow, .headers = packet.headers};
  again.headers.bth = {};
  require(parse(datagram, again) == Refusal::none);
  require(again.headers == packet.headers && same(again.payload.near(), packet.payload.near()));

  std::vector<std::byte> frame(kMaxFrameHeaderBytes + datagram.size());
  frame.resize(build_frame(packet.flow, datagram, frame));
  Packet third{.headers = packet.headers};
  require(parse_frame(frame, third, IcrcCheck::verify) == Refusal::none);
  require(third.flow == packet.flow && third.headers == packet.headers &&
          same(third.payload.near(), packet.payload.near()));
}

void try_datagram(std::span<const std::byte> bytes) {
  Packet packet{.flow = {.source = Address::v4(10, 0, 0, 1), .destination = Address::v4(10, 0, 0, 2)}};
  const Refusal refusal = parse(bytes, packet);
  require(refusal == model::verdict(bytes));
  if (refusal == Refusal::none && bytes.size() <= 60'000) survives_encoding(packet);
}

void try_frame(std::span<const std::byte> bytes, IcrcCheck check) {
  Packet packet;
  const Refusal refusal = parse_frame(bytes, packet, check);
  if (refusal == Refusal::none) survives_encoding(packet);
  if (check == IcrcCheck::skip) require(refusal != Refusal::bad_icrc);
}

void try_vendor(std::span<const std::byte> bytes) {
  std::array<std::byte, kMadBytes> mad;
  if (VendorMad said; parse_vendor(bytes, said) == Refusal::none) {
    VendorMad again;
    encode_vendor(said, mad);
    require(parse_vendor(mad, again) == Refusal::none && again == said);
  }
  if (MoveMad said; parse_move(bytes, said) == Refusal::none) {
    MoveMad again;
    encode_move(said, 1, mad);
    require(parse_move(mad, again) == Refusal::none && again == said);
  }
}

void try_mad(std::span<const std::byte> bytes) {
  try_vendor(bytes);
  CmMessage message;
  if (parse_cm(bytes, message) != Refusal::none) return;
  std::array<std::byte, kMadBytes> mad;
  encode_cm(message, mad);
  CmMessage again;
  require(parse_cm(mad, again) == Refusal::none && again == message);
  if (const auto* req = std::get_if<CmReq>(&message.body)) {
    const auto ip = IpCmHeader::decode(std::span(req->private_data).first<IpCmHeader::kBytes>());
    require(round_trips(ip));
  }
  if (const auto* rej = std::get_if<CmRej>(&message.body)) require(rej->additional().size() <= rej->info.size());
}

}  // namespace
}  // namespace weft::wire

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weft::wire;
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  switch (data[0] % 4) {
    case 0: try_frame(bytes, IcrcCheck::verify); break;
    case 1: try_frame(bytes, IcrcCheck::skip); break;
    case 2: try_datagram(bytes); break;
    default: try_mad(bytes); break;
  }
  return 0;
}

#include "wire/cm.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "wire/ip_cm.h"
#include "wire/test_model.h"

namespace weft::wire {
namespace {

using Data = std::array<std::byte, kMadDataBytes>;

// A field as the specification's tables place it: byte, bit from the most significant one, width in bits.
std::uint64_t field(std::span<const std::byte> b, std::size_t byte, std::size_t bit, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = byte * 8 + bit; i < byte * 8 + bit + width; ++i) {
    value = value << 1 | (std::to_integer<std::uint64_t>(b[i / 8]) >> (7 - i % 8) & 1);
  }
  return value;
}

Data random_data(std::uint64_t seed) {
  Data data;
  model::Numbers numbers(seed);
  for (auto& b : data) b = static_cast<std::byte>(numbers.next());
  return data;
}

template <std::size_t N, class Byte>
void expect_bytes(const std::array<Byte, N>& got, const Data& d, std::size_t at) {
  for (std::size_t i = 0; i < N; ++i) ASSERT_EQ(static_cast<std::byte>(got[i]), d[at + i]) << "byte " << at + i;
}

// Decodes noise, checks what `look` says of it, and that nothing but reserved bits is lost on the way back.
template <class Message, class Look>
void check(Look look) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Data data = random_data(seed);
    const Message message = Message::decode(data);
    look(message, data);
    Data again;
    again.fill(std::byte{0xFF});
    message.encode(again);
    EXPECT_EQ(Message::decode(again), message);
    Data twice;
    twice.fill(std::byte{0x00});
    Message::decode(again).encode(twice);
    EXPECT_EQ(again, twice) << "encode leaves bytes unwritten";
  }
}

void expect_path(const CmPath& p, const Data& d, std::size_t at) {
  EXPECT_EQ(p.local_lid, field(d, at, 0, 16));
  EXPECT_EQ(p.remote_lid, field(d, at + 2, 0, 16));
  expect_bytes(p.local.bytes, d, at + 4);
  expect_bytes(p.remote.bytes, d, at + 20);
  EXPECT_EQ(p.flow_label, field(d, at + 36, 0, 20));
  EXPECT_EQ(p.rate, field(d, at + 39, 2, 6));
  EXPECT_EQ(p.traffic_class, field(d, at + 40, 0, 8));
  EXPECT_EQ(p.hop_limit, field(d, at + 41, 0, 8));
  EXPECT_EQ(p.service_level, field(d, at + 42, 0, 4));
  EXPECT_EQ(p.subnet_local, field(d, at + 42, 4, 1));
  EXPECT_EQ(p.ack_timeout, field(d, at + 43, 0, 5));
}

TEST(CmLayout, Req) {
  check<CmReq>([](const CmReq& m, const Data& d) {
    EXPECT_EQ(m.local_id, field(d, 0, 0, 32));
    EXPECT_EQ(m.service_id, field(d, 8, 0, 64));
    EXPECT_EQ(m.ca_guid, field(d, 16, 0, 64));
    EXPECT_EQ(m.qkey.raw(), field(d, 28, 0, 32));
    EXPECT_EQ(m.qpn.raw(), field(d, 32, 0, 24));
    EXPECT_EQ(m.responder_resources, field(d, 35, 0, 8));
    EXPECT_EQ(m.local_eecn, field(d, 36, 0, 24));
    EXPECT_EQ(m.initiator_depth, field(d, 39, 0, 8));
    EXPECT_EQ(m.remote_eecn, field(d, 40, 0, 24));
    EXPECT_EQ(m.remote_response_timeout, field(d, 43, 0, 5));
    EXPECT_EQ(m.transport, field(d, 43, 5, 2));
    EXPECT_EQ(m.flow_control, field(d, 43, 7, 1));
    EXPECT_EQ(m.starting_psn.raw(), field(d, 44, 0, 24));
    EXPECT_EQ(m.local_response_timeout, field(d, 47, 0, 5));
    EXPECT_EQ(m.retry_count, field(d, 47, 5, 3));
    EXPECT_EQ(m.pkey.raw(), field(d, 48, 0, 16));
    EXPECT_EQ(m.mtu, field(d, 50, 0, 4));
    EXPECT_EQ(m.rdc_exists, field(d, 50, 4, 1));
    EXPECT_EQ(m.rnr_retry_count, field(d, 50, 5, 3));
    EXPECT_EQ(m.max_cm_retries, field(d, 51, 0, 4));
    EXPECT_EQ(m.srq, field(d, 51, 4, 1));
    EXPECT_EQ(m.extended_transport, field(d, 51, 5, 3));
    expect_path(m.primary, d, 52);
    expect_path(m.alternate, d, 96);
    expect_bytes(m.private_data, d, 140);
  });
}

TEST(CmLayout, Rep) {
  check<CmRep>([](const CmRep& m, const Data& d) {
    EXPECT_EQ(m.local_id, field(d, 0, 0, 32));
    EXPECT_EQ(m.remote_id, field(d, 4, 0, 32));
    EXPECT_EQ(m.qkey.raw(), field(d, 8, 0, 32));
    EXPECT_EQ(m.qpn.raw(), field(d, 12, 0, 24));
    EXPECT_EQ(m.local_eecn, field(d, 16, 0, 24));
    EXPECT_EQ(m.starting_psn.raw(), field(d, 20, 0, 24));
    EXPECT_EQ(m.responder_resources, field(d, 24, 0, 8));
    EXPECT_EQ(m.initiator_depth, field(d, 25, 0, 8));
    EXPECT_EQ(m.target_ack_delay, field(d, 26, 0, 5));
    EXPECT_EQ(m.failover_accepted, field(d, 26, 5, 2));
    EXPECT_EQ(m.flow_control, field(d, 26, 7, 1));
    EXPECT_EQ(m.rnr_retry_count, field(d, 27, 0, 3));
    EXPECT_EQ(m.srq, field(d, 27, 3, 1));
    EXPECT_EQ(m.ca_guid, field(d, 28, 0, 64));
    expect_bytes(m.private_data, d, 36);
  });
}

TEST(CmLayout, RtuAndDrep) {
  const auto look = [](const auto& m, const Data& d) {
    EXPECT_EQ(m.local_id, field(d, 0, 0, 32));
    EXPECT_EQ(m.remote_id, field(d, 4, 0, 32));
    expect_bytes(m.private_data, d, 8);
  };
  check<CmRtu>(look);
  check<CmDrep>(look);
}

TEST(CmLayout, Mra) {
  check<CmMra>([](const CmMra& m, const Data& d) {
    EXPECT_EQ(m.local_id, field(d, 0, 0, 32));
    EXPECT_EQ(m.remote_id, field(d, 4, 0, 32));
    EXPECT_EQ(static_cast<unsigned>(m.about), field(d, 8, 0, 2));
    EXPECT_EQ(m.service_timeout, field(d, 9, 0, 5));
    expect_bytes(m.private_data, d, 10);
  });
}

TEST(CmLayout, Rej) {
  check<CmRej>([](const CmRej& m, const Data& d) {
    EXPECT_EQ(m.local_id, field(d, 0, 0, 32));
    EXPECT_EQ(m.remote_id, field(d, 4, 0, 32));
    EXPECT_EQ(static_cast<unsigned>(m.about), field(d, 8, 0, 2));
    EXPECT_EQ(m.info_length, field(d, 9, 0, 7));
    EXPECT_EQ(m.reason, field(d, 10, 0, 16));
    expect_bytes(m.info, d, 12);
    expect_bytes(m.private_data, d, 84);
  });
}

TEST(CmLayout, Dreq) {
  check<CmDreq>([](const CmDreq& m, const Data& d) {
    EXPECT_EQ(m.local_id, field(d, 0, 0, 32));
    EXPECT_EQ(m.remote_id, field(d, 4, 0, 32));
    EXPECT_EQ(m.remote_qpn.raw(), field(d, 8, 0, 24));
    expect_bytes(m.private_data, d, 12);
  });
}

TEST(CmLayout, Lap) {
  check<CmLap>([](const CmLap& m, const Data& d) {
    EXPECT_EQ(m.local_id, field(d, 0, 0, 32));
    EXPECT_EQ(m.remote_id, field(d, 4, 0, 32));
    EXPECT_EQ(m.remote_qpn.raw(), field(d, 12, 0, 24));
    EXPECT_EQ(m.remote_response_timeout, field(d, 15, 0, 5));
    EXPECT_EQ(m.alternate.local_lid, field(d, 20, 0, 16));
    EXPECT_EQ(m.alternate.remote_lid, field(d, 22, 0, 16));
    expect_bytes(m.alternate.local.bytes, d, 24);
    expect_bytes(m.alternate.remote.bytes, d, 40);
    EXPECT_EQ(m.alternate.flow_label, field(d, 56, 0, 20));
    EXPECT_EQ(m.alternate.traffic_class, field(d, 59, 0, 8));
    EXPECT_EQ(m.alternate.hop_limit, field(d, 60, 0, 8));
    EXPECT_EQ(m.alternate.rate, field(d, 61, 2, 6));
    EXPECT_EQ(m.alternate.service_level, field(d, 62, 0, 4));
    EXPECT_EQ(m.alternate.subnet_local, field(d, 62, 4, 1));
    EXPECT_EQ(m.alternate.ack_timeout, field(d, 63, 0, 5));
    expect_bytes(m.private_data, d, 64);
  });
}

TEST(CmLayout, Apr) {
  check<CmApr>([](const CmApr& m, const Data& d) {
    EXPECT_EQ(m.local_id, field(d, 0, 0, 32));
    EXPECT_EQ(m.remote_id, field(d, 4, 0, 32));
    EXPECT_EQ(m.info_length, field(d, 8, 0, 8));
    EXPECT_EQ(m.status, field(d, 9, 0, 8));
    expect_bytes(m.info, d, 12);
    expect_bytes(m.private_data, d, 84);
  });
}

TEST(CmLayout, SidrReq) {
  check<CmSidrReq>([](const CmSidrReq& m, const Data& d) {
    EXPECT_EQ(m.request_id, field(d, 0, 0, 32));
    EXPECT_EQ(m.pkey.raw(), field(d, 4, 0, 16));
    EXPECT_EQ(m.service_id, field(d, 8, 0, 64));
    expect_bytes(m.private_data, d, 16);
  });
}

TEST(CmLayout, SidrRep) {
  check<CmSidrRep>([](const CmSidrRep& m, const Data& d) {
    EXPECT_EQ(m.request_id, field(d, 0, 0, 32));
    EXPECT_EQ(m.status, field(d, 4, 0, 8));
    EXPECT_EQ(m.info_length, field(d, 5, 0, 8));
    EXPECT_EQ(m.qpn.raw(), field(d, 8, 0, 24));
    EXPECT_EQ(m.service_id, field(d, 12, 0, 64));
    EXPECT_EQ(m.qkey.raw(), field(d, 20, 0, 32));
    expect_bytes(m.info, d, 24);
    expect_bytes(m.private_data, d, 96);
  });
}

// --- the MAD around them ---------------------------------------------------------------------------------------------

std::vector<CmBody> one_of_each() {
  return {CmReq{}, CmMra{}, CmRej{}, CmRep{}, CmRtu{}, CmDreq{}, CmDrep{}, CmSidrReq{}, CmSidrRep{}, CmLap{}, CmApr{}};
}

TEST(Cm, EachMessageComesBackAsItself) {
  constexpr unsigned kAttributes[] = {0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1A};
  const auto bodies = one_of_each();
  ASSERT_EQ(bodies.size(), std::variant_size_v<CmBody>);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    CmMessage sent{.transaction = 0x0102'0304'0506'0708 + i, .body = bodies[i]};
    std::visit([&](auto& body) { body = std::remove_reference_t<decltype(body)>::decode(random_data(i)); }, sent.body);
    std::array<std::byte, kMadBytes> mad;
    encode_cm(sent, mad);
    EXPECT_EQ(model::number(mad, 0, 4), 0x0107'0203u);
    EXPECT_EQ(model::number(mad, 4, 4), 0u);
    EXPECT_EQ(model::number(mad, 8, 8), sent.transaction);
    EXPECT_EQ(model::number(mad, 16, 2), kAttributes[i]);
    CmMessage got;
    ASSERT_EQ(parse_cm(mad, got), Refusal::none);
    EXPECT_EQ(got, sent);
  }
}

// trust.md 57.
TEST(Cm, RefusesEverySizeBut256) {
  std::vector<std::byte> bytes(300);
  std::array<std::byte, kMadBytes> mad;
  encode_cm(CmMessage{}, mad);
  std::copy(mad.begin(), mad.end(), bytes.begin());
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::vector<std::byte> exact(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    CmMessage out;
    EXPECT_EQ(parse_cm(exact, out), size == 256 ? Refusal::none : Refusal::mad_bad_size) << size;
  }
}

TEST(Cm, RefusesOtherVersionsClassesAndMethods) {
  std::array<std::byte, kMadBytes> mad;
  encode_cm(CmMessage{}, mad);
  for (const std::size_t at : {0, 1, 2, 3}) {
    for (unsigned value = 0; value < 256; ++value) {
      auto other = mad;
      other[at] = static_cast<std::byte>(value);
      CmMessage out;
      EXPECT_EQ(parse_cm(other, out), other == mad ? Refusal::none : Refusal::mad_not_cm) << at << ": " << value;
    }
  }
}

TEST(Cm, RefusesUnknownAttributes) {
  std::array<std::byte, kMadBytes> mad;
  encode_cm(CmMessage{}, mad);
  for (unsigned attribute = 0; attribute < 0x10000; ++attribute) {
    mad[16] = static_cast<std::byte>(attribute >> 8);
    mad[17] = static_cast<std::byte>(attribute);
    CmMessage out;
    const bool known = attribute >= 0x10 && attribute <= 0x1A;
    ASSERT_EQ(parse_cm(mad, out), known ? Refusal::none : Refusal::mad_unknown_attribute) << attribute;
  }
}

TEST(Cm, LengthsThatLieGiveNoMoreThanThereIs) {
  for (unsigned length = 0; length < 256; ++length) {
    const auto l = static_cast<std::uint8_t>(length);
    const std::size_t there = std::min(length, 72u);
    EXPECT_EQ(CmRej{.info_length = l}.additional().size(), there);
    EXPECT_EQ(CmApr{.info_length = l}.additional().size(), there);
    EXPECT_EQ(CmSidrRep{.info_length = l}.additional().size(), there);
  }
}

// --- rdma_cm's private data ------------------------------------------------------------------------------------------

TEST(IpCm, Ipv4AddressesAreTheLastFourOfSixteenBytes) {
  std::array<std::byte, IpCmHeader::kBytes> b;
  b.fill(std::byte{0xAB});
  const IpCmHeader header{
      .source_port = 0x1D2F, .source = Address::v4(10, 1, 2, 3), .destination = Address::v4(10, 4, 5, 6)};
  header.encode(b);
  EXPECT_EQ(model::number(b, 0, 4), 0x0040'1D2Fu);
  EXPECT_EQ(model::number(b, 4, 8), 0u);
  EXPECT_EQ(model::number(b, 12, 8), 0x0A01'0203u);
  EXPECT_EQ(model::number(b, 20, 8), 0u);
  EXPECT_EQ(model::number(b, 28, 8), 0x0A04'0506u);
  EXPECT_EQ(IpCmHeader::decode(b), header);
}

TEST(IpCm, Ipv6AddressesAreAllSixteen) {
  const IpCmHeader header{.ip_version = 6,
                          .source_port = 1,
                          .source = {{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
                          .destination = {{0x20, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}}};
  std::array<std::byte, IpCmHeader::kBytes> b;
  header.encode(b);
  EXPECT_EQ(model::number(b, 1, 1), 0x60u);
  EXPECT_EQ(model::number(b, 4, 8), 0xFE80'0000'0000'0000u);
  EXPECT_EQ(model::number(b, 28, 8), 2u);
  EXPECT_EQ(IpCmHeader::decode(b), header);
}

}  // namespace
}  // namespace weft::wire

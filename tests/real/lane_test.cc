// Two cards in one process, the kernel's UDP or shared memory between them.
#include <cstring>

#include <gtest/gtest.h>

#include "lanes.h"

namespace weft::real {
namespace {

struct Way {
  const char* name;
  WireChoice wire;
  wire::Address a, b;
};

class Lanes : public testing::TestWithParam<Way> {
 protected:
  static Settings settings(const wire::Address& address) {
    Settings s;
    s.addresses = {address};
    s.wire = GetParam().wire;
    s.max_qps = 64;
    return s;
  }
  void connect() {
    qa = a.make_qp();
    qb = b.make_qp();
    a.connect(*qa, GetParam().b, qb->qpn());
    b.connect(*qb, GetParam().a, qa->qpn());
  }
  TestLane a{settings(GetParam().a)}, b{settings(GetParam().b)};
  host::QueuePair *qa = nullptr, *qb = nullptr;
};

TEST_P(Lanes, HavePlacesOfTheirOwn) {
  EXPECT_NE(a.lane.place(), b.lane.place());
  EXPECT_EQ(a.make_qp()->qpn().raw() >> 17, a.lane.place());
}

TEST_P(Lanes, WriteEachOthersMemory) {
  connect();
  for (const std::uint32_t bytes : {1U, 64U, 4096U, 65536U, 300'000U}) {
    for (std::size_t i = 0; i < bytes; ++i) a.memory[i] = static_cast<std::byte>(i * 7 + bytes);
    a.write(*qa, 0, bytes, 500'000, b.key);
    EXPECT_EQ(a.wait().status, nic::Status::success) << bytes;
    EXPECT_EQ(std::memcmp(a.memory.data(), b.memory.data() + 500'000, bytes), 0) << bytes;
  }
}

// Small messages one at a time are sent and received in another way than many, and than large ones (port.h).
TEST_P(Lanes, GoFromSmallMessagesToLargeOnesAndBack) {
  connect();
  for (std::uint32_t round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < 600; ++i) {
      a.memory[i] = static_cast<std::byte>(i * 3 + round);
      a.write(*qa, i, 1, 500'000 + i, b.key);
      ASSERT_EQ(a.wait().status, nic::Status::success) << i;
      ASSERT_EQ(b.memory[500'000 + i], a.memory[i]);
      b.write(*qb, 500'000 + i, 1, 600'000 + i, a.key);
      ASSERT_EQ(b.wait().status, nic::Status::success) << i;
      ASSERT_EQ(a.memory[600'000 + i], a.memory[i]);
    }
    for (std::uint32_t i = 0; i < 16; ++i) a.write(*qa, 0, 200'000, 500'000, b.key);
    for (std::size_t done = 0; done < 16;) {
      const auto got = a.poll();
      for (const nic::Completion& c : got) ASSERT_EQ(c.status, nic::Status::success);
      done += got.size();
    }
    EXPECT_EQ(std::memcmp(a.memory.data(), b.memory.data() + 500'000, 200'000), 0);
  }
}

TEST_P(Lanes, ServeAPeerWhoseProgramDoesNothing) {
  connect();
  a.write(*qa, 0, 64, 4096, b.key);
  EXPECT_EQ(a.wait(false).status, nic::Status::success)
      << "neither program polled: the lanes' threads must have driven";
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Lanes,
    testing::Values(
        Way{"udp", WireChoice::udp, wire::Address::v4(127, 0, 3, 1), wire::Address::v4(127, 0, 3, 1)},
        Way{"udp_two_addresses", WireChoice::udp, wire::Address::v4(127, 0, 3, 2), wire::Address::v4(127, 0, 3, 3)},
        Way{"udp_ipv6", WireChoice::udp, wire::Address{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
            wire::Address{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}},
        Way{"shm", WireChoice::automatic, wire::Address::v4(127, 0, 3, 4), wire::Address::v4(127, 0, 3, 4)}),
    [](const auto& way) { return way.param.name; });

}  // namespace
}  // namespace weft::real

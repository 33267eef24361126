#include "world/real/settings/addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::real {
namespace {

using testing::ElementsAre;

wire::Address address(std::string_view text) { return parse_address(text).value(); }
constexpr wire::Address kLinkLocal{{0xFE, 0x80, 1}};

Interface interface(std::string name, wire::Address of, bool up = true, bool loopback = false) {
  return {
      .name = std::move(name), .address = of, .mask = wire::Address::v4(255, 0, 0, 0), .up = up, .loopback = loopback};
}

TEST(Addresses, AreReadAsPeopleWriteThem) {
  EXPECT_EQ(address("127.0.0.1"), wire::Address::v4(127, 0, 0, 1));
  EXPECT_EQ(address("::ffff:10.1.2.3"), wire::Address::v4(10, 1, 2, 3));
  EXPECT_EQ(address("fd00::1").bytes[15], 1);
  for (const char* bad :
       {"", " 127.0.0.1", "127.0.0", "127.0.0.1/8", "localhost", "fe80::1%lo", "::", "ff02::1", "255.255.255.255"}) {
    EXPECT_FALSE(parse_address(bad)) << bad;
  }
}

TEST(Addresses, UsualOnesAreIpv4FirstThenGlobalIpv6) {
  EXPECT_THAT(usual_addresses({interface("lo", address("127.0.0.1"), true, true), interface("a", address("fd00::1")),
                               interface("a", kLinkLocal), interface("a", address("10.0.0.1")),
                               interface("down", address("10.0.0.2"), false), interface("b", address("10.0.0.3")),
                               interface("b", address("10.0.0.3"))}),
              ElementsAre(address("10.0.0.1"), address("10.0.0.3"), address("fd00::1")));
}

TEST(Addresses, AreAtMostEight) {
  std::vector<Interface> many;
  for (std::uint8_t i = 1; i <= 20; ++i) many.push_back(interface("a", wire::Address::v4(10, 0, 0, i)));
  EXPECT_EQ(usual_addresses(many).size(), 8u);
}

TEST(Addresses, WithoutAnyThereIsTheLoopback) {
  EXPECT_THAT(usual_addresses({}), ElementsAre(address("127.0.0.1")));
  EXPECT_THAT(usual_addresses({interface("lo", address("127.0.0.1"), true, true), interface("a", kLinkLocal)}),
              ElementsAre(address("127.0.0.1")));
}

TEST(Addresses, HaveADevice) {
  const std::vector<Interface> all{interface("lo", address("127.0.0.1"), true, true),
                                   interface("eth7", address("10.0.0.1"))};
  EXPECT_EQ(device_of(address("10.0.0.1"), all), "eth7");
  EXPECT_EQ(device_of(address("127.9.9.9"), all), "lo");  // all of 127.0.0.0/8
  EXPECT_EQ(device_of(address("10.0.0.2"), all), std::nullopt);
  EXPECT_EQ(device_of(address("fd00::1"), all), std::nullopt);
}

TEST(Addresses, MtuIsTheLargestThatFits) {
  EXPECT_EQ(largest_roce_mtu(65536), 4096);
  EXPECT_EQ(largest_roce_mtu(9000), 4096);
  EXPECT_EQ(largest_roce_mtu(4176), 4096);
  EXPECT_EQ(largest_roce_mtu(4175), 2048);
  EXPECT_EQ(largest_roce_mtu(1500), 1024);
  EXPECT_EQ(largest_roce_mtu(1400), 1024);
  EXPECT_EQ(largest_roce_mtu(1103), 512);
  EXPECT_EQ(largest_roce_mtu(576), 256);
  EXPECT_EQ(largest_roce_mtu(68), 256);
}

TEST(Addresses, OfThisMachine) {
  EXPECT_EQ(roce_mtu(address("127.0.0.1")), 4096);
  EXPECT_EQ(roce_mtu(address("127.1.2.3")), 4096);
  EXPECT_EQ(roce_mtu(address("192.0.2.77")), 1024);  // nobody's: reserved for documentation
  const std::vector<wire::Address> all = machine_addresses();
  EXPECT_FALSE(all.empty());
  EXPECT_LE(all.size(), kMaxAddresses);
}

}  // namespace
}  // namespace weft::real

// Ports of port spaces: each is one lane's, and there is an end to them.
#include "world/real/broker/services.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace weft::real {
namespace {

constexpr std::uint16_t kTcp = 0x0106, kUdp = 0x0111, kPort = 7471;
constexpr std::uint8_t kOneLane = 3, kOtherLane = 4;
const wire::Address kOneAddress = wire::Address::v4(127, 0, 0, 1), kOtherAddress = wire::Address::v4(127, 0, 0, 2);
constexpr wire::Address kEverywhere{};

TEST(Services, GiveAPortOfASpaceToOneLane) {
  Services services;
  ASSERT_EQ(services.take(kOneLane, kTcp, kOneAddress, kPort), kPort);
  EXPECT_EQ(services.take(kOtherLane, kTcp, kOneAddress, kPort), tl::unexpected(EADDRINUSE));
  EXPECT_EQ(services.take(kOtherLane, kTcp, kEverywhere, kPort), tl::unexpected(EADDRINUSE));
  EXPECT_EQ(services.take(kOtherLane, kUdp, kOneAddress, kPort), kPort);
  EXPECT_EQ(services.take(kOtherLane, kTcp, kOtherAddress, kPort), kPort);
  // Who has taken it twice lets go of it twice.
  EXPECT_EQ(services.take(kOneLane, kTcp, kOneAddress, kPort), kPort);
  services.release(kOneLane, kTcp, kOneAddress, kPort);
  EXPECT_EQ(services.take(kOtherLane, kTcp, kOneAddress, kPort), tl::unexpected(EADDRINUSE));
  services.release(kOneLane, kTcp, kOneAddress, kPort);
  EXPECT_EQ(services.take(kOtherLane, kTcp, kOneAddress, kPort), kPort);
}

TEST(Services, LeadToWhoListensAtThisVeryAddressFirst) {
  Services services;
  const std::uint64_t id = std::uint64_t{kTcp} << 16 | kPort;
  ASSERT_EQ(services.take(kOneLane, kTcp, kEverywhere, kPort), kPort);
  ASSERT_EQ(services.take(kOneLane, kTcp, kOneAddress, kPort), kPort);
  EXPECT_EQ(services.listener(kOneAddress, id), 0);
  services.listen(kOneLane, kTcp, kOneAddress, kPort, true);
  EXPECT_EQ(services.listener(kOneAddress, id), kOneLane);
  EXPECT_EQ(services.listener(kOtherAddress, id), 0);
  services.listen(kOneLane, kTcp, kEverywhere, kPort, true);
  EXPECT_EQ(services.listener(kOtherAddress, id), kOneLane);
  services.forget(kOneLane);
  EXPECT_EQ(services.listener(kOneAddress, id), 0);
}

TEST(Services, ChooseAPortThatNobodyHas) {
  Services services;
  const auto first = services.take(kOneLane, kTcp, kOneAddress, 0),
             second = services.take(kOneLane, kTcp, kEverywhere, 0);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  std::size_t many = 2;
  while (services.take(kOtherLane, kTcp, kOneAddress, 0)) ++many;
  EXPECT_EQ(many, 60999U - 32768 + 1);
  EXPECT_EQ(services.take(kOtherLane, kTcp, kOneAddress, 0), tl::unexpected(EADDRINUSE));
}

// Bug: there was no end, and the broker grew with whatever one program asked for.
TEST(Services, AreRefusedWhenThereAreTooMany) {
  Services services;
  std::size_t taken = 0;
  for (std::uint16_t space = 0; space < 4 && taken <= Services::kMost; ++space) {
    for (std::uint32_t port = 1; port <= 0xFFFF && taken <= Services::kMost; ++port) {
      if (!services.take(kOneLane, space, kOneAddress, static_cast<std::uint16_t>(port))) break;
      ++taken;
    }
  }
  EXPECT_EQ(taken, Services::kMost);
  EXPECT_EQ(services.take(kOtherLane, kTcp, kOneAddress, kPort), tl::unexpected(ENOMEM));
  EXPECT_EQ(services.take(kOtherLane, kTcp, kOneAddress, 0), tl::unexpected(ENOMEM));
  EXPECT_EQ(services.take(kOneLane, 0, kOneAddress, 1), 1) << "it has this one";
  services.release(kOneLane, 0, kOneAddress, 2);
  EXPECT_EQ(services.take(kOtherLane, kTcp, kOneAddress, kPort), kPort);
}

}  // namespace
}  // namespace weft::real

// Ports of port spaces: each is one lane's, and there is an end to them.
#include "world/real/broker/services.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace weft::real {
namespace {

constexpr std::uint16_t kTcp = 0x0106, kUdp = 0x0111, kPort = 7471;
constexpr std::uint8_t kLane = 3, kOther = 4;
const wire::Address kHere = wire::Address::v4(127, 0, 0, 1), kThere = wire::Address::v4(127, 0, 0, 2);
constexpr wire::Address kEverywhere{};

TEST(Services, GiveAPortOfASpaceToOneLane) {
  Services services;
  ASSERT_EQ(services.take(kLane, kTcp, kHere, kPort), kPort);
  EXPECT_EQ(services.take(kOther, kTcp, kHere, kPort), tl::unexpected(EADDRINUSE));
  EXPECT_EQ(services.take(kOther, kTcp, kEverywhere, kPort), tl::unexpected(EADDRINUSE));
  EXPECT_EQ(services.take(kOther, kUdp, kHere, kPort), kPort);
  EXPECT_EQ(services.take(kOther, kTcp, kThere, kPort), kPort);
  // Who has taken it twice lets go of it twice.
  EXPECT_EQ(services.take(kLane, kTcp, kHere, kPort), kPort);
  services.release(kLane, kTcp, kHere, kPort);
  EXPECT_EQ(services.take(kOther, kTcp, kHere, kPort), tl::unexpected(EADDRINUSE));
  services.release(kLane, kTcp, kHere, kPort);
  EXPECT_EQ(services.take(kOther, kTcp, kHere, kPort), kPort);
}

TEST(Services, LeadToWhoListensAtThisVeryAddressFirst) {
  Services services;
  const std::uint64_t id = std::uint64_t{kTcp} << 16 | kPort;
  ASSERT_EQ(services.take(kLane, kTcp, kEverywhere, kPort), kPort);
  ASSERT_EQ(services.take(kLane, kTcp, kHere, kPort), kPort);
  EXPECT_EQ(services.listener(kHere, id), 0);
  services.listen(kLane, kTcp, kHere, kPort, true);
  EXPECT_EQ(services.listener(kHere, id), kLane);
  EXPECT_EQ(services.listener(kThere, id), 0);
  services.listen(kLane, kTcp, kEverywhere, kPort, true);
  EXPECT_EQ(services.listener(kThere, id), kLane);
  services.forget(kLane);
  EXPECT_EQ(services.listener(kHere, id), 0);
}

TEST(Services, ChooseAPortThatNobodyHas) {
  Services services;
  const auto first = services.take(kLane, kTcp, kHere, 0), second = services.take(kLane, kTcp, kEverywhere, 0);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  std::size_t many = 2;
  while (services.take(kOther, kTcp, kHere, 0)) ++many;
  EXPECT_EQ(many, 60999U - 32768 + 1);
  EXPECT_EQ(services.take(kOther, kTcp, kHere, 0), tl::unexpected(EADDRINUSE));
}

// Bug: there was no end, and the broker grew with whatever one program asked for.
TEST(Services, AreRefusedWhenThereAreTooMany) {
  Services services;
  std::size_t taken = 0;
  for (std::uint16_t space = 0; space < 4 && taken <= Services::kMost; ++space) {
    for (std::uint32_t port = 1; port <= 0xFFFF && taken <= Services::kMost; ++port) {
      if (!services.take(kLane, space, kHere, static_cast<std::uint16_t>(port))) break;
      ++taken;
    }
  }
  EXPECT_EQ(taken, Services::kMost);
  EXPECT_EQ(services.take(kOther, kTcp, kHere, kPort), tl::unexpected(ENOMEM));
  EXPECT_EQ(services.take(kOther, kTcp, kHere, 0), tl::unexpected(ENOMEM));
  EXPECT_EQ(services.take(kLane, 0, kHere, 1), 1) << "it has this one";
  services.release(kLane, 0, kHere, 2);
  EXPECT_EQ(services.take(kOther, kTcp, kHere, kPort), kPort);
}

}  // namespace
}  // namespace weft::real

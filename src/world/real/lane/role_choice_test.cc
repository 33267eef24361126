#include "world/real/lane/role_choice.h"

#include <gtest/gtest.h>

namespace weft::real {
namespace {

using Roles = wire::StarRoles;
using host::StarRole;

constexpr Roles kChoosing{Roles::kFollows | Roles::kChooses};  // --transport auto
constexpr Roles kAlwaysStateless{Roles::kStateless | Roles::kAlways};
constexpr Roles kAlwaysStateful{Roles::kStateful | Roles::kAlways};
constexpr Load kBusy{.own = 1001, .peers = 1, .beyond = 1000}, kIdle{.own = 1, .peers = 1001, .beyond = 1000};

TEST(RoleChoice, TheBusierCardIsStatelessBeyondItsThreshold) {
  EXPECT_EQ(choose_role(kChoosing, kChoosing, kBusy), StarRole::stateless);
  EXPECT_EQ(choose_role(kChoosing, kChoosing, {.own = 1000, .peers = 1, .beyond = 1000}), StarRole::none);
  EXPECT_EQ(choose_role(kChoosing, kChoosing, {.own = 1'000'000, .peers = 1, .beyond = 0}), StarRole::none)
      << "0 is never";
}

// It is asked to take the state. It does not take it because of a count that may have changed.
TEST(RoleChoice, TheOtherCardStaysAsItIsUntilItIsAsked) {
  EXPECT_EQ(choose_role(kChoosing, kChoosing, kIdle), StarRole::none);
}

TEST(RoleChoice, TwoThatAreAboutAsBusyStayAsTheyAre) {
  for (const std::uint32_t peers : {501U, 1000U, 2000U}) {
    EXPECT_EQ(choose_role(kChoosing, kChoosing, {.own = 1001, .peers = peers, .beyond = 100}), StarRole::none);
  }
  EXPECT_EQ(choose_role(kChoosing, kChoosing, {.own = 1001, .peers = 500, .beyond = 100}), StarRole::stateless);
}

// However large the counts are, both at once never think that they are much busier.
TEST(RoleChoice, NeverTakesTheSameRoleOnBothSides) {
  for (std::uint32_t a = 0; a < 40; ++a) {
    for (std::uint32_t b = 0; b < 40; ++b) {
      const bool one = is_much_busier({.own = a, .peers = b, .beyond = 1});
      const bool other = is_much_busier({.own = b, .peers = a, .beyond = 1});
      EXPECT_FALSE(one && other) << a << " and " << b;
    }
  }
  EXPECT_FALSE(is_much_busier({.own = 0xFFFF'FFFE, .peers = 0x8000'0000, .beyond = 1})) << "nothing wraps";
}

// What a peer was told counts whatever the counts are: it speaks nothing else.
TEST(RoleChoice, FollowsAPeerThatWasToldItsRole) {
  for (const Load& load : {kBusy, kIdle}) {
    EXPECT_EQ(choose_role(kChoosing, kAlwaysStateless, load), StarRole::stateful);
    EXPECT_EQ(choose_role(kChoosing, kAlwaysStateful, load), StarRole::stateless);
  }
}

// One that plays a role with some connections may be asked for srnic with this one.
TEST(RoleChoice, LeavesAPeerAloneThatKnowsNothingOfChoosing) {
  for (const Roles peer : {Roles{}, Roles{Roles::kFollows}, Roles{Roles::kStateful}, Roles{Roles::kStateless}}) {
    EXPECT_EQ(choose_role(kChoosing, peer, kBusy), StarRole::none) << int{peer.bits};
    EXPECT_EQ(choose_role(kChoosing, peer, kIdle), StarRole::none) << int{peer.bits};
  }
}

TEST(RoleChoice, WhoWasToldWhatToSpeakChoosesNothing) {
  for (const Roles own : {Roles{}, kAlwaysStateless, kAlwaysStateful}) {
    for (const Roles peer : {kChoosing, kAlwaysStateless, kAlwaysStateful}) {
      EXPECT_EQ(choose_role(own, peer, kBusy), StarRole::none);
    }
  }
}

}  // namespace
}  // namespace weft::real

// The broker outlives many programs; it must not keep what they no longer need.
#include <gtest/gtest.h>

#include "lanes.h"

namespace weft::real {
namespace {

// Bug: after 256 addresses, one after the other, nobody could join any more.
TEST(Broker, LetsGoOfAddressesThatNobodyHas) {
  Settings keeper;
  keeper.addresses = {wire::Address::v4(127, 0, 4, 1)};
  keeper.max_qps = 16;
  const TestLane stays(keeper);
  for (std::uint8_t i = 0; i < 150; ++i) {
    Settings s = keeper;
    s.addresses = {wire::Address::v4(127, 0, 5, i), wire::Address::v4(127, 0, 6, i)};
    const TestLane lane(s);
    ASSERT_NE(lane.lane.place(), 0) << "address " << int{i};
  }
}

}  // namespace
}  // namespace weft::real

#include "cli/connections/options.h"

#include <gtest/gtest.h>

#include "cli/connections/buffers.h"
#include "cli/connections/slots.h"

namespace weft::connections {
namespace {

tl::expected<Options, std::string> asked(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& w : words) pointers.push_back(w.data());
  return parse_options(pointers);
}

TEST(ConnectionOptions, AreWhatWasAskedFor) {
  const auto o = asked({"--qps", "1,10000", "--depth", "1024", "--verb", "write", "--bytes", "1048576", "--rounds", "2",
                        "--milliseconds", "7", "--json", "--no-idle"});
  ASSERT_TRUE(o) << o.error();
  EXPECT_EQ(o->qps, (std::vector<std::uint32_t>{1, 10000}));
  EXPECT_EQ(o->depth, 1024U);
  EXPECT_EQ(o->verb, LoadVerb::write);
  EXPECT_EQ(o->bytes, 1048576U);
  EXPECT_EQ(o->rounds, 2U);
  EXPECT_EQ(o->milliseconds, 7U);
  EXPECT_TRUE(o->json);
  EXPECT_FALSE(o->idle);
}

TEST(ConnectionOptions, NothingIsPerftestsDepth) {
  const auto o = asked({});
  ASSERT_TRUE(o);
  EXPECT_EQ(o->depth, 128U);
  EXPECT_EQ(o->verb, LoadVerb::send);
  EXPECT_TRUE(o->idle);
}

TEST(ConnectionOptions, BadOnesAreRefusedWithASentence) {
  for (const std::vector<std::string>& words :
       std::initializer_list<std::vector<std::string>>{{"--depth", "0"},
                                                       {"--depth", "1025"},
                                                       {"--depth", "8x"},
                                                       {"--bytes", "0"},
                                                       {"--bytes", "1048577"},
                                                       {"--qps", ""},
                                                       {"--qps", "1,,2"},
                                                       {"--qps", "1,"},
                                                       {"--qps", "0"},
                                                       {"--qps", "131073"},
                                                       {"--verb", "read"},
                                                       {"--verb", "atomic"},
                                                       {"--clients", "65", "--verb", "write"},
                                                       {"--verb", "send", "--clients", "2"},
                                                       {"--client-variable", "WEFT_ROLE"},
                                                       {"--client-variable", "=x", "--clients", "2"},
                                                       {"--client-variable", "A=b"},
                                                       {"--rounds", "-1"},
                                                       {"--rounds", "1001"},
                                                       {"--milliseconds", "99999999"},
                                                       {"--loss", "1"},
                                                       {"--qps"},
                                                       {"--json", "--depth"}}) {
    const auto o = asked(words);
    ASSERT_FALSE(o) << words.front();
    EXPECT_NE(o.error().find(words.back().starts_with("--") ? words.back() : words.front()), std::string::npos)
        << o.error();
  }
}

TEST(ConnectionOptions, AServerHasClientsWithVariablesOfTheirOwn) {
  const auto o = asked({"--clients", "4", "--verb", "read", "--client-variable", "A=b", "--client-variable", "C=d=e"});
  ASSERT_TRUE(o) << o.error();
  EXPECT_EQ(o->clients, 4U);
  EXPECT_EQ(o->verb, LoadVerb::read);
  const std::vector<std::pair<std::string, std::string>> variables{{"A", "b"}, {"C", "d=e"}};
  EXPECT_EQ(o->client_variables, variables);
}

// A check that nothing passes by accident: not what another connection, message or side has written, nor one byte off.
TEST(MessageSlots, HoldWhatWasWrittenAndNothingElse) {
  MessageSlots slots(3, 2, 20);
  for (std::uint32_t at = 0; at < 3; ++at) {
    for (const std::uint64_t message : {0, 1}) EXPECT_FALSE(slots.holds(at, at, message, Writer::server)) << "empty";
  }
  slots.write(1, 7, 4, Writer::server);
  EXPECT_TRUE(slots.holds(1, 7, 4, Writer::server));
  EXPECT_FALSE(slots.holds(1, 7, 4, Writer::client));
  EXPECT_FALSE(slots.holds(1, 7, 2, Writer::server)) << "the one before in that slot";
  EXPECT_FALSE(slots.holds(1, 8, 4, Writer::server));
  EXPECT_FALSE(slots.holds(0, 7, 4, Writer::server));
  for (std::size_t i = 0; i < 20; ++i) {
    std::byte& one = slots.memory()[slots.offset(1, 4) + i];
    one ^= std::byte{1};
    EXPECT_FALSE(slots.holds(1, 7, 4, Writer::server)) << i;
    one ^= std::byte{1};
  }
  slots.clear(1, 4);
  EXPECT_FALSE(slots.holds(1, 7, 4, Writer::server));
}

TEST(ConnectionBuffers, AreEachConnectionsOwnUpToTheirTotal) {
  const Buffers own(3, 100);
  EXPECT_EQ(own.count(), 3U);
  EXPECT_EQ(own.offset(2), 2U * 128);  // each begins with a cache line
  const Buffers shared(1000, kMostBytes);
  EXPECT_EQ(shared.count(), Buffers::kMostBytes / kMostBytes);
  EXPECT_EQ(shared.offset(0), shared.offset(shared.count()));
  EXPECT_EQ(shared.offset(shared.count() + 1), kMostBytes);
}

}  // namespace
}  // namespace weft::connections

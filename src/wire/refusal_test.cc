#include "wire/refusal.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Refusals, EachHasACounterOfItsOwnAndASentence) {
  std::set<std::string_view> counters, meanings;
  for (std::size_t i = 0; i < kRefusals.size(); ++i) {
    const RefusalText& t = text(static_cast<Refusal>(i));
    EXPECT_TRUE(counters.insert(t.counter).second) << t.counter;
    EXPECT_TRUE(meanings.insert(t.meaning).second) << t.meaning;
    EXPECT_EQ(t.counter.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << t.counter;
    EXPECT_GE(t.meaning.size(), 10u) << t.counter;
    EXPECT_NE(t.meaning.back(), '.') << t.counter;
  }
}

TEST(Refusals, TextBelongsToItsValue) {
  EXPECT_EQ(text(Refusal::truncated).counter, "rx_truncated");
  EXPECT_EQ(text(Refusal::bad_icrc).counter, "rx_bad_icrc");
  EXPECT_EQ(text(Refusal::key_stale).counter, "mem_key_stale");
  EXPECT_EQ(text(Refusal::retry_exceeded).counter, "qp_retry_exceeded");
}

}  // namespace
}  // namespace weft

#include "cli/bench/connections/reading.h"

#include <gtest/gtest.h>

namespace weft::cli {
namespace {

// As it is printed: the receiver's counters, then the sender's, and what was found at last.
const std::string kText =
    "weft: counters of weft-connections (pid 41)\n"
    "  sent_pkts                               500  packets sent\n"
    "  retransmitted_pkts                      400  packets sent again\n"
    "weft: counters of weft-connections (pid 40)\n"
    "  sent_pkts                             20000  packets sent\n"
    "  sent_bytes                         10240000  bytes of payload sent\n"
    "  retransmitted_pkts                        3  packets sent again\n"
    "  read_responses_resent                     1  READ and atomic responses sent again\n"
    R"({"process":40,"points":[{"queue_pairs":16,"messages_per_second":1e6,"median_us":4.5,"p99_us":9,)"
    R"("least_share":0.98,"most_share":1.03,"steady":true}]})"
    "\n";

std::string without(std::string text, const std::string& part) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.erase(at, part.size());
}

TEST(LoadReading, HasWhatTheSenderFoundAndCounted) {
  const auto r = read_load(kText);
  ASSERT_TRUE(r) << r.error();
  EXPECT_EQ(r->messages_per_second, 1e6);
  EXPECT_EQ(r->median_us, 4.5);
  EXPECT_EQ(r->p99_us, 9);
  EXPECT_TRUE(r->steady);
  EXPECT_EQ(r->least_share, 0.98);
  EXPECT_EQ(r->most_share, 1.03);
  EXPECT_EQ(r->sent_packets, 20000U);
  EXPECT_EQ(r->again, 4U);
}

TEST(LoadReading, CountersThatAreNotThereAreZero) {
  const auto r = read_load(without(kText, "  retransmitted_pkts                        3  packets sent again\n"));
  ASSERT_TRUE(r) << r.error();
  EXPECT_EQ(r->again, 1U);
}

TEST(LoadReading, SharesMayBeMissing) {
  std::string text = kText;
  text.replace(text.find("0.98"), 4, "null").replace(text.find("1.03"), 4, "null");
  const auto r = read_load(text);
  ASSERT_TRUE(r) << r.error();
  EXPECT_FALSE(r->least_share || r->most_share);
}

TEST(LoadReading, SaysWhatIsMissing) {
  EXPECT_EQ(read_load("").error(), "it printed no findings");
  EXPECT_EQ(read_load("{not json}\n{\"points\": 1").error(), "it printed no findings");
  EXPECT_EQ(read_load("{\"points\":[]}").error(), "it printed not one point");
  EXPECT_EQ(read_load("{\"points\":{}}").error(), "it printed not one point");
  EXPECT_EQ(read_load("{\"points\":[7]}").error(), "its findings lack a rate, a time or its process");
  EXPECT_EQ(read_load(without(kText, "\"p99_us\":9,")).error(), "its findings lack a rate, a time or its process");
  EXPECT_EQ(read_load(without(kText, "weft: counters of weft-connections (pid 40)\n")).error(),
            "it printed no counters of the sender");
}

TEST(LoadReading, AFailedRunHasItsReason) {
  EXPECT_EQ(reason_in("x\nweft-connections: a SEND failed\nweft: counters\n"), "a SEND failed");
  EXPECT_EQ(reason_in("weft run: no such program\n\n"), "weft run: no such program");
  EXPECT_EQ(reason_in(""), "it said nothing");
}

}  // namespace
}  // namespace weft::cli

// Records come, go, and come again for other streams, with the memory that they had.
#include "host/recovery/record_pool.h"

#include <set>

#include <gtest/gtest.h>

namespace weft::host {
namespace {

struct Record {
  static inline int alive = 0;
  Record() { ++alive; }
  ~Record() { --alive; }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  void restart(int from) { begins = from; }
  [[nodiscard]] std::size_t bytes() const { return 100; }
  int begins = 0;
};
using Pool = RecordPool<Record>;

TEST(RecordPool, AStreamKeepsItsRecordAndANewOneBegins) {
  Pool pool;
  Record& first = pool.get(7, 1);
  EXPECT_EQ(first.begins, 1);
  EXPECT_EQ(&pool.get(7, 2), &first);
  EXPECT_EQ(first.begins, 1) << "one that is there does not begin anew";
  EXPECT_NE(&pool.get(8, 3), &first);
  EXPECT_TRUE(pool.contains(7));
  EXPECT_FALSE(pool.contains(9));
  EXPECT_EQ(pool.size(), 2U);
}

TEST(RecordPool, OneThatIsGivenBackServesTheNextStream) {
  Pool pool;
  Record* first = &pool.get(7, 1);
  pool.give_back(7);
  EXPECT_FALSE(pool.contains(7));
  EXPECT_EQ(&pool.get(8, 5), first);
  EXPECT_EQ(first->begins, 5) << "as a new one would";
  pool.give_back(7);  // it has none
  EXPECT_TRUE(pool.contains(8));
}

TEST(RecordPool, OnlySoManyWaitUnused) {
  const int before = Record::alive;
  Pool pool;
  constexpr auto kStreams = static_cast<int>(Pool::kSpare) + 10;
  for (int i = 0; i < kStreams; ++i) (void)pool.get(static_cast<Pool::Key>(i), i);
  EXPECT_EQ(Record::alive - before, kStreams);
  for (int i = 0; i < kStreams; ++i) pool.give_back(static_cast<Pool::Key>(i));
  EXPECT_EQ(Record::alive - before, static_cast<int>(Pool::kSpare)) << "the others are freed";
  for (int i = 0; i < kStreams; ++i) (void)pool.get(static_cast<Pool::Key>(i), i);
  EXPECT_EQ(Record::alive - before, kStreams) << "and those that waited are used first";
}

TEST(RecordPool, TwoStreamsNeverShareARecord) {
  Pool pool;
  std::set<const Record*> seen;
  for (Pool::Key key = 0; key < 4; ++key) (void)pool.get(key, 0);
  pool.give_back(1);
  pool.give_back(2);
  for (Pool::Key key = 4; key < 8; ++key) (void)pool.get(key, 0);
  for (const Pool::Key key : {0, 3, 4, 5, 6, 7}) EXPECT_TRUE(seen.insert(&pool.get(key, 0)).second) << key;
}

TEST(RecordPool, CountsTheMemoryOfStreamsThatRecover) {
  Pool pool;
  (void)pool.get(1, 0);
  (void)pool.get(2, 0);
  EXPECT_EQ(pool.bytes(), 200U);
  pool.give_back(1);
  EXPECT_EQ(pool.bytes(), 100U) << "not of those that wait";
}

}  // namespace
}  // namespace weft::host

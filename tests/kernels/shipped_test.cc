// The kernels that ship: lists, hash tables, trees and skip lists walked in the server's memory, GETs with chains and
// misses, and objects that change while they are read.
#include <algorithm>

#include "kernels/consistent.h"
#include "kernels/get.h"
#include "kernels/scene.h"
#include "kernels/traverse.h"

namespace weft::test {
namespace {

using kernels::ConsistentCall;
using kernels::GetCall;
using kernels::GetEntry;
using kernels::Predicate;
using kernels::TraverseCall;
using nic::CallOutcome;

// The server's memory as a heap of structures.
class Shipped : public testing::Test {
 protected:
  Shipped() {
    scene.clear_answers();
    EXPECT_EQ(scene.card().deploy(kernels::traverse(100)), host::Error::none);
    EXPECT_EQ(scene.card().deploy(kernels::get()), host::Error::none);
    EXPECT_EQ(scene.card().deploy(kernels::consistent()), host::Error::none);
  }
  std::uint64_t take(std::size_t bytes) {
    const std::uint64_t at = next_;
    next_ += (bytes + 63) / 64 * 64;
    return at;
  }
  [[nodiscard]] std::uint64_t address(std::uint64_t offset) const { return scene.memory().address + offset; }
  template <class T>
  void put(std::uint64_t offset, const T& value) {
    std::memcpy(&scene.memory().bytes[offset], &value, sizeof value);
  }
  std::uint64_t put_text(std::string_view text) {
    const std::uint64_t at = take(text.size());
    std::memcpy(&scene.memory().bytes[at], text.data(), text.size());
    return at;
  }
  template <class Parameters>
  CallOutcome call(std::uint64_t opcode, const Parameters& p, std::uint32_t room = 32 * 1024) {
    scene.clear_answers();
    EXPECT_EQ(scene.call({.opcode = opcode, .parameters = bytes_of_object(p), .room = room}), host::Error::none);
    EXPECT_TRUE(scene.bed.run());
    (void)drain(scene.caller().node());
    return scene.head().outcome;
  }

  CallScene scene;

 private:
  std::uint64_t next_ = 64;
};

// ---- traverse

// Figure 6 of StRoM: key, next and value, at words 0, 2 and 4.
struct ListElement {
  std::uint64_t key = 0, next = 0, value = 0;
  std::uint64_t unused[5] = {};
};
TraverseCall list_call(std::uint64_t head, std::uint64_t key) {
  return {.address = head, .key = key, .value_bytes = 8, .key_mask = 1, .value_position = 4, .next_position = 2};
}

TEST_F(Shipped, TraverseFindsWhatIsInAList) {
  std::vector<std::uint64_t> elements;
  for (int i = 0; i < 32; ++i) elements.push_back(take(sizeof(ListElement)));
  for (std::uint64_t i = 0; i < 32; ++i) {
    const std::uint64_t value = put_text("value " + std::to_string(10 + i));
    put(elements[i],
        ListElement{.key = 1000 + i, .next = i + 1 < 32 ? address(elements[i + 1]) : 0, .value = address(value)});
  }
  for (std::uint64_t i = 0; i < 32; ++i) {
    EXPECT_EQ(call(kernels::kTraverse, list_call(address(elements[0]), 1000 + i)), CallOutcome::success);
    EXPECT_EQ(scene.answer(), "value " + std::to_string(10 + i));
  }
  EXPECT_EQ(call(kernels::kTraverse, list_call(address(elements[0]), 7)), CallOutcome::success);
  EXPECT_EQ(scene.answer(), "") << "there is no such key";
  TraverseCall only_first = list_call(address(elements[0]), 1001);
  only_first.has_next = false;
  EXPECT_EQ(call(kernels::kTraverse, only_first), CallOutcome::success);
  EXPECT_EQ(scene.answer(), "");
}

TEST_F(Shipped, TraverseStopsInACircle) {
  const std::uint64_t at = take(sizeof(ListElement));
  put(at, ListElement{.key = 1, .next = address(at)});
  EXPECT_EQ(call(kernels::kTraverse, list_call(address(at), 2)), CallOutcome::stopped);
}

TEST_F(Shipped, TraverseFollowsNoPointerOutOfItsMemory) {
  const std::uint64_t at = take(sizeof(ListElement));
  put(at, ListElement{.key = 1, .next = 4096});
  EXPECT_EQ(call(kernels::kTraverse, list_call(address(at), 2)), CallOutcome::denied);
}

TEST_F(Shipped, TraverseReadsLongValues) {
  std::string text(10'000, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
  const std::uint64_t value = put_text(text), at = take(sizeof(ListElement));
  put(at, ListElement{.key = 5, .value = address(value)});
  TraverseCall c = list_call(address(at), 5);
  c.value_bytes = 10'000;
  EXPECT_EQ(call(kernels::kTraverse, c), CallOutcome::success);
  EXPECT_TRUE(scene.answer() == text);
  EXPECT_EQ(call(kernels::kTraverse, c, 5000), CallOutcome::too_long);
}

// An entry with three keys, each beside its value's pointer.
TEST_F(Shipped, TraverseFindsWhatIsInAHashTable) {
  struct Entry {
    struct {
      std::uint64_t key = 0, value = 0;
    } buckets[3];
    std::uint64_t chain = 0, unused = 0;
  };
  const std::uint64_t first = take(sizeof(Entry)), second = take(sizeof(Entry));
  Entry a, b;
  for (std::uint64_t i = 0; i < 3; ++i) {
    a.buckets[i] = {20 + i, address(put_text("aaaaaaa" + std::to_string(i)))};
    b.buckets[i] = {30 + i, address(put_text("bbbbbbb" + std::to_string(i)))};
  }
  a.chain = address(second);
  put(first, a);
  put(second, b);
  const auto look = [&](std::uint64_t key) {
    const TraverseCall c{.address = address(first),
                         .key = key,
                         .value_bytes = 8,
                         .key_mask = 0b1'0001'0001,
                         .value_position = 2,
                         .is_relative = true,
                         .next_position = 12};
    EXPECT_EQ(call(kernels::kTraverse, c), CallOutcome::success);
    return scene.answer();
  };
  EXPECT_EQ(look(20), "aaaaaaa0");
  EXPECT_EQ(look(22), "aaaaaaa2");
  EXPECT_EQ(look(31), "bbbbbbb1");
  EXPECT_EQ(look(99), "");
}

// A tree of two levels: keys above say what is less than they are; below, keys are equal.
TEST_F(Shipped, TraverseDescendsATree) {
  struct Inner {
    struct {
      std::uint64_t below = 0, child = 0;
    } parts[3];
    std::uint64_t rest = 0, unused = 0;
  };
  Inner root;
  for (std::uint64_t leaf = 0; leaf < 4; ++leaf) {
    Inner l;
    for (std::uint64_t i = 0; i < 3; ++i) {
      const std::uint64_t key = leaf * 10 + i + 1;
      l.parts[i] = {key, address(put_text("leaf " + std::to_string(100 + key)))};
    }
    const std::uint64_t at = take(sizeof l);
    put(at, l);
    if (leaf < 3) root.parts[leaf] = {leaf * 10 + 10, address(at)};
    if (leaf == 3) root.rest = address(at);
  }
  const std::uint64_t at = take(sizeof root);
  put(at, root);
  const auto look = [&](std::uint64_t key) {
    const TraverseCall c{.address = address(at),
                         .key = key,
                         .value_bytes = 8,
                         .key_mask = 0b1'0001'0001,
                         .predicate = Predicate::less_than,
                         .value_position = 2,
                         .is_relative = true,
                         .has_next = false,
                         .levels = 1,
                         .last_predicate = Predicate::equal};
    EXPECT_EQ(call(kernels::kTraverse, c), CallOutcome::success);
    return scene.answer();
  };
  EXPECT_EQ(look(1), "leaf 101");
  EXPECT_EQ(look(12), "leaf 112");
  EXPECT_EQ(look(23), "leaf 123");
  EXPECT_EQ(look(15), "");
}

// A skip list: a high lane of every fourth element, whose match leads down into the low one.
TEST_F(Shipped, TraverseWalksASkipList) {
  struct Element {
    std::uint64_t last = 0;  // of those that it stands for
    std::uint64_t next = 0, down = 0;
    std::uint64_t unused[5] = {};
  };
  std::uint64_t head = 0;
  for (std::uint64_t group = 8; group-- > 0;) {
    std::uint64_t low = 0;
    for (std::uint64_t i = 4; i-- > 0;) {
      const std::uint64_t key = group * 4 + i;
      const std::uint64_t at = take(sizeof(Element));
      put(at, Element{key, low, address(put_text("skip " + std::to_string(100 + key)))});
      low = address(at);
    }
    const std::uint64_t at = take(sizeof(Element));
    put(at, Element{group * 4 + 4, head, low});
    head = address(at);
  }
  for (const std::uint64_t key : {0U, 3U, 4U, 18U, 31U}) {
    const TraverseCall c{.address = head,
                         .key = key,
                         .value_bytes = 8,
                         .predicate = Predicate::less_than,
                         .value_position = 4,
                         .next_position = 2,
                         .levels = 1,
                         .last_predicate = Predicate::equal};
    EXPECT_EQ(call(kernels::kTraverse, c), CallOutcome::success);
    EXPECT_EQ(scene.answer(), "skip " + std::to_string(100 + key));
  }
}

TEST_F(Shipped, TraverseRefusesPositionsOutsideAnElement) {
  TraverseCall c = list_call(address(64), 1);
  c.value_position = 15;
  EXPECT_EQ(call(kernels::kTraverse, c), CallOutcome::failed);
  c = list_call(address(64), 1);
  c.next_position = 200;
  EXPECT_EQ(call(kernels::kTraverse, c), CallOutcome::failed);
  c = list_call(address(64), 1);
  c.key_mask = 0x8000;
  EXPECT_EQ(call(kernels::kTraverse, c), CallOutcome::failed);
  c.key_mask = 0;
  EXPECT_EQ(call(kernels::kTraverse, c), CallOutcome::failed);
  EXPECT_EQ(call(kernels::kTraverse, std::uint32_t{5}), CallOutcome::failed) << "no parameters of its";
}

// ---- get

TEST_F(Shipped, GetAnswersTheValueAtItsLength) {
  const std::uint64_t first = take(sizeof(GetEntry)), second = take(sizeof(GetEntry));
  const std::string big(20'000, 'v');
  GetEntry a, b;
  a.keys[0] = 10;
  a.values[0] = GetEntry::value_at(address(put_text("short")), 5);
  a.keys[2] = 11;
  a.values[2] = GetEntry::value_at(address(put_text(big)), 20'000);
  a.next = address(second);
  b.keys[1] = 12;
  b.values[1] = GetEntry::value_at(address(put_text("chained")), 7);
  put(first, a);
  put(second, b);
  const auto get = [&](std::uint64_t key) {
    EXPECT_EQ(call(kernels::kGet, GetCall{address(first), key}), CallOutcome::success);
    return scene.answer();
  };
  EXPECT_EQ(get(10), "short");
  EXPECT_TRUE(get(11) == big);
  EXPECT_EQ(get(12), "chained");
  EXPECT_EQ(get(13), "");
  EXPECT_EQ(call(kernels::kGet, GetCall{address(first), 0}), CallOutcome::failed) << "nobody's key";
}

TEST_F(Shipped, GetStopsInACircle) {
  const std::uint64_t at = take(sizeof(GetEntry));
  GetEntry e;
  e.next = address(at);
  put(at, e);
  EXPECT_EQ(call(kernels::kGet, GetCall{address(at), 5}), CallOutcome::stopped);
}

// ---- consistent

TEST_F(Shipped, ConsistentAnswersWhatItsChecksumSays) {
  for (const std::uint32_t n : {0U, 1U, 100U, 4088U, 4089U, 16'000U}) {
    const std::uint64_t at = take(n + 8);
    const auto object = scene.memory().bytes.subspan(at, n);
    const std::uint64_t checksum = kernels::checksum(object);
    std::memcpy(&scene.memory().bytes[at + n], &checksum, sizeof checksum);
    EXPECT_EQ(call(kernels::kConsistent, ConsistentCall{address(at), n + 8}), CallOutcome::success);
    EXPECT_TRUE(scene.answer() == text_of(object)) << n;
    if (n == 0) continue;
    object[n / 2] ^= std::byte{1};
    EXPECT_EQ(call(kernels::kConsistent, ConsistentCall{address(at), n + 8}), CallOutcome::failed) << n;
  }
  EXPECT_EQ(call(kernels::kConsistent, ConsistentCall{address(64), kernels::kMostObject + 1}), CallOutcome::failed);
  EXPECT_EQ(call(kernels::kConsistent, ConsistentCall{address(64), 7}), CallOutcome::failed);
}

// The answer is sent again from a copy: what its owner writes meanwhile cannot be seen in it.
TEST_F(Shipped, ConsistentSendsItsCopyAgainAndNotLiveMemory) {
  BedSpec spec;
  spec.link.faults.count_world = true;
  spec.link.faults.script = {{sim::Fault::drop, 2},
                             {sim::Fault::drop, 3}};  // the answer, or what acknowledges the call
  CallScene other(spec);
  other.clear_answers();
  ASSERT_EQ(other.card().deploy(kernels::consistent()), host::Error::none);
  const auto object = other.memory().bytes.subspan(0, 500);
  const std::string before = text_of(object);
  const std::uint64_t checksum = kernels::checksum(object);
  std::memcpy(&other.memory().bytes[500], &checksum, sizeof checksum);
  const ConsistentCall parameters{other.memory().address, 508};
  ASSERT_EQ(other.call({.opcode = kernels::kConsistent, .parameters = bytes_of_object(parameters)}), host::Error::none);
  other.bed.world().run_until(microseconds(20));
  ASSERT_EQ(other.head().outcome, CallOutcome::none) << "the answer was dropped";
  std::ranges::fill(object, std::byte{0});
  ASSERT_TRUE(other.bed.run());
  EXPECT_EQ(other.head().outcome, CallOutcome::success);
  EXPECT_TRUE(other.answer() == before);
}

}  // namespace
}  // namespace weft::test

// Programs that share memory do not trust each other with its size: who touches a page that is cut off ends.
#include "world/real/os/mapping.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace weft::real {
namespace {

struct Page {
  std::byte bytes[4096];
};

TEST(Mapping, IsOfMemoryThatKeepsItsSize) {
  const Descriptor memory = make_shared_memory("test", sizeof(Page));
  ASSERT_TRUE(memory);
  const auto page = Mapping<Page>::of(memory.get());
  ASSERT_TRUE(page);
  for (const off_t bytes : {off_t{0}, off_t{2 * sizeof(Page)}}) {
    EXPECT_EQ(ftruncate(memory.get(), bytes), -1);
    EXPECT_EQ(errno, EPERM);
  }
  EXPECT_EQ(fcntl(memory.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1) << "nor may anybody else be locked out";
  page->bytes[4095] = std::byte{7};
  EXPECT_EQ(Mapping<Page>::of(memory.get())->bytes[4095], std::byte{7});
}

TEST(Mapping, IsNoneOfMemoryThatIsTooSmallOrMayShrink) {
  const Descriptor small = make_shared_memory("test", sizeof(Page) - 1);
  EXPECT_FALSE(Mapping<Page>::of(small.get()));
  const Descriptor loose(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(loose.get(), sizeof(Page)), 0);
  EXPECT_FALSE(Mapping<Page>::of(loose.get()));
  EXPECT_FALSE(Mapping<Page>::of(-1));
}

}  // namespace
}  // namespace weft::real

// Object files that are not what they say.
#include "bytecode/object.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "bytecode/objects.h"

namespace weft::bytecode {
namespace {

// Where things are in an ELF header, and in a section's.
constexpr std::size_t kMachineAt = 18, kSectionsAt = 40, kSectionBytesAt = 58, kSectionCountAt = 60, kNamesAt = 62;
constexpr std::size_t kSectionHeader = 64, kOffsetInSection = 24, kSizeInSection = 32;

class Objects : public testing::Test {
 protected:
  [[nodiscard]] BytecodeFault read(std::string_view section = "") const {
    std::vector<Instruction> program;
    return read_object(object, section, program).fault;
  }
  template <class T>
  void put(std::size_t at, T value) {
    std::memcpy(&object.at(at), &value, sizeof value);
  }
  template <class T>
  [[nodiscard]] T get(std::size_t at) const {
    T value;
    std::memcpy(&value, &object.at(at), sizeof value);
    return value;
  }
  // Where the header of the section is that has the program's bytes.
  [[nodiscard]] std::size_t program_header() const {
    const auto table = get<std::uint64_t>(kSectionsAt);
    for (std::size_t n = 0; n < get<std::uint16_t>(kSectionCountAt); ++n) {
      const std::size_t at = table + n * kSectionHeader;
      if (get<std::uint32_t>(at + 4) == 1 && get<std::uint64_t>(at + kSizeInSection) != 0) return at;
    }
    return 0;
  }

  std::vector<std::byte> object = object_of("where");
};

TEST_F(Objects, AreReadBySectionOrWithoutIfThereIsOnlyOne) {
  EXPECT_EQ(read(), BytecodeFault::none);
  EXPECT_EQ(read("weft/where"), BytecodeFault::none);
  EXPECT_EQ(read("weft/there"), BytecodeFault::object_no_section);
  EXPECT_EQ(read(".text"), BytecodeFault::empty);
}

TEST_F(Objects, OfOtherKindsAreNotKnown) {
  put<std::uint16_t>(kMachineAt, 62);
  EXPECT_EQ(read(), BytecodeFault::object_unknown);
  object.assign(100, std::byte{0});
  EXPECT_EQ(read(), BytecodeFault::object_unknown);
  object.clear();
  EXPECT_EQ(read(), BytecodeFault::object_truncated);
  object.resize(kMostObjectBytes + 1);
  EXPECT_EQ(read(), BytecodeFault::object_too_large);
}

TEST_F(Objects, ThatAreCutOffAnywhereAreTruncated) {
  const std::vector<std::byte> whole = object;
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    object.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
    EXPECT_EQ(read(), BytecodeFault::object_truncated) << bytes;
  }
}

TEST_F(Objects, ThatLieAboutSizesAreTruncated) {
  const std::vector<std::byte> whole = object;
  const std::size_t header = program_header();
  for (const std::uint64_t lie :
       {std::uint64_t{1} << 20, std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{7}}) {
    object = whole;
    put(header + kSizeInSection, lie);
    EXPECT_NE(read(), BytecodeFault::none) << lie;
    object = whole;
    put(header + kOffsetInSection, lie);
    EXPECT_EQ(read(), BytecodeFault::object_truncated) << lie;
    object = whole;
    put(kSectionsAt, lie);
    EXPECT_EQ(read(), BytecodeFault::object_truncated) << lie;
  }
  object = whole;
  put<std::uint16_t>(kSectionCountAt, 0xFFFF);
  EXPECT_EQ(read(), BytecodeFault::object_truncated);
  object = whole;
  put<std::uint16_t>(kNamesAt, 0xFFFF);
  EXPECT_EQ(read(), BytecodeFault::object_truncated);
  object = whole;
  put<std::uint16_t>(kSectionBytesAt, 1);
  EXPECT_EQ(read(), BytecodeFault::object_unknown);
  object = whole;
  put<std::uint32_t>(header, 0xFFFF'FFFF);  // its name
  EXPECT_EQ(read(), BytecodeFault::object_truncated);
  object = whole;
  put<std::uint64_t>(header + kSizeInSection, 12);
  EXPECT_EQ(read(), BytecodeFault::empty);
}

TEST_F(Objects, WithSeveralKernelsMustBeAskedForOne) {
  object = object_of("two");
  EXPECT_EQ(read(), BytecodeFault::object_many_sections);
  EXPECT_EQ(read("weft/first"), BytecodeFault::none);
  EXPECT_EQ(read("weft/second"), BytecodeFault::none);
}

TEST_F(Objects, ThatReferToMemoryOrFunctionsOutsideAreRefused) {
  object = object_of("outside");
  EXPECT_EQ(read("weft/constant"), BytecodeFault::object_relocated);
  EXPECT_EQ(read("weft/function"), BytecodeFault::object_relocated);
}

}  // namespace
}  // namespace weft::bytecode

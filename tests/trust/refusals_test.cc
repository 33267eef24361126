// Every refusal that has a name has a test that provokes it, and every number of the checklist a test named for it.
#include <cstdio>
#include <fstream>
#include <set>

#include "expect.h"
#include "wire/cm.h"
#include "wire/vendor_mad.h"

namespace weft::trust {
namespace {

TEST(TrustManagement, DatagramsThatAreNoConnectionManagerMessage) {
  std::array<std::byte, wire::kMadBytes> mad;
  wire::encode_cm({.transaction = 1, .body = wire::CmRtu{}}, mad);
  wire::CmMessage out;
  ASSERT_EQ(wire::parse_cm(mad, out), Refusal::none);
  const auto refuses = [&](std::span<const std::byte> bytes, Refusal why) {
    EXPECT_EQ(wire::parse_cm(bytes, out), why);
    note_provoked(why);
  };
  for (std::size_t bytes = 0; bytes < mad.size(); ++bytes) refuses(std::span(mad).first(bytes), Refusal::mad_bad_size);
  for (const std::size_t at : {0, 1, 2, 3}) {  // base version, class, class version, method
    auto wrong = mad;
    wrong[at] ^= std::byte{0x40};
    refuses(wrong, Refusal::mad_not_cm);
  }
  auto unknown = mad;
  unknown[16] = std::byte{0x7F};
  refuses(unknown, Refusal::mad_unknown_attribute);
}

TEST(TrustManagement, DatagramsThatAreNoQuestionOrAnswerOfWeftCards) {
  const wire::VendorMad question{.transaction = 1, .versions = {1, 2}};
  std::array<std::byte, wire::kMadBytes> mad;
  wire::encode_vendor(question, mad);
  wire::VendorMad out;
  ASSERT_EQ(wire::parse_vendor(mad, out), Refusal::none);
  const auto refuses = [&](std::span<const std::byte> bytes, Refusal why) {
    EXPECT_EQ(wire::parse_vendor(bytes, out), why);
    EXPECT_EQ(out, question) << "what is refused changes nothing";
    note_provoked(why);
  };
  for (std::size_t bytes = 0; bytes < mad.size(); ++bytes) refuses(std::span(mad).first(bytes), Refusal::mad_bad_size);
  for (const std::size_t at : {0, 1, 2, 3, 17, 39, 40}) {  // up to the method; attribute, maker, magic
    auto wrong = mad;
    wrong[at] ^= std::byte{0x40};
    refuses(wrong, Refusal::mad_not_weft);
  }
  auto backwards = mad;
  backwards[48] = std::byte{3};
  refuses(backwards, Refusal::mad_bad_versions);
}

TEST(TrustChecklist, EveryNumberHasItsTest) {
  std::set<std::string> tested;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const std::string name = suite.GetTestInfo(t)->name();
      tested.insert(name.substr(0, name.find('_')));
    }
  }
  std::ifstream file("tests/trust/checklist.md");  // tests run in the project's folder
  ASSERT_TRUE(file.is_open());
  unsigned numbers = 0;
  for (std::string line; std::getline(file, line);) {
    unsigned number = 0;
    if (std::sscanf(line.c_str(), "| %u |", &number) != 1) continue;
    ++numbers;
    const std::string name = (number < 10 ? "T0" : "T") + std::to_string(number);
    EXPECT_TRUE(tested.contains(name)) << "no test is named for " << line;
  }
  EXPECT_GE(numbers, 43U);
}

// After all tests, if all of them ran.
class EveryRefusal final : public testing::Environment {
 public:
  void TearDown() override {
    const testing::UnitTest& suite = *testing::UnitTest::GetInstance();
    if (suite.test_to_run_count() != suite.total_test_count() || suite.Failed()) return;
    // StaR's stand last, and have their tests in tests/star and beside wire/star.h.
    for (std::size_t i = 1; i < static_cast<std::size_t>(Refusal::star_bad_checksum); ++i) {
      EXPECT_TRUE(was_provoked(static_cast<Refusal>(i))) << "no test provokes " << kRefusals[i].counter;
    }
  }
};
const testing::Environment* const kEveryRefusal = testing::AddGlobalTestEnvironment(new EveryRefusal);

}  // namespace
}  // namespace weft::trust

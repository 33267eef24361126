// Where the tap writes and when; what others read in it is tests/tap's business.
#include "world/real/port/tap.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::real {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class TapTest : public testing::Test {
 protected:
  TapTest() {
    std::string name = (fs::temp_directory_path() / "weft-tap-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~TapTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] static Tap opened(const std::string& path) {
    tl::expected<Tap, std::string> tap = Tap::open(path, 0);
    if (!tap) throw std::runtime_error(tap.error());
    return std::move(*tap);
  }
  static void capture(Tap& tap, Time now = 0, std::string_view comment = {}) {
    const std::vector<std::byte> payload(17);
    wire::Flow flow;
    flow.source = flow.destination = wire::Address::v4(127, 0, 0, 1);
    tap.packet(now, Direction::outbound, flow, payload, comment);
  }

  fs::path folder_;
};

TEST_F(TapTest, BeginsWithItsHeadersAndHasPacketsWhenAsked) {
  Tap tap = opened(path("a.pcapng"));
  const auto empty = fs::file_size(path("a.pcapng"));
  EXPECT_GT(empty, 0u);
  capture(tap);
  EXPECT_EQ(fs::file_size(path("a.pcapng")), empty);
  tap.flush();
  EXPECT_EQ(fs::file_size(path("a.pcapng")), empty + 32 + 60 + 8 + 4);  // 14 + 20 + 8 + 17 bytes, padded
}

TEST_F(TapTest, WritesWithinATenthOfASecond) {
  Tap tap = opened(path("a.pcapng"));
  const auto empty = fs::file_size(path("a.pcapng"));
  EXPECT_EQ(tap.next_deadline(), kNever);
  capture(tap, seconds(5));
  EXPECT_EQ(tap.next_deadline(), seconds(5) + milliseconds(100));
  tap.on_time(tap.next_deadline() - 1);
  EXPECT_EQ(fs::file_size(path("a.pcapng")), empty);
  tap.on_time(tap.next_deadline());
  EXPECT_GT(fs::file_size(path("a.pcapng")), empty);
  EXPECT_EQ(tap.next_deadline(), kNever);
}

TEST_F(TapTest, WritesWhatIsLeftWhenItGoes) {
  {
    Tap tap = opened(path("a.pcapng")), moved = std::move(tap);
    capture(moved);
  }
  { Tap tap = opened(path("b.pcapng")); }
  EXPECT_GT(fs::file_size(path("a.pcapng")), fs::file_size(path("b.pcapng")));
}

TEST_F(TapTest, ASecondWriterTakesAFileBesideTheFirst) {
  Tap first = opened(path("run.pcapng")), second = opened(path("run.pcapng"));
  EXPECT_EQ(first.path(), path("run.pcapng"));
  EXPECT_EQ(second.path(), path("run." + std::to_string(::getpid()) + ".pcapng"));
  EXPECT_TRUE(fs::exists(second.path()));
  Tap plain = opened(path("run")), beside = opened(path("run"));
  EXPECT_EQ(beside.path(), path("run." + std::to_string(::getpid())));
}

TEST_F(TapTest, TheNextRunBeginsAnew) {
  {
    Tap tap = opened(path("a.pcapng"));
    for (int i = 0; i < 100; ++i) capture(tap);
  }
  const auto full = fs::file_size(path("a.pcapng"));
  Tap tap = opened(path("a.pcapng"));
  EXPECT_LT(fs::file_size(tap.path()), full);
}

TEST_F(TapTest, PercentPIsTheProcess) {
  EXPECT_EQ(opened(path("%p-%p.pcapng")).path(),
            path(std::to_string(::getpid()) + "-" + std::to_string(::getpid()) + ".pcapng"));
}

TEST_F(TapTest, AChildDoesNotWriteItsParentsPackets) {
  Tap tap = opened(path("a.pcapng"));
  capture(tap);
  const auto before = fs::file_size(tap.path());
  if (const pid_t child = ::fork(); child == 0) {
    tap.flush();
    ::_exit(0);
  } else {
    ::waitpid(child, nullptr, 0);
  }
  EXPECT_EQ(fs::file_size(tap.path()), before);
  tap.flush();
  EXPECT_GT(fs::file_size(tap.path()), before);
}

TEST_F(TapTest, SaysWhyItCannot) {
  const auto tap = Tap::open(path("no/such/folder.pcapng"), 0);
  ASSERT_FALSE(tap);
  EXPECT_THAT(tap.error(), HasSubstr("cannot write the capture file"));
  EXPECT_THAT(tap.error(), HasSubstr("No such file"));
  const auto full = Tap::open("/dev/full", 0);
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error(), HasSubstr("No space left"));
}

TEST_F(TapTest, ManyPacketsDoNotWaitForTheClock) {
  Tap tap = opened(path("a.pcapng"));
  for (int i = 0; i < 20'000; ++i) capture(tap, 0, "a comment of some length, so that the buffer is soon full");
  EXPECT_GT(fs::file_size(tap.path()), 2u << 20);
  tap.flush();
  EXPECT_TRUE(tap.trouble().empty());
}

}  // namespace
}  // namespace weft::real

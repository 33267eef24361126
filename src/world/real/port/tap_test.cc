// Where the tap writes and when; what others read in it is tests/tap's business.
#include "world/real/port/tap.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world/real/os/time.h"

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
}

// ---- what it may write

class CaptureFiles : public TapTest {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  static std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Is refused, for this reason, and left as it was.
  void refused(const std::string& path, const std::string& why) {
    const std::string before = content(path);
    const auto tap = Tap::open(path, 0);
    ASSERT_FALSE(tap) << path;
    EXPECT_THAT(tap.error(), HasSubstr("cannot write the capture file '" + path + "': " + why));
    EXPECT_EQ(content(path), before);
  }
};

TEST_F(CaptureFiles, WhatIsNoCaptureIsNotOverwritten) {
  const std::string why = "it is neither empty nor a capture of Weft's";
  refused(file("notes", "all that I know\n"), why);
  refused(file("short", "\n"), why);
  { Tap tap = opened(path("capture")); }
  std::string others = content(path("capture"));
  others.replace(others.find("weft"), 4, "tcpd");
  refused(file("others", others), why);
  refused(file("cut", content(path("capture")).substr(0, 20)), why);
}

TEST_F(CaptureFiles, EmptyFilesAndOwnCapturesAre) {
  const std::string empty = file("empty", "");
  const auto bytes_of_a_run = [&empty](int packets) {
    {
      Tap tap = opened(empty);
      for (int i = 0; i < packets; ++i) capture(tap);
    }
    return fs::file_size(empty);
  };
  const auto many = bytes_of_a_run(10);
  EXPECT_GT(many, 0u);
  EXPECT_LT(bytes_of_a_run(1), many);
}

TEST_F(CaptureFiles, AreTheUsersAlone) {
  Tap tap = opened(path("new"));
  struct stat facts {};
  ASSERT_EQ(::stat(path("new").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600u);
}

TEST_F(CaptureFiles, LinksLeadToWhatMayBeOverwritten) {
  const std::string notes = file("notes", "all that I know\n");
  fs::create_symlink(notes, path("to-notes"));
  refused(path("to-notes"), "it is neither empty nor");
  fs::create_symlink(file("empty", ""), path("to-empty"));
  EXPECT_TRUE(Tap::open(path("to-empty"), 0));
  EXPECT_GT(fs::file_size(path("empty")), 0u);
}

TEST_F(CaptureFiles, NothingOfOthersIsWritten) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files to others";
  const std::string why = "it belongs to user 54321, who is neither you nor root", theirs = file("theirs", "");
  ASSERT_EQ(::chown(theirs.c_str(), 54321, 54321), 0);
  refused(theirs, why);
  fs::create_symlink(file("mine", ""), path("link"));
  ASSERT_EQ(::lchown(path("link").c_str(), 54321, 54321), 0);
  refused(path("link"), "it is a symbolic link, and " + why);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0666), 0);
  ASSERT_EQ(::chown(path("pipe").c_str(), 54321, 54321), 0);
  const auto tap = Tap::open(path("pipe"), 0);
  ASSERT_FALSE(tap);
  EXPECT_THAT(tap.error(), HasSubstr(why));
}

TEST_F(CaptureFiles, FoldersAndSocketsAreNone) {
  const auto tap = Tap::open(folder_.string(), 0);
  ASSERT_FALSE(tap);
  EXPECT_THAT(tap.error(), HasSubstr("it is neither a file nor a pipe nor a character device"));
}

// Wireshark reads it while it is written; when it goes, the program does not go with it.
TEST_F(CaptureFiles, APipeIsWrittenUntilItsReaderGoes) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  Tap tap = opened(path("pipe"));
  std::array<char, 4096> read{};
  EXPECT_GT(::read(reader, read.data(), read.size()), 0);
  ::close(reader);
  capture(tap);
  testing::internal::CaptureStderr();
  tap.flush();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "weft: stopped capturing to '" + path("pipe") + "': Broken pipe\n");
}

TEST_F(CaptureFiles, AFullDiskIsSaidOnceAndNothingElseHappens) {
  testing::internal::CaptureStderr();
  {
    Tap tap = opened("/dev/full");
    for (int i = 0; i < 3; ++i) {
      capture(tap);
      tap.flush();
    }
    EXPECT_THAT(tap.trouble(), HasSubstr("No space left"));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "weft: stopped capturing to '/dev/full': No space left on device\n");
}

// A limit on the size of files comes with a signal that would end the program.
TEST_F(CaptureFiles, AFileThatMayNotGrowIsSaidAndEndsNobody) {
  const auto begin = [this] {
    Tap tap = opened(path("short"));
    return fs::file_size(path("short"));
  }();
  const pid_t child = ::fork();
  if (child == 0) {
    Tap tap = opened(path("a"));
    const rlimit limit{.rlim_cur = begin + 50, .rlim_max = begin + 50};
    const bool ready = ::signal(SIGXFSZ, SIG_DFL) != SIG_ERR && ::setrlimit(RLIMIT_FSIZE, &limit) == 0;
    ::close(STDERR_FILENO);
    capture(tap);
    tap.flush();
    ::_exit(ready && tap.trouble().find("File too large") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// ---- and how

TEST_F(TapTest, ManyPacketsDoNotWaitForTheClock) {
  Tap tap = opened(path("a.pcapng"));
  for (int i = 0; i < 20'000; ++i) capture(tap, 0, "a comment of some length, so that the buffer is soon full");
  EXPECT_GT(fs::file_size(tap.path()), 2u << 20);
  tap.flush();
  EXPECT_TRUE(tap.trouble().empty());
}

}  // namespace
}  // namespace weft::real

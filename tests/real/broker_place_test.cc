// Where the broker listens nobody else can, and a broker that does not answer is not waited for without end.
#include "world/real/broker/broker_place.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "alone.h"
#include "lanes.h"
#include "world/real/broker/broker_client.h"

namespace weft::real {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kStranger = 1234;

Settings settings() { return small_lane_at(wire::Address::v4(127, 0, 10, 1)); }

// Why a lane cannot join; 0: it can.
Trouble join() {
  Nobody owner;
  Lane lane(settings(), owner);
  const auto attached = lane.attach();
  return attached ? Trouble{} : attached.error();
}

bool says(const Trouble& trouble, int code, const std::string& what) {
  const bool so = trouble.code == code && trouble.what.find(what) != std::string::npos;
  if (!so) ADD_FAILURE() << trouble.code << ": " << trouble.what;
  return so;
}

TEST(PrivateFolder, IsOursAloneOrIsNone) {
  std::string name = (fs::temp_directory_path() / "weft-place-XXXXXX").string();
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  EXPECT_TRUE(check_private(name));
  const std::string link = name + "-link";
  fs::create_directory_symlink(name, link);
  EXPECT_FALSE(check_private(link)) << "whoever owns a link can point it elsewhere";
  fs::remove(link);
  for (const mode_t open : {0755U, 0711U, 0770U}) {
    ASSERT_EQ(chmod(name.c_str(), open), 0);
    EXPECT_FALSE(check_private(name)) << open;
  }
  ASSERT_EQ(chmod(name.c_str(), 0700), 0);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(name.c_str(), kStranger, kStranger), 0);
    const auto others = check_private(name);
    ASSERT_FALSE(others);
    EXPECT_NE(others.error().what.find("uid 1234"), std::string::npos) << others.error().what;
  }
  fs::remove(name);
  EXPECT_EQ(check_private(name).error().code, ENOENT);
}

// As another user at the name that the broker had once: nobody takes the calls, and the line is full.
pid_t squat_abstract_name() {
  const std::string name = "weft-broker-" + std::to_string(geteuid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto* plain = static_cast<const sockaddr*>(static_cast<const void*>(&address));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const pid_t squatter = fork();
  if (squatter == 0) {
    if (setresuid(kStranger, kStranger, kStranger) != 0) _exit(1);
    const int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0), caller = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (bind(listener, plain, bytes) != 0 || listen(listener, 0) != 0 || connect(caller, plain, bytes) != 0) _exit(1);
    raise(SIGSTOP);  // with all it has
    _exit(0);
  }
  int status = 0;
  return waitpid(squatter, &status, WUNTRACED) == squatter && WIFSTOPPED(status) ? squatter : -1;
}

// Bug: every program of the user waited for ever.
TEST(BrokerPlace, IsNoNameThatAnotherUserCanTake) {
  if (geteuid() != 0) GTEST_SKIP() << "to be another user needs root";
  alone([] {
    const pid_t squatter = squat_abstract_name();
    if (squatter < 0) return false;
    const bool reached = BrokerClient::is_there();
    kill(squatter, SIGKILL);
    return reached;
  });
}

// Empty, for this process alone.
bool hide(const char* folder) {
  return unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", folder, "tmpfs", 0, nullptr) == 0;
}

TEST(BrokerPlace, OfAnotherUserIsRefusedAtOnceAndTheUserNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "to be another user needs root";
  alone([] {
    const std::string folder = "/tmp/weft-broker-" + std::to_string(geteuid());
    const bool squatted = hide("/run") && hide("/tmp") && mkdir(folder.c_str(), 0700) == 0 &&
                          chown(folder.c_str(), kStranger, kStranger) == 0;
    return squatted && says(join(), EACCES, "belongs to uid 1234");
  });
}

TEST(BrokerPlace, IsTheSessionsFolderIfThereIsOne) {
  if (geteuid() != 0) GTEST_SKIP() << "to make the session's folder needs root";
  alone([] {
    if (!hide("/run")) return false;
    const std::string folder = "/run/user/" + std::to_string(geteuid());
    fs::create_directories(folder);
    fs::permissions(folder, fs::perms::owner_all);
    return BrokerClient::is_there() && !fs::is_empty(folder);
  });
}

// Bug: 25 seconds later it was told that the broker ends each time it is asked.
TEST(Broker, ThatDoesNotAnswerIsNamed) {
  alone([] {
    const Conversation broker = reached_broker();
    if (!broker) return false;
    const pid_t process = process_of(broker);
    kill(process, SIGSTOP);
    const Trouble trouble = join();
    kill(process, SIGCONT);
    return says(trouble, ETIMEDOUT, "process " + std::to_string(process) + " of ");
  });
}

TEST(Broker, IsFoundAgainWhenItsSocketIsRemoved) {
  alone([] {
    const TestLane keeps_it(settings());
    const pid_t process = process_of(call_broker());
    fs::remove(broker_socket());
    return eventually([] { return static_cast<bool>(call_broker()); }) && process_of(call_broker()) == process;
  });
}

TEST(Broker, LeavesNothingBehindAndTheNextRemovesWhatAKilledOneLeft) {
  alone([] {
    if (!reached_broker()) return false;
    const std::string path = broker_socket();
    if (!kill_broker() || !fs::exists(path) || !BrokerClient::is_there()) return false;
    return eventually([&] { return !fs::exists(path) && !fs::exists(path + ".lock"); });
  });
}

}  // namespace
}  // namespace weft::real

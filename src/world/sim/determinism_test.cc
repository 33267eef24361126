// The same seed gives the same run, byte for byte: twice in one process, and in two processes.
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "world/sim/signal.h"
#include "world/sim/test_hosts.h"

namespace weft::sim {
namespace {

Task<> application(Fabric<TestHost>& fabric, TestHost& host, Signal& signal, std::uint32_t number) {
  Random random = fabric.random().fork(number);
  std::vector<std::byte> payload(random.below(2'000));
  for (std::byte& byte : payload) byte = static_cast<std::byte>(random.next());
  for (std::uint32_t psn = 0; psn < 50; ++psn) {
    const HostIndex to = (host.index + 1 + static_cast<HostIndex>(random.below(fabric.hosts() - 1))) %
                         static_cast<HostIndex>(fabric.hosts());
    host.send(to, number * 1'000 + psn, payload);
    if (random.chance(0.2)) signal.notify_all();
    if (random.chance(0.2)) {
      (void)co_await signal.wait_until(fabric.now() + microseconds(2));
    } else {
      co_await fabric.tasks().sleep(random.between(0, 3) * nanoseconds(100));
    }
    fabric.trace().add(fabric.now(), host.index, "sent", {psn});
  }
}

// Everything at once: every fault, ties, tasks, answers.
std::uint64_t digest_of(std::uint64_t seed) {
  FaultPlan plan;
  plan.loss = plan.duplication = plan.reordering = plan.corruption = plan.jitter = 0.05;
  TestWorld world(seed, 8, {.bits_per_second = 100'000'000'000, .delay = microseconds(1), .faults = plan});
  Signal signal(world.fabric.tasks());
  for (TestHost& host : world.hosts) {
    host.answers = 100;
    world.fabric.tasks().spawn(application(world.fabric, host, signal, host.index));
  }
  EXPECT_EQ(world.fabric.run_until_idle(), Stop::idle);
  EXPECT_EQ(world.fabric.parcels().in_flight(), 0u);
  EXPECT_EQ(world.fabric.tasks().unfinished(), 0u);
  EXPECT_GT(world.fabric.trace().events(), 1'000u);
  return world.fabric.trace().value();
}

TEST(Determinism, SameSeedSameDigestInOneProcess) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) EXPECT_EQ(digest_of(seed), digest_of(seed)) << "seed " << seed;
}

TEST(Determinism, EverySeedIsAnotherRun) {
  std::set<std::uint64_t> digests;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) digests.insert(digest_of(seed));
  EXPECT_EQ(digests.size(), 100u);
}

// Also without faults: the order of what happens at the same time is the seed's.
TEST(Determinism, TiesAloneMakeAnotherRun) {
  const auto run = [](std::uint64_t seed) {
    TestWorld world(seed, 8, {.bits_per_second = 100'000'000'000, .delay = microseconds(1)});
    for (TestHost& host : world.hosts) host.send((host.index + 1) % 8, host.index);
    world.fabric.run_until_idle();
    return world.fabric.trace().value();
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

// What the test below starts.
TEST(Determinism, PrintsItsDigest) {
  if (const char* seed = std::getenv("WEFT_SIM_DIGEST_OF"); seed != nullptr) {
    std::printf("digest %016" PRIx64 "\n", digest_of(std::strtoull(seed, nullptr, 10)));
  }
}

std::string own_path() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : std::string();
}

// Memory is filled with something else there: nothing may depend on what was never written.
std::string digest_in_another_process(std::uint64_t seed) {
  const std::string command = "MALLOC_PERTURB_=" + std::to_string(1 + seed) +
                              " WEFT_SIM_DIGEST_OF=" + std::to_string(seed) + " '" + own_path() +
                              "' --gtest_filter=Determinism.PrintsItsDigest";
  FILE* out = popen(command.c_str(), "r");
  if (out == nullptr) return {};
  std::string digest;
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), out) != nullptr) {
    const std::string text(line.data());
    if (text.starts_with("digest ")) digest = text.substr(7, 16);
  }
  EXPECT_EQ(pclose(out), 0);
  return digest;
}

TEST(Determinism, SameSeedSameDigestInTwoProcesses) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::array<char, 17> here{};
    std::snprintf(here.data(), here.size(), "%016" PRIx64, digest_of(seed));
    EXPECT_EQ(digest_in_another_process(seed), here.data()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weft::sim

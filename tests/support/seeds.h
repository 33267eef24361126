// Which seeds a swarm runs, from the environment, and what another process makes of one of them.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace weft::test {

struct Seeds {
  std::uint64_t first = 1, last = 1000;
  [[nodiscard]] std::uint64_t count() const { return last - first + 1; }
};

// WEFT_SEED=17 is one, WEFT_SEEDS=1..5000 a range.
inline Seeds chosen_seeds(Seeds usual = {}) {
  if (const char* one = std::getenv("WEFT_SEED")) {
    const std::uint64_t seed = std::strtoull(one, nullptr, 0);
    return {seed, seed};
  }
  Seeds seeds = usual;
  if (const char* range = std::getenv("WEFT_SEEDS")) {
    char* dots = nullptr;
    seeds.first = std::strtoull(range, &dots, 0);
    seeds.last = std::string_view(dots).starts_with("..") ? std::strtoull(dots + 2, nullptr, 0) : seeds.first;
  }
  return seeds;
}

// What this very program prints when it runs one seed and nothing but this test: "digest" and a number.
inline std::uint64_t digest_in_another_process(std::uint64_t seed, const std::string& test) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "WEFT_SEED=" + std::to_string(seed) + " '" + self + "' --gtest_filter=" + test;
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), pclose);
  std::array<char, 256> line{};
  unsigned long long digest = 0;
  while (std::fgets(line.data(), line.size(), output.get()) != nullptr) {
    if (std::sscanf(line.data(), "digest %llx", &digest) == 1) return digest;
  }
  ADD_FAILURE() << "no digest from: " << command;
  return 0;
}

}  // namespace weft::test

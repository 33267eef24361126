// The suite with one canary awake: canary_suite --canary=PLACE [GoogleTest's own flags]
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

#include "base/canary.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr const char* kFlag = "--canary=";
  if (argc != 2 || std::strncmp(argv[1], kFlag, std::strlen(kFlag)) != 0) {
    std::fprintf(stderr, "usage: canary_suite --canary=PLACE (its place in base/canary.h)\n");
    return 2;
  }
  weft::canary_awake = static_cast<weft::Canary>(std::atoi(argv[1] + std::strlen(kFlag)));
  return RUN_ALL_TESTS();
}

// The kernels of tests/bytecode/kernels, compiled for eBPF with the build.
#pragma once

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weft::bytecode {

inline std::vector<std::byte> object_of(const std::string& name) {
  std::ifstream file(std::string(WEFT_BYTECODE_OBJECTS) + "/" + name + ".o", std::ios::binary);
  EXPECT_TRUE(file) << name;
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::byte> bytes(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) bytes[i] = static_cast<std::byte>(text[i]);
  return bytes;
}

}  // namespace weft::bytecode

#include "wire/opcode.h"

#include <set>

#include <gtest/gtest.h>

#include "wire/test_model.h"

namespace weft::wire {
namespace {

bool has(const model::Line& line, model::Part part) {
  for (const auto p : line.parts) {
    if (p == part) return true;
  }
  return false;
}

TEST(Opcodes, AllTwoHundredFiftySixAreAsTheModelSays) {
  for (unsigned code = 0; code < 256; ++code) {
    SCOPED_TRACE(testing::Message() << "opcode " << code);
    const OpcodeInfo& o = info(static_cast<Opcode>(code));
    const model::Line* line = model::find(static_cast<std::uint8_t>(code));
    ASSERT_EQ(o.known(), line != nullptr);
    if (line == nullptr) {
      EXPECT_EQ(o.header_bytes, 0);
      EXPECT_TRUE(o.name.empty());
      continue;
    }
    EXPECT_EQ(o.service, line->service);
    EXPECT_EQ(o.verb, line->verb);
    EXPECT_EQ(o.step, line->step);
    EXPECT_EQ(o.header_bytes, line->header_bytes());
    EXPECT_EQ(o.payload, line->payload);
    EXPECT_EQ(o.deth, has(*line, model::Part::deth));
    EXPECT_EQ(o.reth, has(*line, model::Part::reth));
    EXPECT_EQ(o.atomic_eth, has(*line, model::Part::atomic));
    EXPECT_EQ(o.aeth, has(*line, model::Part::aeth));
    EXPECT_EQ(o.atomic_ack_eth, has(*line, model::Part::atomic_ack));
    EXPECT_EQ(o.immediate, has(*line, model::Part::immediate));
    EXPECT_EQ(o.ieth, has(*line, model::Part::ieth));
  }
}

TEST(Opcodes, EachHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const auto& line : model::lines()) {
    const auto name = info(static_cast<Opcode>(line.opcode)).name;
    EXPECT_FALSE(name.empty());
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

TEST(Opcodes, ResponsesAreTheSixThatAnswer) {
  for (unsigned code = 0; code < 256; ++code) {
    EXPECT_EQ(info(static_cast<Opcode>(code)).is_response(), code >= 0x0D && code <= 0x12) << code;
  }
}

}  // namespace
}  // namespace weft::wire

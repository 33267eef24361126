#include "wire/opcode.h"

#include <set>

#include <gtest/gtest.h>

#include "wire/test_model.h"

namespace weft::wire {
namespace {

bool has(const model::OpcodeLine& line, model::Part part) {
  for (const auto p : line.parts) {
    if (p == part) return true;
  }
  return false;
}

TEST(Opcodes, AllTwoHundredFiftySixAreAsTheModelSays) {
  for (unsigned code = 0; code < 256; ++code) {
    SCOPED_TRACE(testing::Message() << "opcode " << code);
    const OpcodeInfo& o = info(static_cast<Opcode>(code));
    const model::OpcodeLine* line = model::find(static_cast<std::uint8_t>(code));
    ASSERT_EQ(o.known(), line != nullptr);
    if (o.verb == Verb::star) continue;  // no BTH has it: star_test.cc
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
    EXPECT_EQ(o.sequence, has(*line, model::Part::sequence));
    EXPECT_EQ(o.target, has(*line, model::Part::target));
    EXPECT_EQ(o.srnic_ack, has(*line, model::Part::srnic_ack));
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

// What srnic adds to a packet, as its paper counts: Ethernet 14, IP 20, UDP 8, BTH 12, ICRC 4, and then its own. No
// ACK travels with a request there.
TEST(Opcodes, SrnicPacketsHaveTheHeadersOfThePaper) {
  constexpr std::size_t kOthers = 14 + 20 + 8 + 4;
  for (const auto& line : model::lines()) {
    const OpcodeInfo& o = info(static_cast<Opcode>(line.opcode));
    if (o.dialect != Dialect::srnic || o.immediate || o.ieth || (o.srnic_ack && o.payload)) continue;
    if (o.verb == Verb::send) {
      EXPECT_EQ(kOthers + o.header_bytes, 66U) << o.name;
    }
    if (o.verb == Verb::write) {
      EXPECT_EQ(kOthers + o.header_bytes, 78U) << o.name;
    }
    if (o.verb == Verb::read_response) {
      EXPECT_EQ(kOthers + o.header_bytes, 66U) << o.name;
    }
  }
}

TEST(Opcodes, ResponsesAreTheSixThatAnswerInEitherDialect) {
  for (unsigned code = 0; code < 256; ++code) {
    const unsigned plain = code >= 0xC0 ? code - 0xC0 : code;
    EXPECT_EQ(info(static_cast<Opcode>(code)).is_response(), plain >= 0x0D && plain <= 0x12) << code;
  }
}

}  // namespace
}  // namespace weft::wire

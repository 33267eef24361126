// Bytes that decide what happens to a card: packets and their damage, work, doorbells, time, regions, states. What must
// hold is written in attack.h.
#include "attack.h"
#include "fuzz/fuzz_bytes.h"

namespace {

class FuzzerChoices final : public weft::trust::Choices {
 public:
  explicit FuzzerChoices(weft::fuzz::FuzzBytes bytes) : bytes_(bytes) {}
  std::uint64_t next(std::uint64_t below) override { return bytes_.next(below); }
  // The attack is over when there are no bytes left.
  [[nodiscard]] bool over() const { return bytes_.over(); }

 private:
  weft::fuzz::FuzzBytes bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  FuzzerChoices choices({data, size});
  weft::trust::Attack attack(choices);
  while (!choices.over()) attack.step();
  attack.check_bystander();
  return 0;
}

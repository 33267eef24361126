// Bytes that decide what happens to a card: packets and their damage, work, doorbells, time, regions, states. What must
// hold is written in attack.h.
#include <cstdlib>

#include "attack.h"

namespace {

// Takes as many bytes as the choice needs. When there are none left, the attack is over.
class FuzzerChoices final : public weft::trust::Choices {
 public:
  explicit FuzzerChoices(std::span<const unsigned char> bytes) : bytes_(bytes) {}
  std::uint64_t next(std::uint64_t below) override {
    std::uint64_t value = 0;
    for (std::uint64_t span = below - 1; span > 0 && !bytes_.empty(); span >>= 8, bytes_ = bytes_.subspan(1)) {
      value = value << 8 | bytes_[0];
    }
    return value % below;
  }
  [[nodiscard]] bool over() const { return bytes_.empty(); }

 private:
  std::span<const unsigned char> bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  FuzzerChoices choices({data, size});
  weft::trust::Attack attack(choices);
  while (!choices.over()) attack.step();
  attack.check_bystander();
  return 0;
}

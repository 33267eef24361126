#include "bytecode/object.h"

#include <array>
#include <cstring>
#include <optional>

namespace weft::bytecode {
namespace {

// System V ABI, chapters 4 and 5: what is used here of an ELF header and of a section's.
struct ElfHeader {
  std::array<std::uint8_t, 16> identity;
  std::uint16_t type, machine;
  std::uint32_t version;
  std::uint64_t entry, programs_at, sections_at;
  std::uint32_t flags;
  std::uint16_t header_bytes, program_bytes, programs, section_bytes, sections, names;
};
static_assert(sizeof(ElfHeader) == 64);
struct ElfSection {
  std::uint32_t name, type;
  std::uint64_t flags, address, at, bytes;
  std::uint32_t link, info;
  std::uint64_t alignment, entry_bytes;
};
static_assert(sizeof(ElfSection) == 64);

constexpr std::array<std::uint8_t, 7> kIdentity{0x7F, 'E', 'L', 'F', 2, 1, 1};  // 64 bits, little endian, version 1
constexpr std::uint16_t kRelocatable = 1, kMachine = 247;
constexpr std::uint32_t kProgramBits = 1, kRelocationsWithAddend = 4, kRelocations = 9;

// Nothing: it does not lie in the object.
std::optional<std::span<const std::byte>> part(std::span<const std::byte> object, std::uint64_t at,
                                               std::uint64_t bytes) {
  if (at > object.size() || bytes > object.size() - at) return std::nullopt;
  return object.subspan(at, bytes);
}

class Sections {
 public:
  explicit Sections(std::span<const std::byte> object) : object_(object) {}

  [[nodiscard]] BytecodeFault open() {
    ElfHeader header;
    if (object_.size() < sizeof header) return BytecodeFault::object_truncated;
    std::memcpy(&header, object_.data(), sizeof header);
    if (std::memcmp(header.identity.data(), kIdentity.data(), kIdentity.size()) != 0)
      return BytecodeFault::object_unknown;
    if (header.type != kRelocatable || header.machine != kMachine) return BytecodeFault::object_unknown;
    if (header.section_bytes != sizeof(ElfSection)) return BytecodeFault::object_unknown;
    const auto table = part(object_, header.sections_at, std::uint64_t{header.sections} * sizeof(ElfSection));
    if (!table || header.names >= header.sections) return BytecodeFault::object_truncated;
    sections_.resize(header.sections);
    std::memcpy(sections_.data(), table->data(), table->size());
    const auto names = part(object_, sections_[header.names].at, sections_[header.names].bytes);
    if (!names) return BytecodeFault::object_truncated;
    names_ = {static_cast<const char*>(static_cast<const void*>(names->data())), names->size()};
    return BytecodeFault::none;
  }
  [[nodiscard]] BytecodeFault find(std::string_view wanted, std::size_t& found) const {
    bool any = false;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (sections_[i].type != kProgramBits) continue;
      const auto name = name_of(sections_[i]);
      if (!name) return BytecodeFault::object_truncated;
      if (wanted.empty() ? !name->starts_with(kSectionPrefix) : *name != wanted) continue;
      if (any) return BytecodeFault::object_many_sections;
      any = true;
      found = i;
    }
    return any ? BytecodeFault::none : BytecodeFault::object_no_section;
  }
  [[nodiscard]] bool is_relocated(std::size_t section) const {
    for (const ElfSection& s : sections_) {
      const bool relocates = s.type == kRelocations || s.type == kRelocationsWithAddend;
      if (relocates && s.info == section && s.bytes != 0) return true;
    }
    return false;
  }
  [[nodiscard]] std::optional<std::span<const std::byte>> bytes_of(std::size_t section) const {
    return part(object_, sections_[section].at, sections_[section].bytes);
  }

 private:
  [[nodiscard]] std::optional<std::string_view> name_of(const ElfSection& s) const {
    if (s.name >= names_.size()) return std::nullopt;
    const std::string_view rest = names_.substr(s.name);
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    return rest.substr(0, end);
  }

  std::span<const std::byte> object_;
  std::vector<ElfSection> sections_;
  std::string_view names_;
};

}  // namespace

BytecodeVerdict read_object(std::span<const std::byte> object, std::string_view section,
                            std::vector<Instruction>& program) {
  if (object.size() > kMostObjectBytes) return {BytecodeFault::object_too_large};
  Sections sections(object);
  if (const BytecodeFault f = sections.open(); f != BytecodeFault::none) return {f};
  std::size_t found = 0;
  if (const BytecodeFault f = sections.find(section, found); f != BytecodeFault::none) return {f};
  if (sections.is_relocated(found)) return {BytecodeFault::object_relocated};
  const auto bytes = sections.bytes_of(found);
  if (!bytes) return {BytecodeFault::object_truncated};
  if (bytes->empty() || bytes->size() % sizeof(Instruction) != 0) return {BytecodeFault::empty};
  if (bytes->size() / sizeof(Instruction) > kMostInstructions) return {BytecodeFault::too_long};
  program.resize(bytes->size() / sizeof(Instruction));
  std::memcpy(program.data(), bytes->data(), bytes->size());
  return {};
}

}  // namespace weft::bytecode

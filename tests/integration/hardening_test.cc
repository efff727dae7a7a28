// The file of the program: the protections that the compiler and the linker put into it. The test
// reads the headers of the ELF file, so it also finds that a flag was lost before the linker.
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/file_bytes.h"
#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

using testing::Contains;
using testing::EndsWith;

/// An ELF file of 64 bits. A range that is outside of the file reads as zeros.
class ElfFile {
 public:
  explicit ElfFile(std::string bytes) : bytes_(std::move(bytes)), head_(at<Elf64_Ehdr>(0)) {}

  bool is_valid() const {
    return bytes_.starts_with(ELFMAG) && head_.e_ident[EI_CLASS] == ELFCLASS64;
  }
  bool is_position_independent() const {
    return head_.e_type == ET_DYN && segment(PT_INTERP).has_value();
  }
  bool is_for_x86() const { return head_.e_machine == EM_X86_64; }

  std::optional<Elf64_Phdr> segment(uint32_t type) const {
    for (size_t i = 0; i < head_.e_phnum; ++i) {
      const auto one = at<Elf64_Phdr>(head_.e_phoff + i * sizeof(Elf64_Phdr));
      if (one.p_type == type) return one;
    }
    return std::nullopt;
  }

  /// Whether the dynamic linker resolves all functions at the start, so that their table can be
  /// made read-only.
  bool binds_at_start() const {
    const std::optional<Elf64_Phdr> dynamic = segment(PT_DYNAMIC);
    if (!dynamic) return false;
    for (size_t i = 0; i < dynamic->p_filesz / sizeof(Elf64_Dyn); ++i) {
      const auto entry = at<Elf64_Dyn>(dynamic->p_offset + i * sizeof(Elf64_Dyn));
      if (entry.d_tag == DT_BIND_NOW) return true;
      if (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_BIND_NOW) != 0) return true;
      if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_NOW) != 0) return true;
    }
    return false;
  }

  /// The names of the functions that the program takes from libraries.
  std::vector<std::string> imports() const {
    std::vector<std::string> names;
    for (const auto& [name, symbol] : symbols(SHT_DYNSYM)) {
      if (symbol.st_shndx == SHN_UNDEF) names.push_back(name);
    }
    return names;
  }

  /// The first bytes of a function; empty if the file has no such symbol.
  std::string code_of(std::string_view function, size_t bytes) const {
    for (const auto& [name, symbol] : symbols(SHT_SYMTAB)) {
      if (name != function || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      for (size_t i = 0; i < head_.e_phnum; ++i) {
        const auto one = at<Elf64_Phdr>(head_.e_phoff + i * sizeof(Elf64_Phdr));
        const bool has_it = one.p_type == PT_LOAD && symbol.st_value >= one.p_vaddr &&
                            symbol.st_value - one.p_vaddr < one.p_filesz;
        if (has_it) return text(one.p_offset + symbol.st_value - one.p_vaddr, bytes);
      }
    }
    return {};
  }

 private:
  template <class T>
  T at(uint64_t offset) const {
    T value{};
    if (offset <= bytes_.size() && bytes_.size() - offset >= sizeof value) {
      std::memcpy(&value, bytes_.data() + offset, sizeof value);
    }
    return value;
  }

  std::string text(uint64_t offset, size_t size) const {
    return offset < bytes_.size() ? bytes_.substr(offset, size) : std::string();
  }

  std::vector<std::pair<std::string, Elf64_Sym>> symbols(uint32_t table) const {
    std::vector<std::pair<std::string, Elf64_Sym>> found;
    for (size_t i = 0; i < head_.e_shnum; ++i) {
      const Elf64_Shdr section = this->section(i);
      if (section.sh_type != table) continue;
      const Elf64_Shdr names = this->section(section.sh_link);
      for (size_t j = 0; j < section.sh_size / sizeof(Elf64_Sym); ++j) {
        const auto symbol = at<Elf64_Sym>(section.sh_offset + j * sizeof(Elf64_Sym));
        const uint64_t name = names.sh_offset + symbol.st_name;
        if (name < bytes_.size()) found.emplace_back(bytes_.data() + name, symbol);
      }
    }
    return found;
  }

  Elf64_Shdr section(size_t index) const {
    return at<Elf64_Shdr>(head_.e_shoff + index * sizeof(Elf64_Shdr));
  }

  std::string bytes_;
  Elf64_Ehdr head_;
};

class HardeningTest : public testing::Test {
 protected:
  void SetUp() override {
#ifndef MILLRACE_HARDENED
    GTEST_SKIP() << "this build is not hardened: it has sanitizers, or MILLRACE_HARDENED is off";
#endif
    ASSERT_TRUE(program_.is_valid()) << millrace_program();
  }

  const ElfFile program_{file_bytes(millrace_program())};
};

TEST_F(HardeningTest, PutsTheProgramAtARandomAddress) {
  EXPECT_TRUE(program_.is_position_independent());
}

TEST_F(HardeningTest, MakesTheTablesOfFunctionsReadOnlyAtTheStart) {
  EXPECT_TRUE(program_.segment(PT_GNU_RELRO));
  EXPECT_TRUE(program_.binds_at_start());
}

TEST_F(HardeningTest, MakesTheStackNotExecutable) {
  const std::optional<Elf64_Phdr> stack = program_.segment(PT_GNU_STACK);
  ASSERT_TRUE(stack);
  EXPECT_EQ(stack->p_flags & PF_X, 0U);
}

TEST_F(HardeningTest, ChecksStackFramesAndTheSizesOfBuffers) {
  const std::vector<std::string> imports = program_.imports();
  EXPECT_THAT(imports, Contains("__stack_chk_fail"));
  EXPECT_THAT(imports, Contains(EndsWith("_chk"))) << "no function of FORTIFY_SOURCE is used";
}

TEST_F(HardeningTest, MarksTheTargetsOfIndirectJumps) {
  if (!program_.is_for_x86()) GTEST_SKIP() << "the instruction endbr64 is of x86-64";
  // The program has no note that claims this for all of its code: the start files of Debian's libc
  // do not claim it.
  EXPECT_EQ(program_.code_of("main", 4), "\xf3\x0f\x1e\xfa");
}

}  // namespace
}  // namespace millrace

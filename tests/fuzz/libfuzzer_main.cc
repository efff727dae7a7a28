// Runs the only target of the program on the bytes that libFuzzer generates. libFuzzer has main().
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "tests/fuzz/target.h"

// The names of these functions are those of libFuzzer.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

const millrace::fuzz::Target& fuzzed() {
  static const millrace::fuzz::Target& target = [] {
    const auto& all = millrace::fuzz::targets();
    CHECK(all.size() == 1, "the program has {} fuzz targets", all.size());
    return std::cref(all.begin()->second);
  }();
  return target;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzzed().run({reinterpret_cast<const char*>(data), size});
  return 0;
}

/// Half of the changes are those of the target's mutator, if it has one. The others are changes of
/// bytes, which break the structure and use the dictionary.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  const millrace::fuzz::Mutator mutate = fuzzed().mutate;
  if (mutate == nullptr || seed % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  return mutate(data, size, max_size, seed / 2);
}

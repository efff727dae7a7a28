// Changes YAML texts line by line, so that most results are still YAML: entries of mappings and
// items of lists are inserted, erased, doubled and swapped, with the keys of a grammar. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "language/grammar.h"

namespace millrace::fuzz {

/// A change for FUZZ_MUTATOR, with keys and values of `mappings`, which must not be empty. If the
/// result would be larger than `max_size`, the text stays as it is.
size_t mutate_yaml(uint8_t* data, size_t size, size_t max_size, unsigned seed,
                   std::span<const Mapping* const> mappings);

}  // namespace millrace::fuzz

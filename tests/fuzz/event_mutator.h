// A mutator for events in the JSON format, which changes whole members. Changes of bytes seldom
// make a valid event of one that is not.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::fuzz {

/// A Mutator (target.h) for one event in the JSON format, or for a text that ends with one.
size_t mutate_event(uint8_t* data, size_t size, size_t max_size, unsigned seed);

/// A Mutator for events in the JSON batch format.
size_t mutate_batch(uint8_t* data, size_t size, size_t max_size, unsigned seed);

}  // namespace millrace::fuzz

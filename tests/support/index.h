// Computes the index of the instances from rows that a test has changed, so that a store check
// finds the change alone.
#pragma once

#include <gtest/gtest.h>

#include "orchestrator/store/rows/index_build.h"

namespace millrace {

inline void build_index(Transaction& tx) {
  request_index_build(tx);
  while (is_index_incomplete(tx)) {
    ASSERT_TRUE(build_index_step(tx, 1'000, [](const Error&) {}));
  }
}

}  // namespace millrace

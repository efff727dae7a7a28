// Random cases that a second model plays in the place of the engine, with and without faults.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "tests/model/control_model.h"
#include "tests/model/play.h"
#include "tests/model/random_case.h"
#include "tests/model/shrink.h"

namespace millrace::reference {

using MakeCase = Case (*)(uint64_t seed);

inline Played play_model(const Case& c, std::set<Fault> faults, uint64_t seed) {
  Model model, engine(std::move(faults), seed);
  return play(c, model, engine);
}

// Expects that no case differs without a fault, and that fewer cases than `undecided` end early.
inline void expect_no_difference(MakeCase make, uint64_t cases, int undecided) {
  int early = 0;
  for (uint64_t seed = 1; seed <= cases; seed++) {
    const Case c = make(seed);
    EXPECT_TRUE(valid(c.definition));
    const Played p = play_model(c, {}, seed);
    ASSERT_FALSE(p.differs()) << report(c, p);
    early += !p.undecided.empty();
  }
  EXPECT_LT(early, undecided);
}

// The first of 4000 cases that differs with the fault, shrunk; nullopt: none does.
inline std::optional<Case> find_and_shrink(MakeCase make, Fault fault) {
  const auto fails = [&](const Case& c) { return play_model(c, {fault}, 1).differs(); };
  for (uint64_t seed = 1; seed <= 4000; seed++) {
    Case c = make(seed);
    if (!fails(c)) continue;
    c = shrink(c, fails);
    EXPECT_TRUE(fails(c));
    return c;
  }
  return std::nullopt;
}

}  // namespace millrace::reference

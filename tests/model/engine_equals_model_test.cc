// Random cases, played on the reference model and on the engine side by side.
// MILLRACE_MODEL_SEEDS=20000 and MILLRACE_MODEL_FIRST=1 choose other cases: 20000 seeds from 1 on.
// With MILLRACE_MODEL_SEEDS a test continues after a difference, and prints counts of the cases
// at its end.
#include <cstdlib>
#include <iostream>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/engine_subject.h"
#include "tests/model/random_case.h"

namespace millrace::reference {
namespace {

uint64_t number_of(const char* variable, uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoull(text);
}

void print(std::ostream& out, const char* title, const std::map<std::string, int>& counts) {
  out << title << ":\n";
  for (const auto& [what, times] : counts) out << "  " << times << "\t" << what << "\n";
}

/// Plays the cases of `make` on both; without MILLRACE_MODEL_SEEDS, `count` of them.
void expect_agreement(Case (*make)(uint64_t seed), uint64_t count) {
  const bool by_hand = std::getenv("MILLRACE_MODEL_SEEDS") != nullptr;
  const Explored all =
      explore(play_on_engine, {.from = number_of("MILLRACE_MODEL_FIRST", 1),
                               .count = static_cast<int>(number_of("MILLRACE_MODEL_SEEDS", count)),
                               .most_reports = by_hand ? 20 : 1,
                               .most_tries = 1000,
                               .make = make,
                               .rendering = EngineSubject::rendering()});
  for (const std::string& report : all.reports) ADD_FAILURE() << report;
  if (by_hand) {
    std::cout << all.cases << " cases, " << all.differing << " of them differ\n";
    print(std::cout, "differences", all.kinds);
    print(std::cout, "undecided, where the play ends early", all.undecided);
    print(std::cout, "compared", all.counts);
  }
  EXPECT_LT(all.ended_early(), 1 + all.cases / 25);  // nearly all cases are played to their end
}

TEST(EngineAndModel, AgreeOnRandomCases) { expect_agreement(make_case, 500); }

// Evaluated times, `until`, `$instance` and continueAsNew.
TEST(EngineAndModel, AgreeOnRandomCasesOfValues) { expect_agreement(make_case_of_values, 200); }

// Compensations: noted, made, failed, stopped and passed over.
TEST(EngineAndModel, AgreeOnRandomCasesOfCompensations) {
  expect_agreement(make_case_of_compensations, 300);
}

// Accepted calls: callbacks in time, late, again and by an operator; heartbeats and progress.
TEST(EngineAndModel, AgreeOnRandomCasesOfCallbacks) {
  expect_agreement(make_case_of_callbacks, 300);
}

}  // namespace
}  // namespace millrace::reference

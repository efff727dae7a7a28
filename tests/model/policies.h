// The policies of the five vocabularies, read into one form.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/model/case.h"
#include "tests/model/subject.h"

namespace millrace::reference {

inline constexpr int64_t kUnlimited = -1;
inline constexpr Ms kHundredYears = Ms{36525} * 86'400'000;
inline constexpr Ms kTenYears = Ms{3652} * 86'400'000;

struct Policy {
  Vocabulary vocabulary{};
  int64_t attempts = 1;  // all attempts, including the first; 0: the action is skipped
  Ms delay = 0;
  double factor = 1;
  Ms max_delay = kHundredYears;
  double jitter = 0;
  std::string delay_path;  // see Retry
  // Direktiv: regular expressions, searched for in the code; "*" alone matches any code.
  std::vector<std::string> only;
  std::vector<std::string> never;  // Temporal: codes, compared for equality
};

struct Error {
  std::string code;
  std::string message;  // empty = not known
  bool timeout = false;
  bool final = false;             // whether no retry policy of the state or the workflow applies
  std::string status = "failed";  // the status of the instance if no `catch` matches the error
};

const char* name_of(Vocabulary vocabulary);
Policy read_policy(const Retry& written);
Interval wait_after(const Policy& policy,
                    int64_t attempt);  // the wait after attempt n, with its jitter
bool retries(const Policy& policy, const Error& error,
             bool caught);  // whether the policy retries the error
Error used_up(const Policy& policy, const Error& last, const std::string& state, int64_t attempts);

enum class Limit { kScheduleToClose, kScheduleToStart, kStartToClose, kHeartbeat };

struct Bound {
  std::string key;  // the key as the definition writes it
  Ms time = 0;
  Error error;           // the error at its expiry
  bool cancels = false;  // Steep without errorOnTimeout: the instance ends as cancelled
};

using Bounds = std::map<Limit, Bound>;
// Of each timeout, the key nearest to the action.
Bounds bounds_of(const Definition& d, const Action& a);
std::optional<Policy> policy_of(const Definition& d, const State& s,
                                const Action& a);  // the policy nearest to the action
bool glob_matches(const std::string& pattern, const std::string& text);

// Whether the text is one of the alternatives, which `|` separates.
bool one_of(const std::string& text, const std::string& alternatives);

}  // namespace millrace::reference

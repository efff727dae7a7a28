// Walked: an instance as its rows come by, the head first, and what its history tells of it. For
// this folder only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/check/checker.h"

namespace millrace {

/// What the history of an instance says about it.
struct HistoryFacts {
  /// The record with which its run began: kStarted, kRun or kRevived.
  std::optional<HistoryRecord> began;
  /// The last record of a state that it entered, and whether its data is the instance's input.
  std::optional<HistoryRecord> entered;
  bool entered_with_input = false;
  std::optional<HistoryRecord> retrying;  ///< the last one that is not of a call
  uint32_t runs = 0;                      ///< how many began
  std::string last_state;                 ///< of its last record
  bool is_first_sealed = false;           ///< it was sealed from its first batch on
  bool has_other_data = false;            ///< a record has data that is not the input
};

struct Checker::Walked {
  Table table{};
  std::string prefix;  ///< of all its keys
  NamespaceNumber space{};
  InstanceId id;

  bool has_head = false;         ///< its row was there
  std::optional<Instance> head;  ///< none: it cannot be read
  bool has_input = false;
  bool has_data = false;
  bool has_found_data = false;
  bool has_failed_data = false;
  bool is_data_in_history = false;   ///< an ended one's: its last row of the history has it
  std::optional<std::string> input;  ///< JSON texts; none: the row is missing or cannot be read
  std::optional<std::string> data;
  std::vector<bool> slots;       ///< which have something
  uint32_t calls = 0;            ///< how many rows of calls came
  std::vector<Call> read_calls;  ///< without results; fewer than `calls`: not all can be read
  std::optional<TimePoint> due;  ///< when the first thing of a call is due
  std::optional<Part> plain;     ///< a part that is not sealed

  std::optional<HistoryFacts> story;  ///< where all rows of its history can be read

  std::string key(Part part) const { return prefix + static_cast<char>(part); }
};

}  // namespace millrace

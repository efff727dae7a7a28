// Walked: the rows of one instance as the check reads them, the head first, and facts from its
// history. Only for orchestrator/check.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/check/checker.h"

namespace millrace {

/// What the records of a call that were read require of its earlier records.
struct CallTrail {
  uint64_t attempt = 0;  ///< the attempt of the next earlier record; 0: no record is expected
  std::string id;        ///< of the subflow or task of that attempt; empty: not known
};

/// Facts about an instance from its history. The records are read from the newest to the oldest.
struct HistoryFacts {
  /// The record that began the current run: kStarted, kAdmitted, kReleased, kRun or
  /// kRevived.
  std::optional<HistoryRecord> began;
  std::optional<HistoryRecord> entered;   ///< the latest record kEntered
  std::optional<HistoryRecord> retrying;  ///< the last record kRetrying of a state or run
  std::optional<TimePoint> newest;        ///< the time of the newest record
  std::string last_state;                 ///< the state of the last record

  /// The time of the latest record kEntered or kResumed: the timeout of the state began then, or
  /// before the entry.
  std::optional<TimePoint> state_armed;
  /// The time of the latest record kEntered, kResumed or kCalled.
  std::optional<TimePoint> calls_armed;

  std::optional<HistoryRecord> started;  ///< the record kStarted; nullopt: it was trimmed
  std::optional<TimePoint> oldest;       ///< the time of the oldest kept record
  std::optional<TimePoint> revived;      ///< the time of the latest record kRevived or kContinued
  std::optional<TimePoint> admitted;     ///< the time of the latest record kAdmitted or kReleased
  /// The time of the latest record of another state than the one that the head names.
  std::optional<TimePoint> elsewhere;
  uint64_t most_attempt = 1;  ///< the highest attempt of a state or call that was scheduled
  /// Of the calls with a record after the next earlier record kEntered, by their indexes.
  std::map<uint64_t, CallTrail> trails;

  uint32_t runs = 0;                ///< the number of runs that began
  uint32_t runs_since_revival = 0;  ///< the number of runs that began after the record `revived`
  /// The stream of the position of the earliest record kEntered so far; nullopt: no such record.
  std::optional<uint32_t> entered_stream;
  /// The kind of the newest record; nullopt: it is the record of a retry of a call.
  std::optional<HistoryKind> newest_kind;
  /// Whether the latest record that pauses an instance or ends its pause is kPaused; nullopt: the
  /// kept history has no such record.
  std::optional<bool> is_paused;
  bool is_resumed = false;          ///< the earliest record of a pause or an end so far is kResumed
  bool entered_with_input = false;  ///< the data of the record `entered` is the instance's input
  bool is_entry_sealed = false;     ///< the row of `entered` is sealed
  bool is_first_sealed = false;     ///< the instance was sealed from its first batch on
  bool has_other_data = false;      ///< a record has data that is not the input
  bool has_retry = false;           ///< an operator retried the instance
  bool has_execution_start = false;  ///< a record kRevived, kAdmitted or kReleased has
                                     ///< `execution_from`
  bool has_entry_elsewhere = false;  ///< a record kEntered of the state of `elsewhere` has a stream
  bool has_many_transitions = false;  ///< a record has the error of too many transitions
  bool is_cancelled = false;          ///< the current run has a record kCancelled
  bool has_wake = false;              ///< an event woke the instance
  bool has_error = false;             ///< a record has the error of the head
  bool has_fixed_error = false;       ///< such a record is that of an Error state
  bool has_clean_up = false;          ///< the current run has entered the state `on_failure`
  bool has_compensated = false;       ///< the current run has a record kCompensating
  bool has_failed_state = false;      ///< a record has an error in the failed state of the head
};

/// Facts about a call from the records after the latest record kEntered.
struct CallFacts {
  bool has_start = false;    ///< a record kCalled
  bool has_failure = false;  ///< a record of a failed attempt
  bool has_skip = false;     ///< a record kSkipped
  bool has_retry = false;    ///< a record kRetrying after the latest record kCalled
  /// Whether the latest attempt has succeeded; nullopt: it has no record of its end.
  std::optional<bool> has_succeeded;
};

struct Checker::Walked {
  Table table{};
  std::string prefix;  ///< the prefix of all keys of the instance
  NamespaceNumber ns{};
  InstanceId id;

  bool has_head = false;         ///< the row of the head exists
  std::optional<Instance> head;  ///< nullopt: the head cannot be read
  bool has_input = false;
  bool has_data = false;
  bool has_found_data = false;
  bool has_failed_data = false;
  bool has_start_event = false;
  bool is_data_in_history = false;   ///< an ended instance whose last history row has its data
  std::optional<std::string> input;  ///< JSON text; nullopt: the row is missing or cannot be read
  std::optional<std::string> data;   ///< JSON text; nullopt: the row is missing or cannot be read
  std::vector<bool> slots;           ///< which slots have a value
  uint32_t calls = 0;                ///< the number of rows of calls
  uint32_t compensations = 0;        ///< the number of rows of compensations
  /// The compensation of the last of these rows; nullopt: the row cannot be read.
  std::optional<Compensation> last_compensation;
  std::vector<Call> read_calls;  ///< readable calls, without results; may be fewer than `calls`
  std::vector<CallFacts> call_facts;  ///< of `read_calls`; empty: no record of a call was read
  std::vector<bool> sealed_calls;     ///< whether the row is sealed, of each row of a call
  std::optional<TimePoint> due;       ///< the earliest deadline or retry of the calls
  std::optional<Part> plain;          ///< a part that is not sealed

  uint64_t findings_before = 0;                   ///< the number of findings before the instance
  std::array<uint64_t, kPartCount> part_bytes{};  ///< the sizes of the rows, not sealed
  /// The size of the history rows, not sealed; nullopt: not all can be read.
  std::optional<uint64_t> history_bytes;

  std::optional<HistoryFacts> story;  ///< set if all rows of the history can be read

  std::string key(Part part) const { return prefix + static_cast<char>(part); }
  /// The newest compensation of the head; null: there is none, or its row cannot be read.
  const Compensation* newest_compensation() const {
    const bool has_newest = last_compensation && head && compensations == head->compensations;
    return has_newest ? &*last_compensation : nullptr;
  }
  /// Whether the beginning of the history was erased. A history that still begins with kStarted is
  /// complete, even if the head counts erased records: check_chained_records() reports that count.
  bool is_trimmed() const {
    return head->history_trimmed > 0 && !(story && story->started.has_value());
  }
};

}  // namespace millrace

// Settings of a namespace that say how long its ended instances and its dead letters are kept, and
// how much of their histories its instances keep. Pure values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "model/instance.h"
#include "policies/duration.h"

namespace millrace {

/// When ended instances are deleted. Each member deletes instances that the others would keep. A
/// rule without a member keeps them for ever.
struct RetentionRule {
  std::optional<Span> age;        ///< from the end of the instance on; at least a minute
  std::optional<uint64_t> count;  ///< of the instances of a workflow, the newest so many are kept
  /// While all instances of the namespace have more bytes, the oldest instances are deleted.
  std::optional<uint64_t> bytes;

  bool is_empty() const { return !age && !count && !bytes; }
};

/// The rules of a namespace or of one workflow for its ended instances.
struct RetentionRules {
  std::optional<RetentionRule> ended;
  std::optional<RetentionRule> failed;  ///< in place of `ended`, for status failed and timedout
};

/// How much of its history an instance keeps; the oldest records go when it has more than twice as
/// much.
struct HistoryLimits {
  std::optional<uint64_t> records;  ///< at least kLeastRecords
  std::optional<uint64_t> bytes;    ///< at least kLeastHistoryBytes

  bool is_empty() const { return !records && !bytes; }
  bool operator==(const HistoryLimits&) const = default;
};
inline constexpr uint64_t kLeastRecords = 100;
inline constexpr uint64_t kLeastHistoryBytes = uint64_t{64} << 10;

/// The limits for the histories of all instances of a namespace.
struct HistoryRules {
  HistoryLimits others;                      ///< for workflows that have none of their own
  std::map<std::string, HistoryLimits> own;  ///< by id of the workflow

  /// Whether no history is limited.
  bool is_empty() const;
  bool operator==(const HistoryRules&) const = default;
};

/// What is set for the instances of one workflow.
struct WorkflowRetention {
  RetentionRules rules;
  std::optional<HistoryLimits> history;  ///< in place of the limits of the namespace
};

/// When dead letters of a namespace are deleted. At least one member is set. Each member deletes
/// dead letters that the other would keep.
struct DeadLetterRule {
  /// From the time on at which the broker stored the dead letter; at least a minute.
  std::optional<Span> age;
  std::optional<uint64_t> count;  ///< of all dead letters of the namespace, the newest so many stay
};

struct RetentionSettings {
  RetentionRules rules;
  /// By id of the workflow: if a rule of the workflow applies to an instance, no rule of the
  /// namespace does.
  std::map<std::string, WorkflowRetention, std::less<>> workflows;

  HistoryLimits history;  ///< for workflows that have none of their own

  bool archive = false;  ///< instances are written to the archive before they are deleted

  /// nullopt: only the limits of their stream remove dead letters of the namespace.
  std::optional<DeadLetterRule> dead_letters;

  /// Whether any ended instance may have to be deleted.
  bool has_rules() const;
  /// Whether a pass of the retention may have to delete instances or to trim histories.
  bool needs_passes() const { return has_rules() || !history_rules().is_empty(); }
  /// The rule for the instances of a workflow that ended with that status; null: they are kept for
  /// ever. For a deleted workflow, `workflow` is empty.
  const RetentionRule* rule_of(std::string_view workflow, InstanceStatus status) const;
  /// The limits for the histories of a workflow's instances. For a deleted workflow, `workflow` is
  /// empty.
  const HistoryLimits& history_of(std::string_view workflow) const;
  HistoryRules history_rules() const;
  /// The lowest `bytes` of all rules; nullopt: no rule has `bytes`.
  std::optional<uint64_t> least_bytes() const;
};

/// Parses the setting `retention`: `{"ended": RULE, "failed": RULE, "history": LIMITS, "workflows":
/// {ID: {"ended": RULE, "failed": RULE, "history": LIMITS}}}` with RULE `{"age": duration, "count":
/// n, "bytes": n or text such as "10GiB"}` and LIMITS `{"records": n, "bytes": n or text}`,
/// `"archive": bool`, and `"deadLetters": {"age": duration, "count": n}`, which must not be empty.
/// Each member may be missing. Error `settings.invalid`.
Result<RetentionSettings> parse_retention(const Json& value);

}  // namespace millrace

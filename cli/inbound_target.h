// Applies the entries of inbound files to a namespace: `millrace workflow apply` over HTTP, and
// `millrace dev` in its own process. For one thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "language/findings.h"
#include "orchestrator/definition/inbound_file.h"

namespace millrace {

/// The namespace to which inbound files are applied. The functions block.
class InboundTarget {
 public:
  virtual ~InboundTarget() = default;

  /// The source with its `settings` (SourceDesk::get). Error `source.not_found`.
  virtual Result<Json> source(const std::string& name) = 0;
  /// Creates the source or changes it (SourceDesk::apply).
  virtual Result<Json> apply_source(const std::string& name, const Json& settings) = 0;
  /// The namespace with its `settings` (StoreReads::one_namespace).
  virtual Result<Json> read_namespace() = 0;
  /// Replaces the settings of the namespace (the command CreateNamespace).
  virtual Result<Json> replace_settings(const Json& settings) = 0;
};

struct AppliedEntry {
  enum class Outcome : uint8_t { kUnchanged, kCreated, kChanged };

  InboundEntry::Kind kind = InboundEntry::Kind::kSource;
  std::string name;
  Outcome outcome = Outcome::kUnchanged;
};

struct AppliedInbound {
  std::vector<AppliedEntry> applied;  ///< what was applied, or has the settings already
  Findings findings;                  ///< what the server reports about the other entries
};

/// Applies the entries of one file; those that have the settings of the file already stay as they
/// are. The inbound webhooks are added to those in the settings of the namespace, all at once; the
/// other settings stay. `is_dry_run`: nothing is changed.
AppliedInbound apply_inbound(InboundTarget& target, const std::vector<InboundEntry>& entries,
                             bool is_dry_run = false);

}  // namespace millrace

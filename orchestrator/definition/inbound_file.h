// Inbound files: the sources and the inbound webhooks of a namespace as a file beside its
// workflows. The name of such a file is `inbound.yaml`, or ends with `.inbound.yaml`; so it is
// never taken for a workflow. Pure values; the functions may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Whether a file with that name, without its folder, is an inbound file: `inbound.yaml`,
/// `orders.inbound.yaml`, and the same with `.yml` and `.json`.
bool is_inbound_file(std::string_view name);

/// A source or an inbound webhook of an inbound file.
// Moving a Node does not throw, but clang-tidy cannot see that.
struct InboundEntry {  // NOLINT(bugprone-exception-escape)
  enum class Kind : uint8_t { kSource, kWebhook };

  Kind kind = Kind::kSource;
  std::string name;
  Json settings;  ///< what parse_source() accepts, or a member for parse_inbound_webhooks()
  Node node;      ///< the settings with their positions
  Position at;    ///< of the name
};

struct InboundFile {
  Findings findings;
  /// The entries in the order of the file; empty if a finding is an error.
  std::vector<InboundEntry> entries;
};

/// Parses `{"sources"?: {NAME: see parse_source()}, "hooks"?: {NAME: see
/// parse_inbound_webhooks()}}`, as YAML or JSON. Findings: those of parse_document(), and
/// `settings.invalid` at the place of the mistake. Whether the jq programs are valid, and whether
/// streams and secrets exist, is known to the server only.
InboundFile parse_inbound_file(std::string_view text);

/// The words for an entry in messages: `source "orders"`, `inbound webhook "git"`.
std::string name_of(InboundEntry::Kind kind, std::string_view name);

/// The path of an entry in its file, for findings: `sources.orders`.
std::string path_of_entry(const InboundEntry& entry);

/// What a user does to delete an entry that is in no file any more, as a clause of a message.
std::string how_to_delete(InboundEntry::Kind kind, std::string_view name);

/// Adds what a server reports about the entry as a finding at the place that the message names: an
/// error of a command, or a warning, whose code is `settings.doubtful`.
void add_answer(Findings& findings, const InboundEntry& entry, Severity severity,
                const Error& error);

}  // namespace millrace

// FileTypes: the event types of workflows and inbound files that `millrace lint` reads together:
// for which ones the workflows listen, and which ones the files make. Pure; for one thread.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "language/findings.h"
#include "orchestrator/definition/inbound_file.h"
#include "orchestrator/definition/made_types.h"

namespace millrace {

class FileTypes {
 public:
  /// Adds the types of a definition. `findings`: what the loader reports of it.
  void add_definition(std::string_view text, const Findings& findings);
  /// Adds the types that the mappings of an inbound file make.
  void add_inbound(const InboundFile& file);

  /// Adds `lint.event_unknown` for each type for which the definition listens and that no file
  /// makes. Adds nothing if a file has errors, because its types are not all known, or if no source
  /// or inbound webhook has a mapping: then other programs make the events.
  void lint_definition(std::string_view text, Findings& findings) const;
  /// Adds `lint.event_unawaited` for each mapping of the inbound file for whose type no definition
  /// listens. Adds nothing if a file has errors, or if there is no definition.
  void lint_inbound(const InboundFile& file, Findings& findings) const;

 private:
  bool has_errors_ = false;
  bool has_definition_ = false;
  bool has_mapping_ = false;
  std::set<std::string, std::less<>> awaited_;
  MadeTypes made_;
};

}  // namespace millrace

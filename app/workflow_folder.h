// WorkflowFolder: applies the definitions and the inbound files below a folder to a Service, and
// applies them again when they change, for `millrace dev DIR`. For one thread only.
#pragma once

#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "app/inbound_folder.h"
#include "base/result.h"
#include "orchestrator/definition/made_types.h"
#include "orchestrator/service/service.h"

namespace millrace {

class WorkflowFolder {
 public:
  /// Receives messages for the user, one line at a time.
  using Report = std::function<void(const std::string& line)>;

  WorkflowFolder(std::filesystem::path folder, Service& service, Report report)
      : folder_(std::move(folder)),
        service_(service),
        report_(std::move(report)),
        inbound_(service, report_) {}

  /// Applies every definition below the folder that has changed since the last call
  /// (definition_files.h), and then every inbound file (inbound_folder.h). Findings, files that are
  /// not definitions and files that cannot be read are reported to `report`, once for each content
  /// of a file; the other files are applied all the same.
  void apply_changes();

  /// Calls apply_changes whenever something below the folder changes, and tries what the server has
  /// refused of the inbound files again, until one of `signals`, which must be blocked, arrives.
  /// Error: `dev.watch`.
  Status watch(const sigset_t& signals);

 private:
  /// `made`: the event types of the inbound files, which are applied later.
  void apply(const std::filesystem::path& file, const std::string& text, const MadeTypes& made);

  std::filesystem::path folder_;
  Service& service_;
  Report report_;
  InboundFolder inbound_;
  /// For each file: its content at the last call, or the error if it could not be read.
  std::map<std::filesystem::path, std::string> seen_;
};

}  // namespace millrace

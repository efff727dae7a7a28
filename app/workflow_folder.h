// WorkflowFolder: the definitions below a folder, applied to a Service, and again when they change:
// what `millrace dev DIR` does with its DIR. One thread.
#pragma once

#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "orchestrator/service/service.h"

namespace millrace {

class WorkflowFolder {
 public:
  /// Hears what happened, line by line.
  using Tell = std::function<void(const std::string& line)>;

  WorkflowFolder(std::filesystem::path folder, Service& service, Tell tell)
      : folder_(std::move(folder)), service_(service), tell_(std::move(tell)) {}

  /// Applies every definition below the folder that has changed since the last call
  /// (definition_files.h). Findings, files that are not definitions and files that cannot be read
  /// are reported to `tell` once for each of their texts; they stop nothing.
  void apply_changes();

  /// Calls apply_changes whenever something below the folder changes, until one of `signals` (which
  /// are blocked) comes. Error `dev.watch`.
  Status watch(const sigset_t& signals);

 private:
  void apply(const std::filesystem::path& file, const std::string& text);

  std::filesystem::path folder_;
  Service& service_;
  Tell tell_;
  std::map<std::filesystem::path, std::string> seen_;  ///< text or error at the last call
};

}  // namespace millrace

// InboundFolder: applies the inbound files of a folder to the namespace `default` of a Service, for
// `millrace dev DIR`. For one thread only.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/inbound_target.h"
#include "orchestrator/definition/inbound_file.h"
#include "orchestrator/service/service.h"

namespace millrace {

class InboundFolder {
 public:
  /// Receives messages for the user, one or several lines without the last line break.
  using Report = std::function<void(const std::string& lines)>;

  InboundFolder(Service& service, Report report);

  /// Applies the text of a file that has changed. Reports findings, and what is no longer in the
  /// file; that stays, as a workflow does whose file is deleted.
  void apply(const std::filesystem::path& file, const std::string& text);
  /// Notes which of the files exist.
  void note_present(const std::set<std::filesystem::path>& present);

  /// Whether try_again() may have something to do: the server has refused an entry that it may
  /// accept later without a change of a file, such as a source whose stream does not exist yet; a
  /// file is missing; or a file has inbound webhooks, which new settings of the namespace may
  /// remove.
  bool waits() const;
  /// Applies the files with refused entries again, and the inbound webhooks that the settings of
  /// the namespace have lost. Findings that were reported already are not reported again. Reports
  /// what was in files that are still missing, as apply(): an editor may remove a file for a moment
  /// while it writes it.
  void try_again();

 private:
  using EntryNames = std::set<std::pair<InboundEntry::Kind, std::string>>;
  struct FileState {
    EntryNames names;                   ///< of the latest text without errors
    std::vector<InboundEntry> entries;  ///< of the latest text; empty if it has errors
    std::string reported;               ///< the latest findings
    bool is_refused = false;            ///< the server has refused an entry
    bool is_missing = false;
  };

  /// The namespace in this process.
  class LocalTarget final : public InboundTarget {
   public:
    explicit LocalTarget(Service& service) : service_(service) {}
    Result<Json> source(const std::string& name) override;
    Result<Json> apply_source(const std::string& name, const Json& settings) override;
    Result<Json> read_namespace() override;
    Result<Json> replace_settings(const Json& settings) override;

   private:
    Service& service_;
  };

  /// Applies entries of a file: all, or some of them.
  void apply_entries(const std::filesystem::path& file, FileState& state,
                     const std::vector<InboundEntry>& entries);
  /// Applies the inbound webhooks of the file that `settings`, those of the namespace, lack.
  void apply_lost(const std::filesystem::path& file, FileState& state, const Json& settings);
  void report_removed(const std::filesystem::path& file, const EntryNames& before,
                      const EntryNames& now);

  LocalTarget target_;
  Report report_;
  std::map<std::filesystem::path, FileState> files_;
};

}  // namespace millrace

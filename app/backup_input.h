// BackupInput: where `millrace backup` gets the chunks of a backup from: the server, or the data
// folder of a stopped server. For one thread, except abandon().
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cli/console.h"
#include "cli/session.h"
#include "orchestrator/backup/manifest.h"

namespace millrace {

class BackupInput {
 public:
  virtual ~BackupInput() = default;

  virtual const BackupHead& head() const = 0;
  /// The approximate number of rows; 0: unknown.
  virtual uint64_t about_rows() const = 0;
  /// The next chunk; empty: there are no more.
  virtual Fallible<std::string> next() = 0;
  /// Ends the backup of a server, so that another one may begin. Another thread may call abandon()
  /// while this one is in next(), which then fails.
  virtual void abandon() = 0;
};

/// The store in the folder `data`, or, if `data` is empty or in use, the store of the server at
/// --url. Exit kNotFound: there is no store; the exit codes of find_folder_owner() and Client.
Fallible<std::unique_ptr<BackupInput>> open_backup_input(Session& session, const std::string& data);

}  // namespace millrace

// FilledStore: the store of a server that has started many instances and has stopped since. Tests
// start servers on copies of the store.
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/store/rows/index_rows.h"
#include "tests/support/all_rows.h"
#include "tests/support/millrace_server.h"

namespace millrace {

/// How many instances of each workflow are started. The id of the workflow is also the type of the
/// event that starts an instance of it.
struct Filling {
  size_t done = 0;     ///< instances of `done`: they set a variable and complete
  size_t audited = 0;  ///< instances of `audit`, which is as `done`
  size_t failed = 0;   ///< instances of `fail`, which fail
  /// Instances of `wait`: they wait for the event `go` with the key of the event that has started
  /// them.
  size_t waiting = 0;
};

/// The JSON text of an event of that type, with this extension attribute `key`. An event of one
/// type and key is always the same event.
std::string keyed_event(std::string_view type, std::string_view key);

/// The subject of the events of that type in the default namespace.
std::string event_subject(std::string_view type);

class FilledStore {
 public:
  /// Starts a server on a new folder, starts the instances by events, and stops the server. A
  /// failure ends the test program.
  FilledStore(const NatsServer& nats, const Filling& filling);

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path key_file() const { return folder_ / "secret-key"; }
  /// Copies the store to `folder`, which must not exist.
  void copy_to(const std::filesystem::path& folder) const;

  size_t live() const { return live_; }
  size_t ended() const { return ended_; }
  /// All instances as the server listed them, newest first.
  const std::vector<Json>& instances() const { return instances_; }
  /// The ids of the instances of a workflow, newest first.
  std::vector<std::string> ids_of(std::string_view workflow) const;

  const RowsByKey& rows() const { return rows_; }
  /// The rows of the instances without those of the given ids.
  RowsByKey instance_rows_without(const std::set<std::string>& ids) const;
  /// Expects that the store in `folder` has the rows of all these instances, unchanged. The store
  /// may have further instances.
  void expect_kept_in(const std::filesystem::path& folder) const;

 private:
  void fill(RawNatsClient& client, std::string_view type, size_t count, size_t& started);

  MillraceServer server_;
  std::filesystem::path folder_;
  size_t live_ = 0;
  size_t ended_ = 0;
  std::vector<Json> instances_;
  RowsByKey rows_;
};

/// Of all rows of a store, those of instances: their own rows, their history and their variables.
RowsByKey instance_rows_of(const RowsByKey& rows);

/// The number of instances of the default namespace by the index of the store in that folder, which
/// no process may have open.
Usage usage_in(const std::filesystem::path& folder);

}  // namespace millrace

// ContainerRunner: runs functions in containers with the command line of podman or docker. An
// isolated function gets a container for each task; the container of a reusable function keeps
// running and is called over HTTP (docs/containers.md describes the interface of an image).
// Containers of a process that has died are found by their label, and removed before any other
// container is started.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "http/http_client.h"
#include "model/task.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/task_runner.h"
#include "os/permission.h"

namespace millrace {

struct ContainerSettings {
  std::string runtime;  ///< podman or docker, or a path; empty: podman if found, else docker
  std::filesystem::path folder;  ///< for files; created or emptied; its path must have no comma
  /// The folder for the files of sealed tasks: as `folder`, and its parent must be in memory
  /// (tmpfs). Empty: sealed tasks fail.
  std::filesystem::path sealed_folder;
  std::string data_id;     ///< the id of the data folder; letters, digits, `.`, `-`, `_`
  size_t containers = 16;  ///< maximum at once, isolated and reusable; further containers wait
  size_t calls_each = 16;  ///< maximum of calls at once in a reusable container; further calls wait
  Duration idle{300'000};  ///< how long an unused reusable container is kept
  Duration start_timeout{300'000};  ///< until a reusable container must listen; includes the pull
  /// How long the destructor waits for the removal of the containers. What is left then is removed
  /// by the next process of the data folder.
  Duration end_timeout{10'000};
  std::string network;               ///< see network_of()
  std::string pool_network;          ///< of reusable containers; empty: as `network`
  bool maps_users = false;           ///< see maps_container_users()
  std::vector<std::string> options;  ///< further options for `run`
  bool guarded = false;              ///< containers are started only while allow_until() permits it
};

/// Runs tasks whose target is a Container, and no others. A reusable function has one container, or
/// `scale` containers, for each combination of namespace, image, command and size, from its first
/// task on. Containers beyond `scale` are removed when they were not called for a while, or when
/// other functions need a container.
class ContainerRunner final : public TaskRunner {
 public:
  /// `http`, `clock` and `sink` must outlive this object.
  ContainerRunner(ContainerSettings settings, HttpClient& http, const Clock& clock, TaskSink& sink);

  /// Kills and removes the containers of this runner. Afterwards there are no more reports.
  ~ContainerRunner() override;

  /// Reports TaskStarted when the container is started or called, and TaskOutput for its output.
  /// The runner's own error codes: kFunctionUnavailable (no runtime, no image, the container ended
  /// without an answer or does not listen), kFunctionTooLarge, kFunctionFiles.
  void run(Task task) override;
  void stop(const InstanceId& task) override;
  /// The time since the container was started, was called or sent something, whichever was last.
  /// Heartbeats are not reported.
  std::optional<Duration> since_heartbeat(const InstanceId& task) const override;

  /// Allows a guarded runner to start containers, and to give tasks to reusable ones, until this
  /// time of the steady clock; until then tasks wait. Each call replaces the time of the previous
  /// call. `asked`: as in Permission::allow_until(). Any thread; never blocks.
  void allow_until(Permission::Time until, std::optional<Permission::Time> asked = std::nullopt);
  /// Ends the permission of allow_until(). Containers that run are not stopped.
  void forbid();

 private:
  class Impl;

  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace

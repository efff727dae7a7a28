// ContainerRunner: functions in containers, by the command line of podman or docker. An isolated
// one gets a container for each call, a reusable one is kept running and called by HTTP
// (docs/containers.md says what an image finds and leaves). Containers of a process that has died
// are found by their label and removed before anything else is begun.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "http/http_client.h"
#include "model/task.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/task_runner.h"

namespace millrace {

struct ContainerSettings {
  std::string runtime;  ///< podman or docker, or a path; empty: whichever is found, in that order
  std::filesystem::path folder;      ///< for files; made if missing, and emptied; without a comma
  std::string data_id;               ///< whose containers they are; letters, digits, `.`, `-`, `_`
  size_t containers = 16;            ///< at once, of all kinds; the rest waits
  size_t calls_each = 16;            ///< at once in a reusable one; the rest waits
  Duration idle{300'000};            ///< so long is a reusable one kept that nobody calls
  Duration start_timeout{300'000};   ///< within which a reusable one listens, pulls included
  std::string network;               ///< empty: the runtime's own
  std::vector<std::string> options;  ///< for `run`, further ones
};

/// Runs tasks whose target is a Container, and no others. Of a reusable function there is one
/// container for each namespace, image, command and size, or `scale` of them, from the first task
/// on; those beyond `scale` go when nobody has called them for a while, or others need the room.
class ContainerRunner final : public TaskRunner {
 public:
  /// `http`, `clock` and `sink` outlive it.
  ContainerRunner(ContainerSettings settings, HttpClient& http, const Clock& clock, TaskSink& sink);

  /// Kills and removes what runs; nothing is told any more.
  ~ContainerRunner() override;

  /// Tells TaskStarted when the container is started or called, and TaskOutput as it prints. Errors
  /// of its own: kFunctionUnavailable (no runtime, no image, the container ended without an answer,
  /// or does not listen), kFunctionTooLarge, kFunctionFiles.
  void run(Task task) override;
  void stop(const InstanceId& task) override;
  /// Since the container was started or called, or anything came from it. Signs of life are not
  /// told.
  std::optional<Duration> silence(const InstanceId& task) const override;

 private:
  class Impl;

  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace

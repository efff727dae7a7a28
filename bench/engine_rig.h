// EngineRig: the real processor on a real store in this process, turned by hand, with a twin of the
// broker that takes every message at once. What the engine's thread costs is measured without the
// rest: in processor time, so that neither the disk's waits nor other threads are in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness.h"
#include "functions/task_router.h"
#include "orchestrator/definition/loader.h"
#include "orchestrator/loop/processor.h"

namespace millrace {

/// What the calling thread has used of a processor, in seconds.
double thread_seconds();

class EngineRig {
 public:
  /// On a folder of its own beside this program, gone at the end.
  EngineRig();
  ~EngineRig();
  EngineRig(const EngineRig&) = delete;
  EngineRig& operator=(const EngineRig&) = delete;

  void apply(const std::string& workflow_text);

  /// Puts a structured event behind the stream's last one.
  void add(std::string_view type, const std::string& id, const std::string& key);
  /// Puts the engine's own messages there, and acknowledges them.
  void add_echoes();

  /// One turn with all that was added.
  void turn();
  /// Turns until nothing is left to do; what it publishes is acknowledged.
  void settle();

  /// The clock stands still until it is moved.
  void advance(Duration by) { clock_.by += by; }
  TimePoint now() const { return clock_.now(); }

  /// Messages that the engine has published and that were not added yet.
  size_t published() const { return echo_.messages.size(); }
  /// Messages that it has published in all.
  uint64_t told() const { return echo_.told; }
  Environment& store() { return *environment_; }

  double turning = 0;   ///< seconds of processor time in turns
  double decoding = 0;  ///< and in reading events
  uint64_t events = 0;  ///< that were read

 private:
  class RigClock final : public Clock {
   public:
    TimePoint now() const override { return start + by; }
    Duration elapsed() const override { return by; }
    TimePoint start = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
    Duration by{0};
  };
  class Echo final : public Publisher {
   public:
    void publish(NatsMessage message, Done done) override;
    std::vector<NatsMessage> messages;
    std::vector<Done> waiting;
    uint64_t sequence = 0;
    uint64_t told = 0;
  };

  void add(NatsMessage message);
  void acknowledge();

  ScratchFolder folder_ = make_run_folder();
  RigClock clock_;
  Echo echo_;
  TaskRouter nobody_;  // no workflow here has work done outside
  NoWebhooks webhooks_;
  Metrics metrics_;
  BegunTasks begun_tasks_;
  DefinitionCache definitions_{load_stored};
  std::unique_ptr<Environment> environment_;
  Intake intake_;
  std::unique_ptr<Processor> processor_;
  std::vector<Delivery> deliveries_;
  uint64_t sequence_ = 0;
  uint64_t ids_ = 0;
};

}  // namespace millrace

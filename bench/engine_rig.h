// EngineRig: millrace's Processor on a real store, in the process of the benchmark. The benchmark
// calls each turn of the Processor, and a fake broker accepts every message at once. The rig
// measures the work of the engine thread alone, in processor time, which includes neither waits for
// the disk nor other threads.
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

/// The processor time that the calling thread has used, in seconds.
double thread_seconds();

class EngineRig {
 public:
  /// Creates a data folder beside this program. The destructor deletes the folder.
  EngineRig();
  ~EngineRig();
  EngineRig(const EngineRig&) = delete;
  EngineRig& operator=(const EngineRig&) = delete;

  void apply(const std::string& workflow_text);

  /// Appends an event in the JSON format to the event stream. The event has `key` as an attribute
  /// and in its data.
  void add(std::string_view type, const std::string& id, const std::string& key);
  /// Appends the messages that the engine has published to the event stream, and acknowledges them
  /// to the engine.
  void add_echoes();

  /// Runs one turn of the engine with all events that were added.
  void turn();
  /// Runs turns until no work is left, and acknowledges the messages that the engine publishes.
  void run_until_idle();

  /// Advances the clock, which otherwise stands still.
  void advance(Duration by) { clock_.by += by; }
  TimePoint now() const { return clock_.now(); }

  /// The number of messages that the engine has published and add_echoes() has not yet appended.
  size_t published() const { return echo_.messages.size(); }
  /// How many messages the engine has published since it started.
  uint64_t timeouts_reported() const { return echo_.count; }
  Environment& store() { return *environment_; }

  double turning = 0;   ///< seconds of processor time in turns
  double decoding = 0;  ///< seconds of processor time in reading events
  uint64_t events = 0;  ///< number of events that were read

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
    uint64_t count = 0;
  };

  void add(NatsMessage message);
  void acknowledge();

  ScratchFolder folder_ = make_run_folder();
  RigClock clock_;
  Echo echo_;
  TaskRouter no_runner_;  // no workflow that runs on an EngineRig calls a service
  NoWebhooks webhooks_;
  Metrics metrics_;
  StartedTasks started_tasks_;
  DefinitionCache definitions_{load_stored};
  std::unique_ptr<Environment> environment_;
  Intake intake_;
  std::unique_ptr<Processor> processor_;
  std::vector<Delivery> deliveries_;
  uint64_t sequence_ = 0;
  uint64_t ids_ = 0;
};

}  // namespace millrace

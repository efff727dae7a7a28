// RunningEngine: an engine that runs on one store: the processor, the service that the gateway
// calls, the event stream and the runners of its tasks. The engine uses the parts of the process
// (process_parts.h), which outlive the engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "app/process_parts.h"
#include "broker/dead_letter_queue.h"
#include "broker/event_stream.h"
#include "broker/origin_streams.h"
#include "broker/restored_publisher.h"
#include "broker/stored_events.h"
#include "broker/stored_letters.h"
#include "broker/stream_owner.h"
#include "broker/task_queue.h"
#include "functions/attempt_urls.h"
#include "functions/container.h"
#include "functions/file_calls.h"
#include "functions/http_services.h"
#include "functions/task_router.h"
#include "orchestrator/archive/archive_thread.h"
#include "orchestrator/definition/loader.h"
#include "orchestrator/loop/answer_stager.h"
#include "orchestrator/loop/intake.h"
#include "orchestrator/loop/processor.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/ports/commit_log.h"
#include "orchestrator/service/dead_letter_retention.h"
#include "orchestrator/service/early_event_feed.h"
#include "orchestrator/service/early_event_thread.h"
#include "orchestrator/service/local_service.h"
#include "orchestrator/store/disk/environment.h"
#include "os/permission.h"

namespace millrace {

/// Opens the store in the data folder of `settings`. Errors: those of Environment::open.
Result<std::unique_ptr<Environment>> open_store(const ServerSettings& settings);

/// What the engine of the active of a cluster needs besides: its process is a node of
/// ServerSettings::cluster.
struct ClusterLead {
  CommitLog& log;      ///< gets each commit before the store; outlives the engine
  uint64_t epoch = 0;  ///< of this node
  /// Must be set. Called when the epoch of this node is over, maybe twice: on the engine thread
  /// with an error of CommitLog::append(), after which the engine does nothing more; on a thread of
  /// the StreamOwner with `log.deposed`. The process must start again.
  std::function<void(const Error&)> on_log_error;
  /// The latest actives have ended without an `end`: see ProcessorOptions::is_careful.
  bool is_careful = false;
};

class RunningEngine {
 public:
  /// Connects the parts; nothing runs yet. `process` must outlive the engine. `lead`: in a cluster;
  /// the store must have exactly the commits of the log. Nothing is sent, called or started in a
  /// container then before allow_until(). After an error the caller has the store as before.
  static Result<std::unique_ptr<RunningEngine>> make(
      ProcessParts& process, std::unique_ptr<Environment>&& store,
      std::optional<ClusterLead> lead = std::nullopt);

  /// Stops the engine in order: first it accepts no more events, then it sends messages of
  /// committed batches for at most two seconds, unless abandon() was called. Preconditions: the
  /// gateway is stopped; no append to the log of a cluster waits (JetStreamLog::stop).
  ~RunningEngine();
  RunningEngine(const RunningEngine&) = delete;
  RunningEngine& operator=(const RunningEngine&) = delete;

  /// Loads the store, claims the streams and starts the engine thread. Errors: those of the store,
  /// and `broker.owner` and `log.deposed`: another process owns the streams; `stopping`:
  /// `is_ending` was true while this process waited for them (StreamOwner::wait_until_decided).
  Status start(const std::function<bool()>& is_ending = {});

  // For the node of a cluster; any thread.

  /// Allows the engine to have effects until this time of the steady clock: to publish, to hand out
  /// tasks, to call services and webhooks, to start containers. Until then they wait. Each call
  /// replaces the time of the previous call. `asked`: when the append was sent whose
  /// acknowledgement allows it (Permission::allow_until).
  void allow_until(Permission::Time until, std::optional<Permission::Time> asked = std::nullopt);
  /// Ends the permission of allow_until(). What was sent or started before is not stopped.
  void forbid();
  /// Reads no more events, and completes what the engine has, for at most two seconds. NodeRole
  /// waits less long for it.
  void drain();
  /// Ends the permission for good, and lets the destructor send nothing but the release of the
  /// streams: another node is the active, and performs what this one has committed.
  void abandon();
  /// Asks whether the engine thread makes turns: see Intake::ask_turn().
  void ask_turn(std::function<void()> answered) { intake_.ask_turn(std::move(answered)); }

  /// The Service that the gateway calls. Its ready() fails with `starting` until start() has loaded
  /// the store.
  Service& service() { return service_; }

 private:
  RunningEngine(ProcessParts& process, std::unique_ptr<Environment> store,
                std::optional<ClusterLead> lead, OwnerRecord owner,
                const std::optional<RestoredStreams>& restored);

  ProcessorParts processor_parts();
  ProcessorOptions processor_options();
  LocalService::Parts service_parts();
  EventStreamSettings stream_settings();
  std::unique_ptr<RestoredPublisher> publisher_of(const RestoredStreams& restored);
  OwnerSettings owner_settings();
  TaskQueueSettings task_settings();
  DataFolder data_folder() const;
  Evaluator evaluator();
  void begin_owning();
  void stop_reading();
  Status reads_events() const;
  Status evaluates() const;
  PartLevels levels() const;

  // The members are in the order of their dependencies.
  ProcessParts& process_;
  std::unique_ptr<Environment> environment_;
  const std::optional<ClusterLead> lead_;  ///< nullopt: the process is in no cluster
  const OwnerRecord owner_record_;
  std::unique_ptr<RestoredPublisher> restored_;  ///< null: the store is not a restored one
  std::unique_ptr<JetStreamEvents> events_;
  std::atomic<uint64_t> last_ticket_ = 0;
  StartedTasks started_tasks_;
  WatchRing watch_;
  DefinitionCache definitions_{load_stored};
  Queries queries_{definitions_, started_tasks_, process_.clock};
  const AttemptUrls urls_;
  TaskRouter functions_{lead_ ? lead_->epoch : 0,
                        [this](const Task& task) { return urls_.callback_of(task); }};
  Intake intake_;
  AnswerStager answers_{intake_};
  FileCalls file_calls_;  ///< between the processor and functions_, and between these and answers_
  ArchiveThread archive_;
  JetStreamStoredEvents stored_events_;
  EarlyEventFeed early_event_feed_{intake_};
  EarlyEventThread early_events_;
  Processor processor_;
  JetStreamStoredLetters stored_letters_;
  JetStreamOrigins origins_;
  LocalService service_;
  std::unique_ptr<TaskQueue> workers_;
  HttpServices services_;
  ContainerRunner containers_;
  JetStreamDeadLetterQueue dead_letters_;
  std::unique_ptr<DeadLetterRetention> letter_retention_;
  bool runs_ = false;
  std::atomic<bool> is_abandoned_ = false;
  std::atomic<bool> has_owned_ = false;  ///< this process has owned the streams
  std::mutex owning_;                    ///< held while the parts start that need the streams
  bool stops_ = false;
  Cursor cursor_;      ///< the position from which events are read
  StreamOwner owner_;  ///< destroyed first, because it calls the other parts
};

}  // namespace millrace

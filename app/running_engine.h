// RunningEngine: an engine at work on one store: the processor, the service that asks it, and the
// parts that bring it events and do its tasks. It is made from the parts of the process and
// destroyed before them; what outlives it is in process_parts.h.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "app/process_parts.h"
#include "broker/event_stream.h"
#include "broker/stream_owner.h"
#include "broker/task_queue.h"
#include "functions/container.h"
#include "functions/http_services.h"
#include "functions/task_router.h"
#include "orchestrator/definition/loader.h"
#include "orchestrator/loop/intake.h"
#include "orchestrator/loop/processor.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/service/local_service.h"
#include "orchestrator/store/disk/environment.h"

namespace millrace {

/// Opens the store of the settings. Errors: Environment::open.
Result<std::unique_ptr<Environment>> open_store(const ServerSettings& settings);

class RunningEngine {
 public:
  /// Wires the parts; nothing runs yet. `process` outlives the engine.
  static Result<std::unique_ptr<RunningEngine>> make(ProcessParts& process,
                                                     std::unique_ptr<Environment> store);

  /// Stops in order: no more events, what is committed goes out as far as it does within two
  /// seconds. The gateway has been stopped before.
  ~RunningEngine();
  RunningEngine(const RunningEngine&) = delete;
  RunningEngine& operator=(const RunningEngine&) = delete;

  /// Loads the store, claims the streams, and runs when it returns. Errors: those of the store, and
  /// `broker.owner`: another process owns the streams.
  Status start();

  /// Answers `starting` until start() has loaded the store.
  Service& service() { return service_; }

 private:
  RunningEngine(ProcessParts& process, std::unique_ptr<Environment> store, OwnerRecord owner);

  ProcessorParts processor_parts();
  LocalService::Parts service_parts();
  EventStreamSettings stream_settings();
  OwnerSettings owner_settings();
  Evaluator evaluator();
  void begin_reading();
  Status reads_events() const;
  Status evaluates() const;
  PartLevels levels() const;

  // In the order in which they need each other.
  ProcessParts& process_;
  std::unique_ptr<Environment> environment_;
  const OwnerRecord owner_record_;
  std::unique_ptr<JetStreamEvents> events_;
  std::atomic<uint64_t> last_ticket_ = 0;
  BegunTasks begun_tasks_;
  DefinitionCache definitions_{load_stored};
  Queries queries_{definitions_, begun_tasks_};
  TaskRouter functions_;
  Intake intake_;
  Processor processor_;
  LocalService service_;
  std::unique_ptr<TaskQueue> workers_;
  HttpServices services_;
  ContainerRunner containers_;
  bool runs_ = false;
  std::mutex reading_;
  bool stops_ = false;
  Cursor cursor_;      ///< where reading begins
  StreamOwner owner_;  ///< the first to go: it calls the others
};

}  // namespace millrace

// LocalService: the Service of the millrace in this process. Commands go to the processor, reads to
// the last commit, events to the publisher. A check of the store has a thread of its own. Any
// thread.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "orchestrator/definition/lint_calls.h"
#include "orchestrator/definition/loader.h"
#include "orchestrator/loop/processor.h"
#include "orchestrator/service/broker_losses.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/service.h"

namespace millrace {

class LocalService final : public Service {
 public:
  /// All outlive it.
  struct Parts {
    Environment& environment;
    Intake& intake;
    Processor& processor;
    Queries& queries;
    Publisher& publisher;
    Metrics& metrics;
    const BrokerLosses& losses;
    std::function<Status()> reads_events;  ///< whether the event stream is being read, or why not
    std::function<Status()> sends_events;  ///< whether events can be sent, or why not
    std::function<Status()> runs_tasks;    ///< whether tasks go out and answers come in, or why not
    std::function<Status()> evaluates;     ///< whether evaluations have a worker, or why not
    std::function<PartLevels()> levels;    ///< but for what the three above say
    ProgramCheck check_programs;
    SchemaCheck check_schemas;
    /// Reads the dead letters of a namespace from the broker; `identity` is that of the one which
    /// has the name now.
    std::function<Result<Json>(std::string_view space,
                               const std::optional<NamespaceIdentity>& identity, size_t limit,
                               std::string_view cursor)>
        dead_letters;
    Json info;  ///< what `info` answers, but for `broker`
  };

  explicit LocalService(Parts parts) : parts_(std::move(parts)) {}
  /// Stops a check of the store that is under way.
  ~LocalService() override;

  void command(Command command, Done done) override;
  void wait_for_end(std::string space, InstanceId id, Duration at_most,
                    std::function<void(Status)> done) override;
  Loaded load_definition(std::string_view text, std::string_view space) override;
  void publish_events(std::string space, std::vector<Event> events,
                      std::function<void(Result<Accepted>)> done) override;

  Result<Json> namespaces() override;
  Result<Json> workflows(std::string_view space) override;
  Result<Json> schedules(std::string_view space) override;
  Result<Json> schedule(std::string_view space, std::string_view workflow) override;
  Result<Json> workflow(std::string_view space, std::string_view id) override;
  Result<Json> revisions(std::string_view space, std::string_view id) override;
  Result<Json> instances(std::string_view space, const InstanceFilter& filter) override;
  Result<Json> instance(std::string_view space, const InstanceId& id) override;
  Result<Json> history(std::string_view space, const InstanceId& id) override;
  Result<Json> listeners(std::string_view space, size_t limit, std::string_view cursor) override;
  Result<Json> groups(std::string_view space, size_t limit, std::string_view cursor) override;
  Result<Json> variables(const VariablePlace& place, size_t limit,
                         std::string_view cursor) override;
  Result<Variable> variable(const VariablePlace& place, std::string_view key) override;
  Result<Json> secrets(std::string_view space, size_t limit, std::string_view cursor) override;
  Result<Json> dead_letters(std::string_view space, size_t limit, std::string_view cursor) override;

  void verify(Done done) override;
  Status ready() override;
  Json info() override;
  std::string metrics() override;

 private:
  NamesService named_services(std::string_view space);
  /// Runs a query on the last commit.
  Result<Json> read(const std::function<Result<Json>(const View& view)>& query);

  Status check_namespace(std::string_view space);

  Result<Json> check_rows();

  Parts parts_;
  std::mutex verify_lock_;
  std::thread verifying_;  ///< under verify_lock_; a thread of its own: it may take minutes
  std::atomic<bool> verifies_ = false;
  std::atomic<bool> stopping_ = false;
};

}  // namespace millrace

// Sources: the sources of all namespaces. Each source that is not paused has a thread that reads
// its stream (source_run.h), so that a slow stream or mapping delays no other source. A further
// thread starts and ends these threads, as the rows of the store say.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/event.h"
#include "base/json.h"
#include "base/result.h"
#include "orchestrator/definition/source_settings.h"
#include "orchestrator/loop/metrics.h"
#include "orchestrator/service/source_consumers.h"
#include "orchestrator/service/source_desk.h"
#include "orchestrator/service/source_mapping.h"
#include "orchestrator/service/source_run.h"
#include "orchestrator/service/tried_event.h"
#include "orchestrator/store/rows/source_rows.h"

namespace millrace {

class Sources final : public SourceDesk {
 public:
  Sources(SourceParts parts, JudgeEvent judge)
      : parts_(counted_in(totals_, std::move(parts))), judge_(std::move(judge)) {}
  ~Sources() override { stop_threads(); }
  Sources(const Sources&) = delete;
  Sources& operator=(const Sources&) = delete;

  /// Begins to read the sources of the store. To be called once, when this process owns the
  /// streams.
  void start_threads();
  /// Ends the threads; waits for what they publish. The engine must still answer commands.
  void stop_threads();

  /// Adds the figures of the sources.
  void add_to(PartLevels& levels) const;

  void apply(std::string_view ns, const std::string& name, const Json& settings,
             const Done& done) override;
  Result<Json> list(std::string_view ns) override;
  Result<Json> get(std::string_view ns, const std::string& name) override;
  void pause(std::string_view ns, const std::string& name, bool paused, const Done& done) override;
  Result<Json> try_messages(std::string_view ns, const std::string& name,
                            const std::optional<Json>& settings) override;
  void remove(std::string_view ns, const std::string& name, const Done& done) override;

 private:
  /// A source that is read, and its thread.
  struct Reading {
    Reading(const SourceParts& parts, const SourcePlace& place, const SourceToRead& source)
        : ns(source.ns), consumer(source.consumer), run(parts, place, ns, consumer) {}
    const std::string ns;  ///< the name of its namespace
    const std::optional<SourceConsumer> consumer;
    SourceRun run;
    std::thread thread;
    bool stops = false;  ///< guarded by Sources::mutex_
  };
  using Readings = std::map<SourcePlace, std::unique_ptr<Reading>>;

  static SourceParts counted_in(SourceTotals& totals, SourceParts parts);
  void run();
  void read(Reading& reading);
  Result<SourcesLook> look() const;
  std::vector<SourceConsumer> adjust();
  bool goes_on(const SourcePlace& place, const Reading& reading, const SourcesLook& look) const;
  void release(const std::vector<SourceConsumer>& left);
  void end(Readings ended);
  std::optional<SourceFigures> figures_of(const SourcePlace& place) const;
  void command(Command command, const Done& done);
  Result<SourceSettings> settings_of(std::string_view ns, const std::string& name,
                                     const std::optional<Json>& settings) const;
  Result<bool> has_source_stream(std::string_view ns, const std::string& name) const;
  void leave_stream(std::string_view ns, const std::string& name);
  void remove_left_streams();
  Status check_programs(const SourceSettings& settings) const;
  Json warnings_about(std::string_view ns, const SourceSettings& settings) const;
  std::vector<MadeEvent> events_of(std::string_view ns, const std::string& name,
                                   const SourceSettings& settings,
                                   const std::vector<OriginMessage>& messages) const;
  Result<Json> tried(std::string_view ns, const OriginMessage& message, Result<Event> event) const;

  SourceTotals totals_;
  const SourceParts parts_;
  const JudgeEvent judge_;
  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  Readings readings_;
  std::map<SourcePlace, SourceFigures> past_;  ///< of sources that are not read now
  bool stopping_ = false;
  bool has_changed_ = false;
  /// The namespaces and names of sources whose streams of millrace are to be deleted.
  std::set<std::pair<std::string, std::string>> left_streams_;
  size_t left_consumers_ = 0;  ///< that could not be deleted yet
  SourceConsumers consumers_;  ///< for thread_ only
  std::thread thread_;
};

}  // namespace millrace

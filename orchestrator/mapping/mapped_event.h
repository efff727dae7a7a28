// Evaluates the mapping of a message to an event. MappingRun is pure: the fast lane runs what it
// can, and the queries that are left are for a jq worker. map_event() passes them to one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/event.h"
#include "base/lazy_json.h"
#include "base/result.h"
#include "base/time.h"
#include "expressions/evaluation.h"
#include "expressions/template.h"
#include "orchestrator/definition/event_mapping.h"
#include "orchestrator/mapping/mapping_input.h"
#include "orchestrator/ports/evaluator.h"

namespace millrace {

/// The attributes that the event has where the mapping does not set them, or its result is null.
struct MappingDefaults {
  std::string source;
  std::string id;
  std::string time;  ///< RFC 3339
};

/// One evaluation of a mapping. For one thread.
class MappingRun {
 public:
  /// Precondition: `mapping` is not null. `input` has what the mapping reads.
  MappingRun(std::shared_ptr<const EventMapping> mapping, MappingInput input,
             MappingDefaults defaults);

  /// What a jq worker must evaluate; empty: nothing.
  const std::vector<Query>& queries() const { return queries_; }

  /// The event. `results` are those of queries(), in order. Errors: `mapping.failed` (a jq query
  /// failed), `mapping.invalid` (a result is no value of its attribute), both with the place in the
  /// mapping; `event.too_large`.
  Result<Event> finish(EvaluationResult results) &&;

 private:
  struct Part {
    MappedField field;
    size_t first = 0;  ///< the index of the result of its first jq program
  };

  std::string place_of(size_t program) const;
  std::string described(const Error& error) const;
  Status take(EvaluationResult results);
  LazyJson value_of(const Part& part) const;
  Status set(const Part& part, Event& event) const;

  std::shared_ptr<const EventMapping> mapping_;
  MappingDefaults defaults_;
  std::optional<std::string> data_;
  std::optional<std::string> content_type_;
  std::vector<Part> parts_;
  std::vector<std::optional<QueryResult>> results_;  ///< nullopt: a jq worker must evaluate it
  std::vector<Query> queries_;
};

/// How a jq worker evaluates a mapping.
struct MappingWork {
  TimePoint now;       ///< the result of jq's `now`
  uint64_t lane = 0;   ///< a slow evaluation delays only those of the same lane
  uint64_t space = 0;  ///< the namespace, which takes turns with others
  std::optional<Duration> timeout = std::nullopt;  ///< nullopt: the evaluator's default
};

/// Evaluates the mapping; `evaluate` gets what the fast lane cannot evaluate. `done` is called
/// once, at once or on a thread of the evaluator; it is not called if the evaluator ends before.
/// Errors: those of MappingRun::finish().
void map_event(MappingRun run, const MappingWork& work, const Evaluator& evaluate,
               std::function<void(Result<Event>)> done);

}  // namespace millrace

// Queries about workflows and their schedules.
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "language/graph.h"
#include "orchestrator/service/cursor.h"
#include "orchestrator/service/page.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/index_build.h"
#include "states/state.h"

namespace millrace {
namespace {

/// The number of ticks that the query of one schedule returns.
constexpr size_t kUpcoming = 5;

/// The most rows of counts that are read for one page of workflows.
constexpr size_t kMostRowsOfCounts = 100'000;

/// Reads the row of a definition. A definition in the cache does not imply that its row still
/// exists.
Result<DefinitionRecord> stored_definition(const View& view, Revision revision) {
  auto stored = TRY(read_definition(view, revision));
  if (!stored) return tl::unexpected(damaged_definition(revision, "it is missing"));
  return *std::move(stored);
}

}  // namespace

Result<Json> Queries::workflows(const View& view, std::string_view ns, const PageRequest& request) {
  // TRY is not used: with it, g++ 12 warns about freeing the list of a failed result.
  const Result<SomeWorkflows> known = some_workflows(view, ns, request);
  if (!known) return tl::unexpected(known.error());
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  const bool has_counts = !is_index_incomplete(view);
  TRY(view.status());
  size_t rows_left = kMostRowsOfCounts;
  Page page(request.limit);
  for (const auto& [id, record] : *known) {
    if (!page.has_room()) break;
    const Revision revision{record.number, record.latest};
    const auto workflow = TRY(definitions_.find_or_load(view, revision));
    const DefinitionRecord stored = TRY(stored_definition(view, revision));
    Json item{{"id", id},
              {"revision", record.latest},
              {"start", to_string(workflow->start.kind)},
              {"name", workflow->name},
              {"paused", record.paused},
              {"updatedAt", format_rfc3339(stored.created_at)}};
    if (has_counts) {
      Result<Json> counts = counts_by_status(view, number, record.number, rows_left);
      if (!counts && !is_damaged_row(counts.error())) return counts;
      if (counts && !counts->is_null()) item["counts"] = *std::move(counts);
    }
    if (workflow->start.cron) {
      const Result<Json> ticks = schedule(view, id, record, 0);
      if (!ticks && !is_damaged_row(ticks.error())) return ticks;
      if (ticks) item["nextTick"] = ticks->at("nextTick");
    }
    page.add(std::move(item), id, stored.text.size());
  }
  return std::move(page).json();
}

Result<Json> Queries::workflow(const View& view, std::string_view ns, std::string_view id) {
  const WorkflowRecord record = TRY(find_workflow(view, ns, id));
  const Revision revision{record.number, record.latest};
  const auto workflow = TRY(definitions_.find_or_load(view, revision));
  const DefinitionRecord stored = TRY(stored_definition(view, revision));
  Json states = Json::array();
  for (const auto& state : workflow->states) {
    states.push_back({{"id", state->common().id}, {"type", state->common().type}});
  }
  return Json{{"id", id},
              {"revision", record.latest},
              {"name", workflow->name},
              {"description", workflow->description},
              {"version", workflow->version},
              {"start", to_string(workflow->start.kind)},
              {"states", std::move(states)},
              {"paused", record.paused},
              {"updatedAt", format_rfc3339(stored.created_at)},
              {"definition", stored.text}};
}

Result<Json> Queries::graph(const View& view, std::string_view ns, std::string_view id,
                            std::optional<uint32_t> revision) {
  const WorkflowRecord record = TRY(find_workflow(view, ns, id));
  const uint32_t number = revision.value_or(record.latest);
  if (number == 0 || number > record.latest) {
    return fail("revision.not_found",
                fmt::format("workflow \"{}\" has no revision {}; its newest one is {}", id, number,
                            record.latest));
  }
  const DefinitionRecord stored = TRY(stored_definition(view, {record.number, number}));
  Findings findings;
  const std::optional<Node> document = parse_document(stored.text, findings);
  if (!document) {
    return tl::unexpected(damaged_definition({record.number, number}, "its text does not parse"));
  }
  Json json = to_json(workflow_graph(*document));
  json["id"] = id;
  json["revision"] = number;
  return json;
}

Result<std::optional<InputSchema>> Queries::input_schema(const View& view, std::string_view ns,
                                                         std::string_view id) {
  const WorkflowRecord record = TRY(find_workflow(view, ns, id));
  const Revision revision{record.number, record.latest};
  const DefinitionRecord stored = TRY(stored_definition(view, revision));
  Findings findings;
  const std::optional<Node> document = parse_document(stored.text, findings);
  if (!document) {
    return tl::unexpected(damaged_definition(revision, "its text does not parse"));
  }
  return millrace::input_schema(*document);
}

Result<Json> Queries::revisions(const View& view, std::string_view ns, std::string_view id,
                                const RevisionsRequest& request) {
  const auto behind = TRY(parse_number_cursor(request.cursor));
  if (behind && *behind > std::numeric_limits<uint32_t>::max()) return malformed_cursor();
  std::optional<uint32_t> before;
  if (behind) before = static_cast<uint32_t>(*behind);
  const WorkflowRecord record = TRY(find_workflow(view, ns, id));
  Page page(request.limit);
  TRY(each_definition(
      view, record.number, before,
      [&](uint32_t number, const DefinitionRecord& stored) {
        if (!page.has_room()) return false;
        Json item{{"revision", number}, {"createdAt", format_rfc3339(stored.created_at)}};
        if (request.texts) item["definition"] = stored.text;
        page.add(std::move(item), std::to_string(number), stored.text.size());
        return true;
      },
      [](const Error&) {}));
  return std::move(page).json();
}

Result<Json> Queries::revision(const View& view, std::string_view ns, std::string_view id,
                               uint32_t number) {
  const WorkflowRecord record = TRY(find_workflow(view, ns, id));
  const auto stored = TRY(read_definition(view, {record.number, number}));
  if (!stored) {
    return fail("revision.not_found",
                fmt::format("workflow \"{}\" has no revision {}; its newest one is {}", id, number,
                            record.latest));
  }
  return Json{{"workflow", id},
              {"revision", number},
              {"createdAt", format_rfc3339(stored->created_at)},
              {"definition", stored->text}};
}

Result<Json> Queries::schedule(const View& view, std::string_view id, const WorkflowRecord& record,
                               size_t upcoming) {
  const auto workflow = TRY(definitions_.find_or_load(view, {record.number, record.latest}));
  const Start& start = workflow->start;
  if (start.kind != Start::Kind::kScheduled) return Json();
  Json json{{"workflow", id}, {"paused", record.paused}};
  if (!start.cron) return json;
  json["cron"] = start.cron->text();
  json["zone"] = start.cron->zone();
  const auto row = TRY(read_schedule(view, record.number));
  if (!row) return tl::unexpected(damaged_schedule(record.number, "it is missing"));
  if (row->last) json["lastTick"] = format_rfc3339(*row->last);
  TimePoint tick = start.cron->next(row->from);
  json["nextTick"] = format_rfc3339(tick);
  for (; upcoming > 0; --upcoming, tick = start.cron->next(tick)) {
    json["upcoming"].push_back(format_rfc3339(tick));
  }
  return json;
}

Result<Json> Queries::schedules(const View& view, std::string_view ns, const PageRequest& request) {
  // TRY is not used: with it, g++ 12 warns about freeing the list of a failed result.
  const Result<SomeWorkflows> known = some_workflows(view, ns, request);
  if (!known) return tl::unexpected(known.error());
  Page page(request.limit);
  for (size_t i = 0; i < known->size() && page.has_room(); ++i) {
    const auto& [id, record] = (*known)[i];
    if (i == request.limit) {
      page.continue_at((*known)[i - 1].first);
      break;
    }
    const size_t bytes = TRY(definition_bytes(view, {record.number, record.latest}));
    Json item = TRY(schedule(view, id, record, 0));
    if (item.is_null()) {
      page.pass(id, bytes);
    } else {
      page.add(std::move(item), id, bytes);
    }
  }
  return std::move(page).json();
}

Result<Json> Queries::schedule(const View& view, std::string_view ns, std::string_view workflow) {
  const WorkflowRecord record = TRY(find_workflow(view, ns, workflow));
  Json json = TRY(schedule(view, workflow, record, kUpcoming));
  if (json.is_null()) {
    return fail("schedule.not_found", fmt::format("workflow \"{}\" has no schedule", workflow));
  }
  return json;
}

}  // namespace millrace

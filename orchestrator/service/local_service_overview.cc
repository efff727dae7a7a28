// LocalService::overview(): what the server does, and what an operator has to look at.
#include <cstdint>
#include <string>
#include <utility>

#include "orchestrator/service/attention.h"
#include "orchestrator/service/index_questions.h"
#include "orchestrator/service/local_service.h"

namespace millrace {

Json LocalService::shown_levels() const {
  const PartLevels levels = parts_.levels();
  return {{"readsEvents", parts_.reads_events().has_value()},
          {"sendsEvents", parts_.sends_events().has_value()},
          {"runsTasks", parts_.runs_tasks().has_value()},
          {"tasksUnsent", levels.tasks_unsent},
          {"httpRunning", levels.http_running},
          {"httpWaiting", levels.http_waiting},
          {"evaluationsWaiting", levels.evaluations_waiting},
          {"evaluationsRunning", levels.evaluations_running},
          {"jqWorkers", levels.jq_workers}};
}

Result<Json> LocalService::overview(std::string_view ns) {
  Json shown = TRY(read([&](const View& view) { return parts_.queries.overview(view, ns); }));
  shown["levels"] = shown_levels();
  const Status reads = parts_.reads_events();
  shown["broker"] = {{"reading", reads.has_value()}, {"losses", parts_.losses.list().size()}};
  if (!reads) shown["broker"]["waitingFor"] = reads.error().message;
  if (const Result<StoreSize> size = parts_.environment.size()) {
    shown["store"] = {{"dataBytes", size->data_bytes}, {"usedBytes", size->used_bytes}};
  }
  add_attention({.environment = parts_.environment,
                 .clock = parts_.clock,
                 .queries = parts_.queries,
                 .ask = index_asker(parts_.intake, kIndexPatience),
                 .count_requests = parts_.count_requests},
                ns, shown);
  add_idle_sources(source_desk().list(ns), shown);
  const auto letters =
      reads ? letter_desk_.left(ns, "") : Result<uint64_t>(tl::unexpected(reads.error()));
  if (!letters) {
    const std::string why = "their number is not known: " + letters.error().message;
    shown["attention"].push_back({{"kind", "deadLetters"}, {"detail", why}});
  } else if (*letters > 0) {
    shown["attention"].push_back({{"kind", "deadLetters"}, {"count", *letters}});
  }
  add_unknown_namespaces(parts_.environment, parts_.stored_letters, reads, shown);
  if (const Status is_ready = ready(); !is_ready) {
    shown["attention"].push_back({{"kind", "server"}, {"detail", is_ready.error().message}});
  }
  return shown;
}

}  // namespace millrace

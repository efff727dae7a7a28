#include "orchestrator/service/attention.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "orchestrator/service/namespace_record.h"
#include "orchestrator/service/soonest_firings.h"
#include "orchestrator/store/transaction.h"

namespace millrace {
namespace {

constexpr std::string_view kNoWorkers = "noWorkers";
constexpr std::string_view kUnknownNamespace = "unknownNamespace";
/// How long the oldest task of a service must have waited: a worker that takes one task after the
/// other does not ask while it works.
constexpr std::chrono::seconds kLongInQueue{10};

/// The member, which becomes an empty list if it is missing.
Json& list_of(Json& answer, const char* member) {
  Json& list = answer[member];
  if (!list.is_array()) list = Json::array();
  return list;
}

size_t count_of(const Json& items, std::string_view kind) {
  return static_cast<size_t>(std::count_if(
      items.begin(), items.end(), [&](const Json& item) { return item.at("kind") == kind; }));
}

void add_timed(const AttentionParts& parts, std::string_view ns, Attention& attention) {
  // Most timers of calls are timeouts, so the walk does not end when it has found as many timers as
  // an overview shows.
  const Result<Json> timed =
      ask_timers({.environment = parts.environment,
                  .clock = parts.clock,
                  .queries = parts.queries,
                  .ask = parts.ask,
                  .rows = parts.rows,
                  .walked = parts.rows,
                  .spare = parts.rows,
                  .walk_time = kAttentionTime},
                 ns, {.kinds = {FiringKind::kStateTimeout, FiringKind::kRetry, FiringKind::kCall}},
                 [&](const View& view, const NextLooks& looks) {
                   return parts.queries.timed_attention(view, ns, looks);
                 });
  if (timed) return attention.add_all(*timed);
  for (const char* const kind : {"retrying", "deadline"}) {
    attention.cut(kind, {{"detail", timed.error().message}});
  }
}

/// Whether tasks of the service have waited for a worker for long.
bool has_long_queue(const Json& service, TimePoint now) {
  if (service.at("target").at("kind") != "workers" || service.at("paused") == true) return false;
  if (service.at("waiting") == 0 || !service.contains("oldest")) return false;
  const auto oldest = parse_rfc3339(service.at("oldest").get<std::string>());
  return oldest && now - *oldest >= kLongInQueue;
}

void add_unserved(const AttentionParts& parts, std::string_view ns, Attention& attention) {
  const auto services = [&]() -> Result<Json> {
    const Snapshot view = TRY(Snapshot::take(parts.environment));
    return parts.queries.functions(view, ns, kAttentionTime);
  }();
  if (!services) return attention.cut(kNoWorkers, {{"detail", services.error().message}});
  const TimePoint now = parts.clock.now();
  Json waiting{{"items", Json::array()}};
  for (const Json& service : services->at("items")) {
    if (has_long_queue(service, now)) waiting["items"].push_back(service);
  }
  if (parts.count_requests) add_asking(waiting, parts.clock, parts.count_requests);
  bool are_known = true;
  for (const Json& service : waiting["items"]) {
    if (!service.contains("asking")) {
      are_known = false;
    } else if (service.at("asking") == 0) {
      Json item{{"kind", kNoWorkers},
                {"service", service.at("service")},
                {"count", service.at("waiting")},
                {"running", service.at("running")},
                {"since", service.at("oldest")}};
      if (service.contains("global")) item["global"] = true;
      attention.add(std::move(item));
    }
  }
  if (!are_known) {
    attention.cut(kNoWorkers, {{"detail",
                                "the broker has not answered how many workers ask for "
                                "the tasks of each service"}});
  } else if (services->at("complete") == false) {
    attention.cut(kNoWorkers,
                  {{"detail", "there are more tasks than the server looks at in one call"}});
  }
}

Status add_names(Environment& environment, StoredLetters& letters, Attention& attention) {
  const std::map<std::string, uint64_t> counts =
      TRY(letters.count_by_namespace("namespace.not_found"));
  const Snapshot view = TRY(Snapshot::take(environment));
  size_t added = 0;
  for (const auto& [name, count] : counts) {
    const Result<NamespaceRecord> known = namespace_record(view, name);
    if (!known && known.error().code != "namespace.not_found") return tl::unexpected(known.error());
    if (known) continue;
    attention.add({{"kind", kUnknownNamespace}, {"namespace", name}, {"count", count}});
    if (++added > kMostOfAKind) break;
  }
  return {};
}

}  // namespace

Attention::Attention(Json& answer)
    : items_(list_of(answer, "attention")), cut_(list_of(answer, "cut")) {}

void Attention::add(Json item) {
  const std::string kind = item.at("kind");
  if (count_of(items_, kind) == kMostOfAKind) return cut(kind);
  items_.push_back(std::move(item));
}

void Attention::cut(std::string_view kind, Json how) {
  if (count_of(cut_, kind) > 0) return;
  how["kind"] = kind;
  cut_.push_back(std::move(how));
}

void Attention::add_all(const Json& answer) {
  for (const Json& item : answer.at("attention")) add(item);
  for (const Json& one : answer.at("cut")) cut(one.at("kind").get<std::string>(), one);
}

void add_unknown_namespaces(Environment& environment, StoredLetters& letters, const Status& reads,
                            Json& overview) {
  Attention attention(overview);
  const Status added = reads ? add_names(environment, letters, attention) : reads;
  if (!added) attention.cut(kUnknownNamespace, {{"detail", added.error().message}});
}

void add_idle_sources(const Result<Json>& sources, Json& overview) {
  Attention attention(overview);
  if (!sources) {
    for (const char* const kind : {"pausedSource", "sourceWaits"}) {
      attention.cut(kind, {{"detail", sources.error().message}});
    }
    return;
  }
  for (const Json& source : sources->at("items")) {
    if (source.at("paused") == true) {
      attention.add({{"kind", "pausedSource"}, {"source", source.at("name")}});
    } else if (source.contains("waits")) {
      attention.add({{"kind", "sourceWaits"},
                     {"source", source.at("name")},
                     {"detail", source.at("waits").at("msg")}});
    }
  }
}

void add_attention(const AttentionParts& parts, std::string_view ns, Json& overview) {
  Attention attention(overview);
  add_timed(parts, ns, attention);
  add_unserved(parts, ns, attention);
}

}  // namespace millrace

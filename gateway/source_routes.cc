// The routes /v1/ns/{ns}/sources and below: streams of other programs that are read as events.
#include <optional>
#include <string>
#include <utility>

#include "gateway/parameters.h"
#include "gateway/routes.h"

namespace millrace {
namespace {

Status apply_source(Service& service, const std::shared_ptr<Exchange>& exchange) {
  const std::string ns = TRY(namespace_of(exchange->request()));
  const std::string name = TRY(source_name_of(exchange->request()));
  const Json settings = TRY(parse_json(exchange->request().body));
  service.source_desk().apply(ns, name, settings,
                              exchange->back<Result<Json>>([exchange](const Result<Json>& answer) {
                                const bool created = answer && answer->value("created", false);
                                exchange->reply(answer, created ? 201 : 200);
                              }));
  return {};
}

Status pause_source(Service& service, const std::shared_ptr<Exchange>& exchange, bool paused) {
  const std::string ns = TRY(namespace_of(exchange->request()));
  const std::string name = TRY(source_name_of(exchange->request()));
  service.source_desk().pause(ns, name, paused, exchange->replier());
  return {};
}

Status remove_source(Service& service, const std::shared_ptr<Exchange>& exchange) {
  const std::string ns = TRY(namespace_of(exchange->request()));
  const std::string name = TRY(source_name_of(exchange->request()));
  service.source_desk().remove(ns, name, exchange->replier());
  return {};
}

}  // namespace

void add_source_routes(Router& router, Service& service) {
  router.add(
      {.method = "PUT",
       .path = "/v1/ns/{ns}/sources/{source}",
       .operation = "applySource",
       .summary = "Creates a source, or changes its settings.",
       .body = "SourceSettings",
       .answer = "SourceApplied",
       .further_answers = {{201, "SourceApplied"}},
       .errors = {"namespace.not_found", "json.", "settings.invalid", "jq.unavailable",
                  "source.consumers_left", "source.no_stream", "source.not_permitted",
                  "source.own_stream", "source.own_subjects", "source.overlap", "source.retention",
                  "source.stream_taken", "source.too_many", "millrace.quota.", "broker."},
       .max_body = kMaxSourceBytes,
       .lane = Lane::kBroker,
       .handler = [&service](const auto& exchange) { return apply_source(service, exchange); }});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/sources",
              .operation = "listSources",
              .summary = "Lists the sources, and how far each has read its stream.",
              .answer = "Sources",
              .errors = {"namespace.not_found"},
              .handler = reading([&service](const Request& request) -> Result<Json> {
                return service.source_desk().list(TRY(namespace_of(request)));
              })});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/sources/{source}",
              .operation = "getSource",
              .summary = "Shows a source with its settings.",
              .answer = "Source",
              .errors = {"namespace.not_found", "source.not_found"},
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string ns = TRY(namespace_of(request));
                return service.source_desk().get(ns, TRY(source_name_of(request)));
              })});
  for (const bool paused : {true, false}) {
    router.add({.method = "POST",
                .path = paused ? "/v1/ns/{ns}/sources/{source}/pause"
                               : "/v1/ns/{ns}/sources/{source}/resume",
                .operation = paused ? "pauseSource" : "resumeSource",
                .summary = paused ? "Pauses a source: it reads no more messages."
                                  : "Resumes a source, which continues where it was.",
                .answer = "SourcePaused",
                .errors = {"namespace.not_found", "source.not_found"},
                .handler = [&service, paused](const auto& exchange) {
                  return pause_source(service, exchange, paused);
                }});
  }
  router.add({.method = "POST",
              .path = "/v1/ns/{ns}/sources/{source}/try",
              .operation = "trySource",
              .summary = "Says what the newest messages would become and do; nothing is published.",
              .body = "SourceSettings",
              .may_lack_body = true,
              .answer = "SourceTried",
              .errors = {"namespace.not_found", "json.", "settings.invalid", "jq.unavailable",
                         "source.not_found", "source.no_stream", "source.not_permitted",
                         "source.own_stream", "source.retention", "source.stream_taken", "broker."},
              .max_body = kMaxSourceBytes,
              .lane = Lane::kBroker,
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string ns = TRY(namespace_of(request));
                const std::string name = TRY(source_name_of(request));
                std::optional<Json> settings;
                if (!request.body.empty()) settings = TRY(parse_json(request.body));
                return service.source_desk().try_messages(ns, name, settings);
              })});
  router.add(
      {.method = "DELETE",
       .path = "/v1/ns/{ns}/sources/{source}",
       .operation = "deleteSource",
       .summary = "Deletes a source; its stream stays, unless millrace made it for the source.",
       .answer = "SourceDeleted",
       .errors = {"namespace.not_found", "source.not_found", "source.not_permitted", "broker."},
       .lane = Lane::kBroker,
       .handler = [&service](const auto& exchange) { return remove_source(service, exchange); }});
}

}  // namespace millrace

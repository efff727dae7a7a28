#include "app/server_settings.h"

#include "broker/streams.h"
#include "gateway/http_server.h"
#include "language/document.h"
#include "model/hops.h"
#include "model/variable.h"
#include "orchestrator/batch/command.h"
#include "orchestrator/engine/engine.h"
#include "orchestrator/loop/pressure.h"

namespace millrace {
namespace {

Json describe(const StreamSettings& stream) {
  Json made = {{"name", stream.name},
               {"subjects", stream.subjects},
               {"maxAgeSeconds", stream.max_age.count() / 1000}};
  if (stream.max_bytes) made["maxBytes"] = *stream.max_bytes;
  return made;
}

/// The settings with which missing streams are created; an existing stream may have other settings.
Json describe(const StreamOptions& options, const std::string& domain) {
  Json streams = {{"prefix", options.prefix},
                  {"replicas", options.replicas},
                  {"events", describe(events_stream(options))},
                  {"deadLetters", describe(dead_letters_stream(options))},
                  {"lifecycle", describe(lifecycle_stream(options))},
                  {"tasks", describe(tasks_stream(options))},
                  {"results", describe(results_stream(options))}};
  if (!options.cluster.empty()) streams["cluster"] = options.cluster;
  if (!options.tags.empty()) streams["tags"] = options.tags;
  if (!domain.empty()) streams["domain"] = domain;
  return streams;
}

}  // namespace

Json describe(const ServerSettings& settings) {
  return {{"version", MILLRACE_VERSION},
          {"data", settings.data.string()},
          {"nats", without_logins(settings.nats.servers)},
          {"natsInboxPrefix", settings.nats.inbox_prefix},
          {"requestSubjects", settings.request_subjects},
          {"streams", describe(settings.streams, settings.nats.js_domain)},
          {"limits",
           {{"eventBytes", kMaxEventBytes},
            {"eventAttributes", kMaxExtensions},
            {"batchEvents", kMaxBatchEvents},
            {"definitionBytes", kMaxDocumentSize},
            {"variableBytes", kMaxVariableBytes},
            {"secretBytes", kMaxSecretBytes},
            {"jsonDepth", kMaxJsonDepth},
            {"storeBytes", settings.bounds.store_limit},
            {"httpMemoryBytes", settings.bounds.http_memory},
            {"httpConnections", TransportLimits().connections},
            {"httpWaits", TransportLimits().long_waits},
            {"outboxBytes", Marks().outbox_bytes},
            {"dedupeSeconds", settings.bounds.dedupe_window.count() / 1000},
            {"dedupeEvents", settings.bounds.dedupe_events},
            {"taskMilliseconds", settings.bounds.task_timeout.count()},
            {"callMilliseconds", settings.bounds.call_timeout.count()},
            {"transitions", EngineLimits().transitions_per_instance},
            {"hops", kMaxHops}}}};
}

}  // namespace millrace

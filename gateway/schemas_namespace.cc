// Schemas of namespaces, their settings and their services.
#include "gateway/api_schemas.h"
#include "gateway/schema_parts.h"

namespace millrace {
namespace {

/// The settings of a namespace; docs/operating.md describes them. What a service, a webhook and the
/// rules of retention have is checked when the settings are set.
Json namespace_settings() {
  using namespace schema;
  return object({
      {"services?", map(open_object({}), "The services by name.")},
      {"paused?", list(text(), "The names of the paused services.")},
      {"defaults?", text("The vocabulary whose defaults apply.")},
      {"sealed?", flag("Whether the data of all instances is sealed.")},
      {"lifecycle?", flag("Whether lifecycle events are published.")},
      {"webhooks?", list(open_object({{"url", text()}}))},
      {"hooks?", map(object({{"verify", open_object({{"form", text()}})},
                             {"mapping", open_object({{"type", text()}})},
                             {"paused?", flag()}}),
                     "The inbound webhooks by name.")},
      {"retention?", open_object({})},
      {"quotas?", map(either({whole(), text()}), "The limits by the name of the quota.")},
  });
}

Json settings_warnings_schema() {
  using namespace schema;
  return list(object({{"path", text("The place in the settings.")},
                      {"message", text("What is doubtful, and how to correct it.")}}));
}

Json namespace_head() {
  using namespace schema;
  return object({
      {"name", text()},
      {"createdAt", instant()},
      {"settings?", either({ref("NamespaceSettings"), text("The stored settings are not JSON.")})},
      {"settingsError?", text("Why the stored settings do not apply.")},
      {"settingsWarnings?", settings_warnings_schema()},
  });
}

}  // namespace

void add_namespace_schemas(ApiSchemas& all) {
  using namespace schema;
  all["NamespaceSettings"].schema = namespace_settings();
  all["NamespaceHead"].schema = namespace_head();
  all["Namespaces"].schema = page(ref("NamespaceHead"));
  const Json quota = object({
      {"limit", either({whole(), exactly("unlimited")})},
      {"overHttp?", whole("The limit over HTTP, if it is another one.")},
      {"used?", whole("How much is used; missing: it is not counted.")},
  });
  const Json by_state = object({
      {"waiting", whole("Evaluations that no jq worker has.")},
      {"running", whole("Evaluations that a jq worker has.")},
  });
  all["Evaluations"].schema = object({{"fast", by_state}, {"slow", by_state}});
  all["Namespace"].schema = extended(
      namespace_head(),
      {{"quotas", map(quota, "The quotas by name.")}, {"evaluations?", ref("Evaluations")}});
  all["NamespaceCreated"].schema = object({
      {"name", text()},
      {"created", flag("false: the namespace existed before.")},
      {"warnings?", settings_warnings_schema()},
      {"removed?", list(object({{"path", text("The place in the former settings.")},
                                {"url?", text("The URL of the service or webhook.")}}),
                        "What the former settings had and the new ones lack.")},
  });
  // A deletion of leftovers by their number answers {"number","erasing"}.
  all["NamespaceDeleted"].schema =
      either({deletion(), object({{"number", whole()}, {"erasing", exactly(true)}})});
  all["ServicePaused"].schema = object({
      {"name", text()},
      {"paused", flag()},
      {"changed", flag("false: the service was paused, or not paused, before.")},
  });
}

}  // namespace millrace

#include "orchestrator/definition/settings_targets.h"

#include <string>
#include <variant>

#include <fmt/format.h>

#include "model/service_url.h"
#include "orchestrator/definition/invalid_setting.h"

namespace millrace {
namespace {

Status check_url(const std::string& where, const std::string& url) {
  const auto origin = http_origin(url);
  if (origin) return {};
  return invalid_setting(
      where, fmt::format("{}; write an HTTP URL such as http://host:8080/path", origin.error()));
}

}  // namespace

Status check_targets(const NamespaceSettings& settings, const RequestSubjects& subjects) {
  for (const auto& [name, service] : settings.services) {
    if (!service.target) continue;
    if (const auto* http = std::get_if<HttpService>(&*service.target)) {
      TRY(check_url(fmt::format("services.{}.url", name), http->url));
    }
    if (const auto* nats = std::get_if<NatsService>(&*service.target)) {
      const auto why = subjects.refusal(nats->subject);
      if (why) return invalid_setting(fmt::format("services.{}.request", name), *why);
    }
  }
  if (settings.webhooks.size() > kMostWebhooks) {
    return invalid_setting(
        "webhooks", fmt::format("there are {} webhooks; write at most {}, and let one receiver "
                                "pass the events on to others",
                                settings.webhooks.size(), kMostWebhooks));
  }
  for (size_t i = 0; i < settings.webhooks.size(); ++i) {
    TRY(check_url(fmt::format("webhooks[{}].url", i), settings.webhooks[i].url));
  }
  return {};
}

}  // namespace millrace

#include "orchestrator/runtime/settings.h"

#include <fmt/format.h>

#include "cloudevents/subject.h"
#include "cloudevents/uri.h"

namespace millrace {
namespace {

tl::unexpected<Error> invalid(std::string_view where, std::string_view what) {
  return fail("settings.invalid", fmt::format("{}: {}", where, what));
}

Result<TaskTarget> parse_service(const std::string& where, const Json& service) {
  constexpr std::string_view kWanted =
      R"(write {"url": "http://…"}, {"request": "subject"} or {"queue": "subject"})";
  if (!service.is_object() || service.size() != 1 || !service.begin()->is_string()) {
    return invalid(where, kWanted);
  }
  const std::string& key = service.begin().key();
  const std::string value = service.begin()->get<std::string>();
  if (key == "url") {
    if (!value.starts_with("http://") && !value.starts_with("https://")) {
      return invalid(where + ".url", "this is no URL of HTTP");
    }
    return HttpService{value};
  }
  if (key != "request" && key != "queue") return invalid(where, kWanted);
  if (!is_publish_subject(value)) {
    return invalid(where + "." + key, "this is no subject that can be published to");
  }
  if (key == "request") return NatsService{value};
  if (!value.starts_with(kTaskSubjectPrefix)) {
    return invalid(where + ".queue",
                   fmt::format("a work queue's subject begins with {}", kTaskSubjectPrefix));
  }
  return WorkQueue{value};
}

}  // namespace

Result<NamespaceSettings> parse_settings(const Json& settings) {
  if (!settings.is_object()) return invalid("settings", "write an object");
  NamespaceSettings parsed;
  for (const auto& [key, value] : settings.items()) {
    if (key != "services") return invalid(key, "there is no such setting; there is services");
    if (!value.is_object())
      return invalid(key, "write an object: a service's name and where it is");
    for (const auto& [name, service] : value.items()) {
      parsed.services.emplace(name, TRY(parse_service(key + "." + name, service)));
    }
  }
  return parsed;
}

WorkQueue default_queue(std::string_view space, std::string_view service) {
  return {fmt::format("{}{}.{}", kTaskSubjectPrefix, subject_token(space), subject_token(service))};
}

}  // namespace millrace

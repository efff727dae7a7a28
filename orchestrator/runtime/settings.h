// Settings of a namespace: what an operator says of it beside its workflows, as a JSON object. Pure
// values.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "model/task.h"

namespace millrace {

struct NamespaceSettings {
  /// Where the services that functions name are: by HTTP, by a NATS service, by workers.
  std::map<std::string, TaskTarget, std::less<>> services;
};

/// `{"services": {NAME: {"url": …} | {"request": SUBJECT} | {"queue": SUBJECT}}}`. What is not
/// there is as it would be without settings. Error `settings.invalid` names the place and what to
/// write there.
Result<NamespaceSettings> parse_settings(const Json& settings);

/// Where a service is that no settings name: with the workers of `millrace.tasks.<space>.<name>`.
WorkQueue default_queue(std::string_view space, std::string_view service);

}  // namespace millrace

// The targets in new settings of a namespace: the URLs of services and webhooks, and the subjects
// of NATS services. Settings that an earlier release stored are not checked again, so that they
// remain in use. Pure.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "model/request_subjects.h"
#include "orchestrator/definition/namespace_settings.h"

namespace millrace {

/// Each lifecycle event is a row for each webhook that gets it, all in one unit of work.
inline constexpr size_t kMostWebhooks = 32;

/// Checks that requests can be sent to the URLs, that there are at most kMostWebhooks webhooks, and
/// that services may be called on the subjects. Error `settings.invalid` has the place in the
/// settings, and what to write there.
Status check_targets(const NamespaceSettings& settings, const RequestSubjects& subjects);

}  // namespace millrace

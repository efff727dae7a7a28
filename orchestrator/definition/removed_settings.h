// Which settings of a namespace new settings remove: they replace the former ones as a whole, so
// what they do not name is gone. Pure.
#pragma once

#include "base/json.h"

namespace millrace {

/// `[{"path", "url"?}]`: what `former` settings have and the `next` ones lack. Each service and
/// each inbound webhook counts by its name, each webhook by its URL, and the other settings as a
/// whole; `services.NAME.url` (or `request`, `queue`) is a service that stays without a target. The
/// path is the place in the former settings; `url` is that of the service or webhook, as
/// shown_url() shows it. Settings that are empty are left out. Works for settings that
/// parse_settings() does not accept.
Json removed_settings(const Json& former, const Json& next);

}  // namespace millrace

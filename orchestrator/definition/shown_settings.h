// The settings of a namespace as answers show them: without the parts of URLs that may be
// credentials. The store has the settings with these parts. Pure.
#pragma once

#include "base/json.h"
#include "base/result.h"

namespace millrace {

/// The settings with each member `url` as shown_url() shows it. Works for settings that
/// parse_settings() does not accept.
Json shown_settings(Json settings);

/// Replaces each masked URL (is_masked_url) in the new `settings` by the URL in `stored` that is
/// shown in this form, so that settings which were read can be changed and sent back. The URL of a
/// service is taken from the service of the same name, and that of a webhook from the webhooks, in
/// their order. Error `settings.invalid`: no URL is stored that is shown in this form, or it is not
/// clear which one is meant.
Status restore_urls(Json& settings, const Json& stored);

}  // namespace millrace

// The error of settings that are not valid.
#pragma once

#include <string_view>

#include <fmt/format.h>

#include "base/result.h"

namespace millrace {

/// Error `settings.invalid`: `where` is the place in the settings, such as `webhooks[0].url`, and
/// `what` says what to write there.
inline tl::unexpected<Error> invalid_setting(std::string_view where, std::string_view what) {
  return fail("settings.invalid", fmt::format("{}: {}", where, what));
}

}  // namespace millrace

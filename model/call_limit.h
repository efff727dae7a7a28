// The error of a call that has no timeout, and whose service does not answer. Pure.
#pragma once

#include "base/result.h"
#include "base/time.h"

namespace millrace {

/// The service did not answer within `limit` after it got the request. The code is that of
/// TimeoutKind::kStartToClose.
Error call_limit_error(Duration limit);

}  // namespace millrace

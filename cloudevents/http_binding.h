// The HTTP protocol binding 1.0.2: structured, binary and batched mode, for requests that come in
// and for those that go out to webhooks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/event.h"
#include "base/result.h"
#include "cloudevents/headers.h"
#include "cloudevents/limits.h"

namespace millrace {

/// The parts of a request or answer that the binding concerns.
struct HttpMessage {
  Headers headers;
  std::string body;
};

/// Reads the events of a message: one, or those of a batch, all of them or none. Without a content
/// type and `ce-` headers it is the JSON format. Errors: `event.*`; in a batch the message begins
/// with the index, `[3]: `.
Result<std::vector<Event>> decode_http(const Headers& headers, std::string_view body,
                                       const EventLimits& limits = {});

/// Where there is no `content-type` among the headers none should be sent. Extensions become text,
/// empty data no data.
HttpMessage encode_http_binary(const Event& event);

}  // namespace millrace

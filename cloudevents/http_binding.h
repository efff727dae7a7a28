// The HTTP protocol binding 1.0.2: structured, binary and batched mode for incoming requests, and
// binary mode for webhooks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/event.h"
#include "base/result.h"
#include "cloudevents/headers.h"
#include "cloudevents/limits.h"

namespace millrace {

/// The parts of a request or answer that the binding defines.
struct HttpMessage {
  Headers headers;
  std::string body;
};

/// Reads the events of a message: one event, or all events of a batch. If one event of a batch is
/// invalid, the result is an error and no event is returned. A message without a content type and
/// without `ce-` headers is read in the JSON format. Errors: `event.*`; in a batch the error text
/// begins with the index of the event, `[3]: `.
Result<std::vector<Event>> decode_http(const Headers& headers, std::string_view body,
                                       const EventLimits& limits = {});

/// The event in binary mode. If the headers contain no `content-type`, the sender must not add one.
/// A receiver sees extension attributes as text, and empty data as no data.
HttpMessage encode_http_binary(const Event& event);

}  // namespace millrace

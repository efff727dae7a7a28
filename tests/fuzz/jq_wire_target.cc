// Messages between millrace and its jq workers. A jq worker runs untrusted jq programs, so any
// bytes may come from one. The first byte is the size of the first piece in which the stream
// arrives.
//
// Covers: expressions/workers/wire.cc
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "expressions/workers/wire.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

/// The bodies of a stream that arrives in these pieces.
std::vector<std::string> bodies_of(const std::vector<std::string_view>& pieces) {
  wire::MessageReader reader;
  std::vector<std::string> bodies;
  for (const std::string_view piece : pieces) {
    reader.append(piece);
    while (!reader.broken()) {
      const bool has_next = reader.has_next();
      const auto body = reader.next();
      CHECK(body.has_value() == has_next, "has_next() and next() differ");
      if (!body) break;
      bodies.emplace_back(*body);
    }
  }
  return bodies;
}

void check_reply(std::string_view body) {
  const std::optional<wire::Reply> reply = wire::decode_reply(body);
  if (!reply) return;
  const std::string message = wire::encode(*reply);
  const std::vector<std::string> again = bodies_of({message});
  CHECK(again.size() == 1 && again.front() == body, "a reply has another encoding");
}

}  // namespace

FUZZ_TARGET(jq_wire) {
  if (bytes.empty() || bytes.size() > 65'536) return;
  const auto first = static_cast<size_t>(static_cast<uint8_t>(bytes.front()));
  bytes.remove_prefix(1);
  const std::vector<std::string> bodies = bodies_of({bytes});
  CHECK(bodies == bodies_of({bytes.substr(0, first), bytes.substr(std::min(first, bytes.size()))}),
        "a stream in two pieces has other messages");
  size_t size = 0;
  for (const std::string& body : bodies) {
    size += body.size();
    check_reply(body);
    wire::decode_request(body);
  }
  CHECK(size <= bytes.size(), "{} bytes of messages in {} bytes", size, bytes.size());
  check_reply(bytes);
  wire::decode_request(bytes);
}

}  // namespace millrace::fuzz

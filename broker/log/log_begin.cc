#include "broker/log/log_begin.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/json.h"
#include "broker/log/body_members.h"

namespace millrace {
namespace {

tl::unexpected<Error> unreadable_begin(std::string_view why) {
  return fail("log.unreadable", fmt::format("the body of a begin {}", why));
}

}  // namespace

std::string encode_log_begin(const LogBegin& begin) {
  Json body = {{"node", to_hex(begin.node)},
               {"address", begin.address},
               {"version", begin.version},
               {"behind",
                {{"epoch", begin.behind_epoch}, {"incarnation", to_hex(begin.behind_incarnation)}}},
               {"unclean", begin.unclean}};
  if (begin.base) body["base"] = *begin.base;
  return dump_json(body);
}

Result<LogBegin> decode_log_begin(std::string_view body) {
  if (body.size() > kMostLogBeginBytes) {
    return unreadable_begin(
        fmt::format("has {} bytes; expected at most {}", body.size(), kMostLogBeginBytes));
  }
  const Result<Json> json = parse_json(body);
  if (!json) return unreadable_begin("is not JSON: " + json.error().message);
  if (!json->is_object()) return unreadable_begin("is not an object");
  const BodyMembers members(*json, "log.unreadable", "the body of a begin");
  LogBegin begin;
  begin.node = TRY(members.bytes<16>("node"));
  begin.address = TRY(members.text("address"));
  begin.version = TRY(members.text("version"));
  begin.unclean = TRY(members.number("unclean"));
  const BodyMembers behind = TRY(members.object("behind"));
  begin.behind_epoch = TRY(behind.number("epoch"));
  begin.behind_incarnation = TRY(behind.bytes<16>("incarnation"));
  if (json->contains("base")) begin.base = TRY(members.text("base"));
  return begin;
}

}  // namespace millrace

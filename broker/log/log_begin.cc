#include "broker/log/log_begin.h"

#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/json.h"

namespace millrace {
namespace {

tl::unexpected<Error> unreadable_begin(std::string why) {
  return fail("log.unreadable", "the body of a begin " + std::move(why));
}

/// The member of an object; error: there is none.
Result<const Json*> member_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found != object.end()) return &*found;
  return unreadable_begin(fmt::format("has no member `{}`", name));
}

Result<std::string> text_of_member(const Json& object, const char* name) {
  const Json* const value = TRY(member_of(object, name));
  if (value->is_string()) return value->get<std::string>();
  return unreadable_begin(fmt::format("has a member `{}` that is not a text", name));
}

Result<uint64_t> number_of_member(const Json& object, const char* name) {
  const Json* const value = TRY(member_of(object, name));
  if (value->is_number_unsigned()) return value->get<uint64_t>();
  return unreadable_begin(
      fmt::format("has a member `{}` that is not a whole number of at least 0", name));
}

Result<std::array<uint8_t, 16>> bytes_of_member(const Json& object, const char* name) {
  std::array<uint8_t, 16> bytes{};
  if (read_hex(TRY(text_of_member(object, name)), bytes)) return bytes;
  return unreadable_begin(
      fmt::format("has a member `{}` that is not 32 lower-case hexadecimal digits", name));
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
  LogBegin begin;
  begin.node = TRY(bytes_of_member(*json, "node"));
  begin.address = TRY(text_of_member(*json, "address"));
  begin.version = TRY(text_of_member(*json, "version"));
  begin.unclean = TRY(number_of_member(*json, "unclean"));
  const Json* const behind = TRY(member_of(*json, "behind"));
  if (!behind->is_object()) return unreadable_begin("has a member `behind` that is not an object");
  begin.behind_epoch = TRY(number_of_member(*behind, "epoch"));
  begin.behind_incarnation = TRY(bytes_of_member(*behind, "incarnation"));
  if (json->contains("base")) begin.base = TRY(text_of_member(*json, "base"));
  return begin;
}

}  // namespace millrace

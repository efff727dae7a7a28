// Reads the members of a JSON object in the body of a message of a cluster. Each error names the
// member and what was expected. Pure. Private to broker/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/result.h"

namespace millrace {

class BodyMembers {
 public:
  /// `object` must live as long as this. `code`: of all errors. `what`: with what their messages
  /// begin, for example "the body of a begin".
  BodyMembers(const Json& object, std::string code, std::string what)
      : object_(object), code_(std::move(code)), what_(std::move(what)) {}

  /// The error with that message, behind `what`.
  tl::unexpected<Error> error(std::string_view why) const {
    return fail(code_, fmt::format("{} {}", what_, why));
  }

  /// Error: the object has no such member. The same holds for the functions that follow.
  Result<const Json*> at(const char* name) const {
    const auto found = object_.find(name);
    if (found != object_.end()) return &*found;
    return error(fmt::format("has no member `{}`", name));
  }

  Result<std::string> text(const char* name) const {
    const Json* const value = TRY(at(name));
    if (value->is_string()) return value->get<std::string>();
    return error(fmt::format("has a member `{}` that is not a text", name));
  }

  Result<uint64_t> number(const char* name) const {
    const Json* const value = TRY(at(name));
    if (value->is_number_unsigned()) return value->get<uint64_t>();
    return error(fmt::format("has a member `{}` that is not a whole number of at least 0", name));
  }

  /// The bytes whose hexadecimal digits the member has.
  template <size_t kSize>
  Result<std::array<uint8_t, kSize>> bytes(const char* name) const {
    std::array<uint8_t, kSize> bytes{};
    const std::string digits = TRY(text(name));
    if (read_hex(digits, bytes)) return bytes;
    return error(fmt::format("has a member `{}` that is not {} lower-case hexadecimal digits", name,
                             2 * kSize));
  }

  /// The members of the object that the member has.
  Result<BodyMembers> object(const char* name) const {
    const Json* const value = TRY(at(name));
    if (value->is_object()) return BodyMembers(*value, code_, what_);
    return error(fmt::format("has a member `{}` that is not an object", name));
  }

 private:
  const Json& object_;
  const std::string code_;
  const std::string what_;
};

}  // namespace millrace

// MessageFormat: the `message` of an Error state, a printf format with JSON values as arguments.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/lazy_json.h"
#include "base/result.h"

namespace millrace {

class MessageFormat {
 public:
  /// Parses a format. A format may contain `%s %v %d %i %f %g %x %q %t %%`, each with the flags `-
  /// + 0 #` and space, a width and a precision of at most 99. Error `definition.message_format`
  /// names the position.
  static Result<MessageFormat> parse(std::string_view text);

  /// The number of arguments that format() needs.
  size_t conversions() const;

  /// The message with the arguments inserted. `%s` and `%v` print strings without quotes and other
  /// values as compact JSON. A value that does not fit its conversion (`%d` of a string) is printed
  /// as by `%v`.
  std::string format(std::span<const LazyJson> args) const;

 private:
  struct Conversion {
    char verb = 'v';
    std::string flags;
    int width = 0;
    int precision = -1;  ///< -1: without precision
  };
  static std::string convert(const Conversion& conversion, const LazyJson& value);
  /// The value as a number; nullopt if the conversion is not one of the value's type.
  static std::optional<std::string> convert_number(const Conversion& conversion, const Json& value);

  std::vector<std::variant<std::string, Conversion>> pieces_;
};

}  // namespace millrace

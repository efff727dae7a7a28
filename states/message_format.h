// MessageFormat: the `message` of an Error state, printf's format with JSON values as arguments.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace millrace {

class MessageFormat {
 public:
  /// Takes `%s %v %d %i %f %g %x %q %t %%`, each with the flags `- + 0 #` and space, a width and a
  /// precision of at most 99. Error `definition.message_format` names the place.
  static Result<MessageFormat> parse(std::string_view text);

  /// How many arguments it takes.
  size_t conversions() const;

  /// The message. `%s` and `%v` print strings bare and other JSON compactly; a value that does not
  /// suit its conversion (`%d` of a string) is printed as `%v` prints it.
  std::string format(std::span<const Json> args) const;

 private:
  struct Conversion {
    char verb = 'v';
    std::string flags;
    int width = 0;
    int precision = -1;  ///< -1: none given
  };
  static std::string convert(const Conversion& conversion, const Json& value);

  std::vector<std::variant<std::string, Conversion>> pieces_;
};

}  // namespace millrace

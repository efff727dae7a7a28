// Operating errors are values. A function that can fail returns Result<T>; its caller either looks
// at the error or hands it on with TRY. Outcomes of a workflow (an error that a `catch` may take)
// are data, see model/instance.h; bugs are CHECKs.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace millrace {

/// An operating error: a stable code for programs (`event.missing_attribute`) and a sentence for
/// people that says where and what to do.
struct Error {
  std::string code;
  std::string message;

  bool operator==(const Error&) const = default;
};

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;

  friend bool operator==(const Result& a, const Result& b) {
    return static_cast<const tl::expected<T, Error>&>(a) ==
           static_cast<const tl::expected<T, Error>&>(b);
  }
};

/// A Result without a value.
using Status = Result<void>;

/// Makes the failed Result: `return fail("store.full", "…")`.
inline tl::unexpected<Error> fail(std::string code, std::string message) {
  return tl::unexpected<Error>(Error{std::move(code), std::move(message)});
}

/// Hands an error on, its message prefixed with where it happened: "loading x.yaml: …".
inline tl::unexpected<Error> fail_in(std::string_view where, Error error) {
  error.message.insert(0, std::string(where) + ": ");
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace millrace

/// The value of a Result, or return its error from the enclosing function.
#define TRY(expression)                                                      \
  __extension__({                                                            \
    auto&& try_result_ = (expression);                                       \
    if (!try_result_) return tl::unexpected(std::move(try_result_).error()); \
    std::move(try_result_).value();                                          \
  })

// Errors are values. A function that can fail returns Result<T>; its caller either looks at the
// error or hands it on with TRY. The error of a workflow (one that a `catch` may take) is data: an
// Error that an Instance, a CallResult or a Raise holds and that TRY never meets. Bugs are CHECKs.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

namespace millrace {

/// A stable code for programs (`event.missing_attribute`) and a sentence for people that says where
/// and what to do.
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
  template <class U>
  requires(!std::is_void_v<T> && !std::is_base_of_v<tl::expected<T, Error>, U>) friend bool
  operator==(const Result& a, const U& b) {
    return a.has_value() && *a == b;
  }
};

/// What TRY yields: the value moved out, or nothing for a Status.
template <class T, class E>
T take_value(tl::expected<T, E>&& result) {
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

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

#define MILLRACE_JOIN_(a, b) a##b
#define MILLRACE_JOIN(a, b) MILLRACE_JOIN_(a, b)
// NOLINTBEGIN(bugprone-macro-parentheses): `name` is declared here.
#define MILLRACE_TRY(name, expression)                         \
  __extension__({                                              \
    auto name = (expression);                                  \
    if (!name) return tl::unexpected(std::move(name).error()); \
    ::millrace::take_value(std::move(name));                   \
  })
// NOLINTEND(bugprone-macro-parentheses)

/// The value of a Result, or return its error from the enclosing function. At an early return g++
/// does not destroy what the same expression has built before, so an argument beside a TRY is
/// nothing that allocates: such a TRY stands in a statement of its own before it.
#define TRY(expression) MILLRACE_TRY(MILLRACE_JOIN(try_result_, __COUNTER__), expression)

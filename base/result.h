// Errors are values. A function that can fail returns Result<T>; its caller either handles the
// error or returns it with TRY. An error of a workflow (one that a `catch` may match) is data: an
// Error stored in an Instance, a CallResult or a Raise, to which TRY is never applied. A bug is not
// an Error: it stops the process (base/check.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

namespace millrace {

/// A stable code for programs (`event.missing_attribute`) and a sentence for people that states the
/// place of the error and how to correct it.
struct Error {
  std::string code;
  std::string message;
  uint32_t retry_after = 0;  ///< after how many seconds the same may succeed; 0: that is not known

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

/// The value of TRY: the result's value, moved out, or nothing for a Status.
template <class T, class E>
T take_value(tl::expected<T, E>&& result) {
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// A Result without a value.
using Status = Result<void>;

/// A failed Result: `return fail("store.full", "…")`.
[[gnu::cold]] inline tl::unexpected<Error> fail(std::string code, std::string message) {
  return tl::unexpected<Error>(Error{std::move(code), std::move(message)});
}

/// The early return of TRY. What leads to a cold function is placed apart from the code that runs.
template <class E>
[[gnu::cold, gnu::noinline]] tl::unexpected<E> pass_on(E& error) {
  return tl::unexpected<E>(std::move(error));
}

/// A failed Result with the code of `error`; its message is `where`, a colon and the message of
/// `error`: "loading x.yaml: …".
[[gnu::cold]] inline tl::unexpected<Error> fail_in(std::string_view where, Error error) {
  error.message.insert(0, std::string(where) + ": ");
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace millrace

#define MILLRACE_JOIN_(a, b) a##b
#define MILLRACE_JOIN(a, b) MILLRACE_JOIN_(a, b)
// NOLINTBEGIN(bugprone-macro-parentheses): `name` is declared here.
#define MILLRACE_TRY(name, expression)                   \
  __extension__({                                        \
    auto name = (expression);                            \
    if (!name) return ::millrace::pass_on(name.error()); \
    ::millrace::take_value(std::move(name));             \
  })
// NOLINTEND(bugprone-macro-parentheses)

/// The value of a Result; on an error the enclosing function returns that error. At this early
/// return g++ does not destroy temporaries that the same expression has already built. So if an
/// argument of a call is a TRY, no other argument of that call may allocate; if one does, put the
/// TRY into a separate statement before the call.
#define TRY(expression) MILLRACE_TRY(MILLRACE_JOIN(try_result_, __COUNTER__), expression)

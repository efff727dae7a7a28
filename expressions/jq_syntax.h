// The part of jq's lexical syntax that is needed to find the end of a jq program. jq's own grammar
// pairs all brackets. So a text whose brackets pair by this check can be put between parentheses,
// and no part of the text can end outside of these parentheses.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace {

/// The longest jq program that is accepted, in bytes: longer ones take seconds to compile.
inline constexpr size_t kMaxProgramBytes = 4096;

/// The place where scan_jq() stopped, and why.
struct JqEnd {
  enum class Kind {
    kEnd,       ///< the text ended, and every bracket and string is closed
    kOpen,      ///< the text ended inside a bracket or a string that began at `at`
    kCloser,    ///< at `at` is a closing bracket without an opening one in the text
    kMismatch,  ///< at `at` is a closing bracket that does not match the opening one at `open`
  };
  Kind kind;
  size_t at;
  size_t open = 0;
};

/// Scans jq text from byte `from` on, skipping strings (with the interpolations in them), comments
/// and pairs of brackets.
JqEnd scan_jq(std::string_view text, size_t from = 0);

/// The error message for a scan that ended with kMismatch; its places are lines and columns of
/// `text`.
std::string describe_mismatch(std::string_view text, const JqEnd& end);

/// Checks a jq program as far as that is possible without jq. Errors: `jq.too_long`, `jq.empty`,
/// `jq.malformed` (a NUL byte), `jq.unbalanced` (brackets or quotes; names the place), `jq.syntax`
/// (the placeholder of another language: `${ .x }`, `{{ .x }}`).
Status check_program_text(std::string_view program);

/// Returns the jq program with a blank in place of each byte of its comments and of the literal
/// text of its strings; code that is interpolated into a string stays. All other bytes keep their
/// places, so the result can be searched for operators and paths.
std::string without_literals(std::string_view program);

/// Whether the jq program's last and outermost operation assigns (`=`, `|=`, `+=`, …) to a part of
/// its input, so that it yields the changed input.
bool is_assignment(std::string_view program);

/// Returns the keys of the objects that the jq program may construct: `{order: 1}`, `{order}`. Any
/// string counts, since it may be a key (`{"order": 1}`, `setpath(["order"]; 1)`).
std::vector<std::string> keys_constructed(std::string_view program);

/// Returns the first keys of the paths that the jq program assigns to: of `.order.id |= 1` it is
/// `order`.
std::vector<std::string> keys_assigned(std::string_view program);

/// Returns the byte at which the jq program reads `key`, which has dots in it, as a path of several
/// steps from the input (`.payment.received`); npos if the program does not read `key` in this way.
size_t find_split_key(std::string_view program, std::string_view key);

/// The formats that libjq 1.6 has. libjq looks up a format when it runs a jq program, not when it
/// compiles the program.
inline constexpr std::string_view kJqFormats[] = {"@text", "@json", "@csv",    "@tsv",    "@html",
                                                  "@uri",  "@sh",   "@base64", "@base64d"};

/// Returns the first `@name` of the jq program that is not a format; empty if there is none.
std::string find_unknown_format(std::string_view program);

/// Returns a place in a jq program for messages, counted from 1 in characters: `column 5`, or `line
/// 2, column 5` if the jq program has several lines.
std::string place_in(std::string_view program, size_t at);

}  // namespace millrace

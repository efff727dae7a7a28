// The explanations of every kind of error that libjq 1.6 reports for a program that does not
// compile: errors of its lexer, its grammar and its linker.
#include "expressions/jq_complaints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expressions/jq_syntax.h"
#include "tests/unit/expressions/pool_fixture.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class JqComplaintsTest : public PoolTest {
 protected:
  std::string complaint_of(const std::string& program) {
    const std::optional<Error> error = check({&program, 1}).at(0);
    return error ? error->message : "";
  }
};

struct ComplaintRow {
  std::string program;
  std::string message;
};

const ComplaintRow kRows[] = {
    {R"q(if . then 1 end)q",
     R"q(unexpected `end` at column 13; the `if` at column 1 has to be complete, with an `else`: `if … then … else … end`)q"},
    {R"q([.[] | if .a])q",
     R"q(unexpected `]` at column 13; expected an operator, such as `|`, or the end; write `if … then … else … end`)q"},
    {R"q(if . then 1)q",
     R"q(unexpected end of the query at column 12; the `if` at column 1 has to be complete, with an `else`: `if … then … else … end`)q"},
    {R"q(if . 1)q",
     R"q(unexpected `1` at column 6; expected an operator, such as `|`, or the end; write `if … then … else … end`)q"},
    {R"q(if . then 1 else)q",
     R"q(unexpected end of the query at column 17; the `if` at column 1 has to be complete, with an `else`: `if … then … else … end`)q"},
    {R"q(try error catch)q",
     R"q(unexpected end of the query at column 16; expected a value, such as `.key`, a number or a function; write the query that handles the error after the `catch` of the `try` at column 1)q"},
    {R"q(.a.)q",
     R"q(unexpected end of the query at column 4; expected a name or a text in quotes after the dot)q"},
    {R"q(.a |)q",
     R"q(unexpected end of the query at column 5; expected a value, such as `.key`, a number or a function)q"},
    {R"q(| .a)q",
     R"q(unexpected `|` at column 1; expected a value, such as `.key`, a number or a function)q"},
    {R"q(.a || .b)q",
     R"q(unexpected `|` at column 5; expected a value, such as `.key`, a number or a function; write `or` for `||`)q"},
    {R"q(.a && .b)q",
     R"q(unexpected `&&` at column 4; expected an operator, such as `|`, or the end; write `and` for `&&`)q"},
    {R"q({a:})q",
     R"q(unexpected `}` at column 4; expected a value, such as `.key`, a number or a function)q"},
    {R"q({1:2})q",
     R"q(unexpected `1` at column 2; expected a value, such as `.key`, a number or a function; write the keys of an object as names, in double quotes, or as a query in parentheses)q"},
    {R"q({(1):2})q",
     R"q(a key of an object is a string, and number (1) at column 2 is not; write it in double quotes)q"},
    {R"q({a b})q", R"q(unexpected `b` at column 4; expected `,` or `}`)q"},
    {R"q({"a" "b"})q", R"q(unexpected text in quotes at column 6; expected `,` or `}`)q"},
    {R"q({.a: 1})q",
     R"q(unexpected `.a` at column 2; expected a value, such as `.key`, a number or a function; write the keys of an object as names, in double quotes, or as a query in parentheses)q"},
    {R"q({$x})q", R"q(the variable `$x` at column 2 is not bound; write `… as $x | …` before it)q"},
    {R"q([1,])q",
     R"q(unexpected `]` at column 4; expected a value, such as `.key`, a number or a function)q"},
    {R"q("\u12")q",
     R"q(the escape `\u12` at column 2 is not valid; write four hexadecimal digits after `\u`)q"},
    {R"q("\x")q",
     R"q(the escape `\x` at column 2 is not valid; expected \" \\ \/ \b \f \n \r \t or \uXXXX; write `\\` for a backslash)q"},
    {R"q("\ud800")q",
     R"q(the escape `\ud800` at column 2 is one half of a pair; write both halves, or the character itself)q"},
    {R"q(.a 'b')q",
     R"q(unexpected `'` at column 4; expected an operator, such as `|`, or the end; write a text in double quotes)q"},
    {R"q(high)q",
     R"q(there is no function `high` at column 1; write `.high` for a key, or "high" for a text)q"},
    {R"q(kyes)q", R"q(there is no function `kyes` at column 1; did you mean `keys`?)q"},
    {R"q(foo)q",
     R"q(there is no function `foo` at column 1; write `.foo` for a key, or "foo" for a text)q"},
    {R"q(split(1;2;3))q",
     R"q(the function `split` at column 1 has 3 arguments; expected 1 or 2 arguments)q"},
    {R"q(True)q", R"q(there is no function `True` at column 1; write `true`)q"},
    {R"q(jq(.x))q",
     R"q(there is no function `jq` at column 1; write the query alone, without `jq(…)`)q"},
    {R"q(lenght)q", R"q(there is no function `lenght` at column 1; did you mean `length`?)q"},
    {R"q($x)q", R"q(the variable `$x` at column 1 is not bound; write `… as $x | …` before it)q"},
    {R"q(break $f)q",
     R"q(the `break $f` at column 1 is not within a label of this name; write `label $f | …` before it)q"},
    {R"q(break)q",
     R"q(unexpected end of the query at column 6; expected a name that begins with `$`; write `break $name`, within `label $name | …`)q"},
    {R"q(label $f | break $g)q",
     R"q(the `break $g` at column 12 is not within a label of this name; write `label $g | …` before it)q"},
    {R"q(label f)q", R"q(unexpected `f` at column 7; expected a name that begins with `$`)q"},
    {R"q(@)q",
     R"q(unexpected `@` at column 1; expected a value, such as `.key`, a number or a function)q"},
    {R"q(1 as x | 2)q", R"q(unexpected `x` at column 6; expected a variable, such as `$x`)q"},
    {R"q(1 as $x)q", R"q(unexpected end of the query at column 8; expected `|`)q"},
    {R"q(. as [$a | $a)q",
     R"q(the `[` at column 6 of the jq program is not closed; write the missing `]`)q"},
    {R"q(. as {a} | 1)q", R"q(unexpected `}` at column 8; expected `:`)q"},
    {R"q(. as {(1): $x} | $x)q",
     R"q(a key of an object is a string, and number (1) at column 7 is not; write it in double quotes)q"},
    {R"q(reduce .[] as $x)q", R"q(unexpected end of the query at column 17; expected `(`)q"},
    {R"q(reduce .[] as $x (0))q",
     R"q(unexpected `)` at column 20; expected an operator, such as `|`, or the end; write `reduce … as $x (first; next)`)q"},
    {R"q(reduce .[] as $x (0; 1; 2))q",
     R"q(unexpected `;` at column 23; expected an operator, such as `|`, or the end; write `reduce … as $x (first; next)`)q"},
    {R"q(foreach .[] as $x (0))q",
     R"q(unexpected `)` at column 21; expected an operator, such as `|`, or the end; write `foreach … as $x (first; next; result)`)q"},
    {R"q(def f: 1;)q",
     R"q(unexpected end of the query at column 10; expected a value, such as `.key`, a number or a function; write `def name: body; query`)q"},
    {R"q(def f)q",
     R"q(unexpected end of the query at column 6; expected `(` or `:`; write `def name: body; query`)q"},
    {R"q(def f: 1)q",
     R"q(unexpected end of the query at column 9; expected an operator, such as `|`, or the end; write `def name: body; query`)q"},
    {R"q(def f(a): a; f(1;2))q",
     R"q(there is no function `f` at column 14; it is defined with another number of arguments, or not before this place)q"},
    {R"q(import "a" as a; .)q",
     R"q(unexpected `import` at column 1; expected a value, such as `.key`, a number or a function; jq's modules are not available)q"},
    {R"q(include "a"; .)q",
     R"q(unexpected `include` at column 1; expected a value, such as `.key`, a number or a function; jq's modules are not available)q"},
    {R"q(a::b)q", R"q(there is no function `a::b` at column 1; jq's modules are not available)q"},
    {R"q(1/0)q",
     R"q(the division at column 1 is by zero, whatever the input is; write another divisor)q"},
    {R"q(. == == 1)q",
     R"q(unexpected `==` at column 6; expected a value, such as `.key`, a number or a function)q"},
    {R"q(. = = 1)q",
     R"q(unexpected `=` at column 5; expected a value, such as `.key`, a number or a function)q"},
    {R"q(1 == 2 == 3)q",
     R"q(unexpected `==` at column 8; expected an operator, such as `|`, or the end; write parentheses around one of the operations)q"},
    {R"q(1 < 2 < 3)q",
     R"q(unexpected `<` at column 7; expected an operator, such as `|`, or the end; write parentheses around one of the operations)q"},
    {R"q(.a = 1 = 2)q",
     R"q(unexpected `=` at column 8; expected an operator, such as `|`, or the end; write parentheses around one of the operations)q"},
    {R"q(.a -)q",
     R"q(unexpected end of the query at column 5; expected a value, such as `.key`, a number or a function)q"},
    {R"q(1.2.3)q", R"q(`1.2.3` at column 1 is not a number; write digits with one point at most)q"},
    {R"q(1e)q", R"q(unexpected `e` at column 2; expected an operator, such as `|`, or the end)q"},
    {R"q(..a)q", R"q(unexpected `a` at column 3; expected an operator, such as `|`, or the end)q"},
    {R"q(...)q", R"q(`...` at column 1 is not a number; write digits with one point at most)q"},
    {R"q(.foo-bar)q",
     R"q(there is no function `bar` at column 6; write `.["foo-bar"]` for a key with a hyphen)q"},
    {R"q(.foo.1)q",
     R"q(unexpected `.1` at column 5; expected an operator, such as `|`, or the end; write `[1]` for an element of an array)q"},
    {R"q((.a)q", R"q(the `(` at column 1 of the jq program is not closed; write the missing `)`)q"},
    {R"q())q",
     R"q(the `)` at column 1 of the jq program has no matching opening bracket; remove it, or write the opening bracket)q"},
    {R"q(})q",
     R"q(the `}` at column 1 of the jq program has no matching opening bracket; remove it, or write the opening bracket)q"},
    {R"q(# c)q", R"q(the query is only a comment; write `.` for the whole input)q"},
    {R"q(.a ; .b)q",
     R"q(unexpected `;` at column 4; expected an operator, such as `|`, or the end; write `;` only between the arguments of a function)q"},
    {R"q(.a ! .b)q",
     R"q(unexpected `!` at column 4; expected an operator, such as `|`, or the end; write `… | not` for `!`)q"},
    {R"q(!.a)q",
     R"q(unexpected `!` at column 1; expected a value, such as `.key`, a number or a function; write `… | not` for `!`)q"},
    {R"q(.a => .b)q",
     R"q(unexpected `>` at column 5; expected a value, such as `.key`, a number or a function; write `>=` to compare, or the body alone for a function)q"},
    {R"q(.a ?? .b)q",
     R"q(unexpected `.b` at column 7; expected an operator, such as `|`, or the end; write `//` for `??`)q"},
    {R"q(.a ? 1 : 2)q",
     R"q(unexpected `1` at column 6; expected an operator, such as `|`, or the end; write `if … then … else … end` for `? :`)q"},
    {R"q(`a`)q",
     R"q(unexpected backquote at column 1; expected a value, such as `.key`, a number or a function; write a text in double quotes)q"},
    {R"q(, .a)q",
     R"q(unexpected `,` at column 1; expected a value, such as `.key`, a number or a function)q"},
    {R"q(__loc__)q",
     R"q(unexpected `__loc__` at column 1; expected a value, such as `.key`, a number or a function)q"},
    {R"q(limit(3))q", R"q(the function `limit` at column 1 has 1 argument; expected 2 arguments)q"},
    {R"q(error(1;2))q",
     R"q(the function `error` at column 1 has 2 arguments; expected 0 or 1 arguments)q"},
    {R"q("\(1 +)")q",
     R"q(unexpected `)` at column 7; expected a value, such as `.key`, a number or a function)q"},
    {R"q("a" "b")q",
     R"q(unexpected text in quotes at column 5; expected an operator, such as `|`, or the end)q"},
    {R"q({"a":1 "b":2})q",
     R"q(unexpected text in quotes at column 8; expected `,` or `}`; write the keys of an object as names, in double quotes, or as a query in parentheses)q"},
    {R"q({a:1; b:2})q",
     R"q(unexpected `;` at column 5; expected `,` or `}`; write the keys of an object as names, in double quotes, or as a query in parentheses)q"},
    {R"q(then)q",
     R"q(unexpected `then` at column 1; expected a value, such as `.key`, a number or a function)q"},
    {R"q(if . then 1 elif 2 end)q",
     R"q(unexpected `end` at column 20; the `if` at column 1 has to be complete, with an `else`: `if … then … else … end`)q"},
    {R"q(if . then 1 else 2 else 3 end)q",
     R"q(unexpected `else` at column 20; the `if` at column 1 has to be complete, with an `else`: `if … then … else … end`)q"},
    {R"q(if . then . else . end end)q",
     R"q(unexpected `end` at column 24; expected an operator, such as `|`, or the end)q"},
    {R"q(é)q",
     R"q(unexpected `é` at column 1; expected a value, such as `.key`, a number or a function)q"},
    {R"q(.é)q",
     R"q(unexpected `é` at column 2; expected an operator, such as `|`, or the end; write `.["…"]` for a key that is not made of letters, digits and `_`)q"},
    {R"q("é" é)q",
     R"q(unexpected `é` at column 5; expected an operator, such as `|`, or the end)q"},
    {R"q({a-b: 1})q", R"q(unexpected `-` at column 3; expected `,` or `}`; write the keys of an object as names, in double quotes, or as a query in parentheses)q"},
    {R"q(.a[1:2:3])q",
     R"q(unexpected `:` at column 7; expected an operator, such as `|`, or the end)q"},
    {R"q(.[:])q",
     R"q(unexpected `]` at column 4; expected a value, such as `.key`, a number or a function)q"},
    {R"q(.a as $x)q", R"q(unexpected end of the query at column 9; expected `|`)q"},
    {R"q(?)q",
     R"q(unexpected `?` at column 1; expected a value, such as `.key`, a number or a function)q"},
    {R"q(.a |= )q",
     R"q(unexpected end of the query at column 7; expected a value, such as `.key`, a number or a function)q"},
    {R"q(.a | = 2)q",
     R"q(unexpected `=` at column 6; expected a value, such as `.key`, a number or a function)q"},
    {R"q($1)q", R"q(unexpected `1` at column 2; expected the name of a variable)q"},
    {R"q(@json "\(foo)")q",
     R"q(there is no function `foo` at column 10; write `.foo` for a key, or "foo" for a text)q"},
    {R"q("a\(foo)b\(bar)")q",
     R"q(there is no function `foo` at column 5; write `.foo` for a key, or "foo" for a text)q"},
    {R"q(recurse(.a;;))q",
     R"q(unexpected `;` at column 12; expected a value, such as `.key`, a number or a function)q"},
    {R"q(now())q",
     R"q(unexpected `)` at column 5; expected a value, such as `.key`, a number or a function; call a function that has no arguments without parentheses)q"},
    {R"q(length())q",
     R"q(unexpected `)` at column 8; expected a value, such as `.key`, a number or a function; call a function that has no arguments without parentheses)q"},
    {R"q(.length())q",
     R"q(unexpected `(` at column 8; expected an operator, such as `|`, or the end; write `| length(…)` to call a function)q"},
    {R"q(map(x => x))q",
     R"q(unexpected `>` at column 8; expected a value, such as `.key`, a number or a function; write `>=` to compare, or the body alone for a function)q"},
    {R"q(.a == 'b')q",
     R"q(unexpected `'` at column 7; expected a value, such as `.key`, a number or a function; write a text in double quotes)q"},
    {R"q({"a": 'b'})q",
     R"q(unexpected `'` at column 7; expected a value, such as `.key`, a number or a function; write a text in double quotes)q"},
    {R"q({{ .a }})q", R"q(`{{ … }}` is not jq; write jq(…) around the query)q"},
    {R"q(1 + + 2)q",
     R"q(unexpected `+` at column 5; expected a value, such as `.key`, a number or a function)q"},
    {R"q(.a..b)q",
     R"q(unexpected `..` at column 3; expected an operator, such as `|`, or the end)q"},
    {R"q(.a.[0])q",
     R"q(unexpected `[` at column 4; expected a name or a text in quotes after the dot; write `.key[…]` without the second dot)q"},
    {R"q(pick(.a))q",
     R"q(there is no function `pick` at column 1 in jq 1.6; newer versions of jq have it)q"},
    {R"q(getpath)q",
     R"q(the function `getpath` at column 1 has no arguments; expected 1 argument)q"},
    {R"q(test("a";"b";"c"))q",
     R"q(the function `test` at column 1 has 3 arguments; expected 1 or 2 arguments)q"},
    {R"q(ascii(1))q", R"q(there is no function `ascii` at column 1; did you mean `asin`?)q"},
    {R"q(.a | map(select(.b == 1))q",
     R"q(the `(` at column 9 of the jq program is not closed; write the missing `)`)q"},
    {R"q({a: .b c: .d})q",
     R"q(unexpected `c` at column 8; expected `,` or `}`; write the keys of an object as names, in double quotes, or as a query in parentheses)q"},
    {R"q(.a..)q",
     R"q(unexpected `..` at column 3; expected an operator, such as `|`, or the end)q"},
    {R"q(def f: 1; def g: 2;)q",
     R"q(unexpected end of the query at column 20; expected a value, such as `.key`, a number or a function; write `def name: body; query`)q"},
    {R"q([.[] | {a, b:}])q",
     R"q(unexpected `}` at column 14; expected a value, such as `.key`, a number or a function)q"},
    {R"q(if .a then .b)q",
     R"q(unexpected end of the query at column 14; the `if` at column 1 has to be complete, with an `else`: `if … then … else … end`)q"},
    {R"q(.a.b | if . == 1 then "x" else "y")q",
     R"q(unexpected end of the query at column 35; the `if` at column 8 has to be complete, with an `else`: `if … then … else … end`)q"},
    {R"q(.items[] | select(.n > 1 && .m))q",
     R"q(unexpected `&&` at column 26; expected `;` or `)`; write `and` for `&&`)q"},
    {R"q(.a // )q",
     R"q(unexpected end of the query at column 7; expected a value, such as `.key`, a number or a function)q"},
    {R"q(try .a catch)q",
     R"q(unexpected end of the query at column 13; expected a value, such as `.key`, a number or a function; write the query that handles the error after the `catch` of the `try` at column 1)q"},
    {R"q("\ud83d")q",
     R"q(the escape `\ud83d` at column 2 is one half of a pair; write both halves, or the character itself)q"},
    {R"q("ok \n \q")q",
     R"q(the escape `\q` at column 8 is not valid; expected \" \\ \/ \b \f \n \r \t or \uXXXX; write `\\` for a backslash)q"},
    {R"q(.a[0)q",
     R"q(the `[` at column 3 of the jq program is not closed; write the missing `]`)q"},
    {R"q(é | .a |)q",
     R"q(unexpected `é` at column 1; expected a value, such as `.key`, a number or a function)q"},
};

TEST_F(JqComplaintsTest, NameTheErrorItsPlaceAndTheCorrection) {
  for (const auto& [program, message] : kRows) EXPECT_EQ(complaint_of(program), message) << program;
}

TEST_F(JqComplaintsTest, NameTheLineOfAQueryWithSeveralLines) {
  EXPECT_EQ(complaint_of(".a\n| .é\n  b"),
            "unexpected `é` at line 2, column 4; expected an operator, such as `|`, or the end; "
            "write `.[\"…\"]` for a key that is not made of letters, digits and `_`");
  EXPECT_EQ(complaint_of("\"é\" # é\n| nosuch"),
            "there is no function `nosuch` at line 2, column 3; write `.nosuch` for a key, or "
            "\"nosuch\" for a text");
}

TEST_F(JqComplaintsTest, ContainNoTermsOfTheGrammarOfLibjq) {
  for (const auto& [program, message] : kRows) {
    const std::string complaint = complaint_of(program);
    EXPECT_THAT(complaint, AllOf(Not(HasSubstr("syntax error")), Not(HasSubstr("top-level")),
                                 Not(HasSubstr("$end")), Not(HasSubstr("IDENT"))))
        << program;
  }
}

TEST_F(JqComplaintsTest, ListOnlyFormatsThatLibjqSupports) {
  for (const std::string_view format : kJqFormats) {
    EXPECT_TRUE(evaluate("[1] | " + std::string(format), "null") ||
                evaluate("\"MQ==\" | " + std::string(format), "null"))
        << format;
  }
  EXPECT_EQ(evaluate("@base32d").error().message, "base32d is not a valid format");
}

TEST(JqComplaints, PassOnUnknownErrorsWithTheirPlace) {
  const JqComplaint large{.what = "function compiled to 70000 bytes which is too long", .at = 1};
  EXPECT_EQ(explain_complaints({&large, 1}, "[.a]", {}),
            "jq does not accept this query at column 2: function compiled to 70000 bytes which is "
            "too long");
  const JqComplaint memory{.what = "memory exhausted", .at = 4};
  EXPECT_EQ(explain_complaints({&memory, 1}, "[.a]", {}),
            "jq does not accept this query at column 5: memory exhausted");
  EXPECT_EQ(explain_complaints({}, "[.a]", {}), "jq does not accept this query");
}

TEST(JqComplaints, AreExplainedAtAnyPlaceOfAProgram) {
  constexpr std::string_view kProgram =
      "if .a.b == \"\\u1 \\(.c)\" then {é: [1, $x]} else @json end";
  for (const char* what :
       {"syntax error, unexpected ')'", "syntax error, unexpected '[', expecting '}'",
        "$x is not defined", "f/1 is not defined", "Invalid escape", "Invalid numeric literal",
        "Division by zero?", "Cannot use number (1) as object key", "Possibly unterminated 'if'"}) {
    for (size_t at = 0; at <= kProgram.size() + 1; ++at) {
      const JqComplaint one{.what = what, .at = at};
      EXPECT_THAT(explain_complaints({&one, 1}, kProgram, {}), HasSubstr("column ")) << what;
    }
  }
}

}  // namespace
}  // namespace millrace

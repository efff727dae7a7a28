"""The places of a C++ source at which a mutant can be planted, and the source with mutants in it.

A mutant is switched by its number: `a < b` becomes `(::mutation::mutant(7) ? (a) <= (b) : a < b)`, so that one build has
all mutants. A rewritten source has the same lines, so that an error of the compiler shows which mutants it refuses.
"""
import re

from cxx_source import CODE, CONTROL, Source, Unreadable

MUTANT = "\0"  # in an edit: the condition that the mutant is switched on

PRECEDENCE = {
    "*": 13, "/": 13, "%": 13, "+": 12, "-": 12, "<<": 11, ">>": 11, "<=>": 10, "<": 9, "<=": 9, ">": 9, ">=": 9,
    "==": 8, "!=": 8, "&": 7, "^": 6, "|": 5, "&&": 4, "||": 3, "?": 2, ":": 2, "=": 1, "+=": 1, "-=": 1, "*=": 1,
    "/=": 1, "%=": 1, "&=": 1, "|=": 1, "^=": 1, "<<=": 1, ">>=": 1, ",": 0, ";": 0,
}  # fmt: skip
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
LOGIC = {"&&": "||", "||": "&&"}
SUMS = {"+": "-", "-": "+"}
ASSIGNMENTS = {mark for mark, precedence in PRECEDENCE.items() if precedence == 1}
# Words before which no operand ends.
NOT_OPERANDS = {"return", "co_return", "co_yield", "throw", "else", "do", "case", "goto", "new", "delete", "constexpr"}
# Statements that begin with these words are no expressions.
NOT_EXPRESSIONS = NOT_OPERANDS | CONTROL | {
    "auto", "break", "class", "const", "constinit", "continue", "default", "enum", "extern", "friend", "namespace",
    "public", "private", "protected", "static", "static_assert", "struct", "template", "thread_local", "try", "typedef",
    "typename", "union", "unsigned", "signed", "using", "virtual", "volatile", "void",
}  # fmt: skip
FAILURES = {"fail", "fail_in", "refuse"}
# Functions that do the same with their arguments in any order, so no test can see that these are swapped.
SYMMETRIC = {"min", "max", "swap"}
DIRECTIVE_WITHIN = re.compile(r"\n[ \t]*#")
INTEGER = re.compile(r"(0[xX][0-9a-fA-F']+|[1-9][0-9']*|0)([uUlLzZ]*)")


class Place:
    """One change: `edits` replace the ranges (start, end) of the source's text."""

    def __init__(self, source, kind, at, before, after, edits):
        self.file, self.line = source.path, source.line(at)
        self.kind, self.before, self.after, self.edits = kind, before, after, edits

    @property
    def start(self):
        return min(start for start, _, _ in self.edits)

    @property
    def end(self):
        return max(end for _, end, _ in self.edits)

    def overlaps(self, other):
        return self.file == other.file and self.start < other.end and other.start < self.end

    def __str__(self):
        return f"{self.file}:{self.line}: {self.before} → {self.after}"


def places_of(path, text):
    """All places of a source, in the order of the text. Raises Unreadable."""
    source = Source(path, text)
    found = []
    for i, token in enumerate(source.tokens):
        if not source.in_code[i]:
            continue
        if _begins_statement(source, i):
            found += _statements(source, i)
        if source.frozen[i]:
            continue
        if token.kind == "number":
            found += _literals(source, i)
        elif token.kind == "mark":
            found += _operators(source, i)
            found += _swaps(source, i)
        elif token.text in ("if", "while"):
            found += _conditions(source, i)
    return [place for place in found if _keeps_lines(text, place)]


def _keeps_lines(text, place):
    """Whether the place has no string of several lines, and no lines of the preprocessor."""
    return "\n" not in place.before + place.after and not DIRECTIVE_WITHIN.search(text[place.start : place.end])


def rewritten(text, numbered):
    """The text with the mutants in it; `numbered` has pairs of number and Place, no two of which overlap."""
    edits = []
    for number, place in numbered:
        for start, end, replacement in place.edits:
            edits.append((start, end, replacement.replace(MUTANT, f"::mutation::mutant({number})")))
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    # The line of the include is not counted, so that the lines of errors are those of the source.
    return '#include "tests/mutation/mutant.h"\n#line 1\n' + text if edits else text


HEADER = """// Which mutant is switched on: the number in the environment variable MILLRACE_MUTANT. Written by tests/mutation/mutate.py.
#pragma once

#include <cstdlib>

namespace mutation {

inline bool mutant(int number) noexcept {
  static const int active = [] {
    const char* const text = std::getenv("MILLRACE_MUTANT");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return active == number;
}

}  // namespace mutation
"""


def _ends_operand(source, i):
    """Whether token i may be the last one of an operand."""
    if i < 0:
        return False
    token = source.tokens[i]
    if token.kind == "word":
        return token.text not in NOT_OPERANDS
    return token.kind != "mark" or token.text in (")", "]", "}") or (token.text in (">", ">>") and i in source.match)


def _precedence(source, i):
    """The precedence of a binary operator; None for any other token."""
    token = source.tokens[i]
    if token.kind != "mark" or token.text not in PRECEDENCE or i in source.match:
        return None
    is_unary = token.text in ("+", "-", "*", "&", "&&") and not _ends_operand(source, i - 1)
    return None if is_unary else PRECEDENCE[token.text]


def _left_operand(source, i, precedence):
    """The first token of the operand that ends before token i."""
    k = i - 1
    while k >= 0:
        token = source.tokens[k]
        if token.kind == "word" and token.text in NOT_OPERANDS:
            break
        bracket = source.match.get(k)
        if bracket is not None and bracket > k:  # an opening bracket, in which the operand is
            break
        if bracket is not None:
            before = source.tokens[bracket - 1].text if bracket > 0 else ""
            is_control = token.text == ")" and before in CONTROL | {"constexpr"}
            if is_control or (token.text == "}" and source.scope[bracket] not in ("initializer", "lambda")):
                break
            k = bracket - 1
            continue
        other = _precedence(source, k)
        if other is not None and other < precedence or k in source.label_ends:
            break
        k -= 1
    return k + 1


def _right_operand(source, i, precedence):
    """The token after the operand that begins after token i."""
    k = i + 1
    while k < len(source.tokens):
        bracket = source.match.get(k)
        if bracket is not None and bracket < k:  # the end of the bracket that the operand is in
            break
        if bracket is not None:
            if source.scope.get(k) in CODE - {"lambda"}:
                break
            k = bracket + 1
            continue
        other = _precedence(source, k)
        if other is not None and other <= precedence:
            break
        k += 1
    return k


def _operators(source, i):
    text = source.tokens[i].text
    for kind, changes in (("comparison", COMPARISONS), ("logic", LOGIC), ("sum", SUMS)):
        if text in changes and _is_binary(source, i):
            break
    else:
        return []
    begin = _left_operand(source, i, PRECEDENCE[text])
    end = _right_operand(source, i, PRECEDENCE[text])
    if begin == i or end == i + 1:
        return []
    around = source.tokens[begin : i + 2] if kind == "sum" else []
    if any(token.kind == "string" for token in around):  # the concatenation of strings
        return []
    other = changes[text]
    left, right = source.flat(begin, i), source.flat(i + 1, end)
    replacement = f"({MUTANT} ? ({left}) {other} ({right}) : {source.original(begin, end)})"
    edit = (source.tokens[begin].start, source.tokens[end - 1].end, replacement)
    return [Place(source, kind, i, f"{left} {text} {right}", f"{left} {other} {right}", [edit])]


def _is_binary(source, i):
    """Whether token i is a binary operator: such an operator has a space on both sides."""
    if i in source.match or i + 1 >= len(source.tokens) or not _ends_operand(source, i - 1):
        return False
    return source.tokens[i].spaced and source.tokens[i + 1].spaced


def _literals(source, i):
    token = source.tokens[i]
    found = INTEGER.fullmatch(token.text)
    if not found:
        return []
    digits = found.group(1).replace("'", "")
    is_hex = digits[:2] in ("0x", "0X")
    value = int(digits, 16 if is_hex else 10) + 1
    after = (f"{value:#x}" if is_hex else str(value)) + found.group(2)
    edit = (token.start, token.end, f"({MUTANT} ? {after} : {token.text})")
    return [Place(source, "literal", i, _around(source, i, token.text), _around(source, i, after), [edit])]


def _around(source, i, text):
    """A literal with the tokens beside it, so that a reader finds it in its line."""
    begin, end = max(i - 4, 0), min(i + 4, len(source.tokens))
    while begin < i and (source.line(begin) != source.line(i) or source.is_at(begin, ";", "{", "}")):
        begin += 1
    while source.line(end - 1) != source.line(i):
        end -= 1
    before = source.flat(begin, i)
    after = source.flat(i + 1, end) if end > i + 1 else ""
    space_before = " " if source.tokens[i].spaced and before else ""
    space_after = " " if after and source.tokens[i + 1].spaced else ""
    return before + space_before + text + space_after + after


def _conditions(source, i):
    opened = i + 1
    if not source.is_at(opened, "("):
        return []
    begin, end = opened + 1, source.match[opened]
    for k in source.top_level(begin, end):
        if source.is_at(k, ";"):
            begin = k + 1
    is_declaration = any(source.is_at(k, *ASSIGNMENTS) for k in source.top_level(begin, end))
    if is_declaration or begin == end:
        return []
    condition = source.flat(begin, end)
    replacement = f"{MUTANT} ? !({condition}) : !!({source.original(begin, end)})"
    edit = (source.tokens[begin].start, source.tokens[end - 1].end, replacement)
    word = source.tokens[i].text
    return [Place(source, "condition", i, f"{word} ({condition})", f"{word} (!({condition}))", [edit])]


def _swaps(source, i):
    """Neighbouring arguments of the call with the `(` at i that are written alike: two names, or two literals."""
    if not source.is_at(i, "(") or i == 0 or source.frozen[i - 1]:
        return []
    callee = source.tokens[i - 1]
    is_call = callee.kind == "word" and callee.text not in CONTROL | NOT_OPERANDS
    if not is_call or callee.text in SYMMETRIC:
        return []
    arguments, begin, end = [], i + 1, source.match[i]
    for k in list(source.top_level(i + 1, end)) + [end]:
        if k == end or source.is_at(k, ","):
            arguments.append((begin, k))
            begin = k + 1
    places = []
    for first, second in zip(arguments, arguments[1:]):
        one, other = source.flat(*first) if first[0] < first[1] else "", source.flat(*second) if second[0] < second[1] else ""
        spelling = _spelling(source, *first)
        if one == other or spelling is None or spelling != _spelling(source, *second):
            continue
        edits = [
            (source.tokens[first[0]].start, source.tokens[first[1] - 1].end, f"({MUTANT} ? {other} : {one})"),
            (source.tokens[second[0]].start, source.tokens[second[1] - 1].end, f"({MUTANT} ? {one} : {other})"),
        ]
        call = f"{callee.text}(… {{}}, {{}} …)"
        places.append(Place(source, "arguments", first[0], call.format(one, other), call.format(other, one), edits))
    return places


def _spelling(source, begin, end):
    """The class of an argument that consists of a name, a member or a literal; None for any other argument."""
    if begin >= end:
        return None
    tokens = source.tokens[begin:end]
    if len(tokens) == 1 and tokens[0].kind in ("number", "string", "character"):
        return tokens[0].kind
    is_name = all(
        token.kind == "word" and token.text not in ("nullptr", "this", "true", "false") if k % 2 == 0 else token.text in (".", "->")
        for k, token in enumerate(tokens)
    )
    return "name" if is_name and len(tokens) % 2 == 1 else None


def _begins_statement(source, i):
    """Whether token i is the first one of a statement."""
    parent = source.parent[i]
    if parent < 0 or source.scope.get(parent) not in CODE or source.tokens[i].text in ("}", ";"):
        return False
    if i - 1 == parent or source.is_at(i - 1, ";", "else", "do") or i - 1 in source.label_ends:
        return True
    opened = source.match.get(i - 1)
    if opened is None or opened > i - 1:
        return False
    if source.is_at(i - 1, "}"):
        return source.scope[opened] not in ("initializer", "lambda")
    is_control = source.is_at(opened - 1, *(CONTROL - {"switch", "catch"}), "constexpr")
    return source.is_at(i - 1, ")") and is_control


def _statements(source, i):
    end = source.end_of_statement(i)
    if end is None or source.frozen[i] and not source.is_at(i, "TRY"):
        return []
    token = source.tokens[i]
    statement = source.flat(i, end + 1)
    start, stop = token.start, source.tokens[end].end
    guarded = [(start, start, f"{{ if (!{MUTANT}) "), (stop, stop, " }")]
    if token.text == "return":
        return _returns(source, i, end, guarded)
    places = []
    if token.text == "TRY" and source.is_at(i + 1, "(") and source.match[i + 1] == end - 1:
        expression = source.flat(i + 2, end - 1)
        lost = [(start, start, f"{{ if ({MUTANT}) {{ (void)({expression}); }} else "), (stop, stop, " }")]
        places.append(Place(source, "error", i, statement, f"(void)({expression});", lost))
        places.append(Place(source, "statement", i, statement, "(removed)", guarded))
    elif token.text in ("break", "continue") or _is_expression(source, i, end):
        places.append(Place(source, "statement", i, statement, "(removed)", guarded))
    return places


def _returns(source, i, end, guarded):
    texts = source.texts(i + 1, end)
    if texts in (["true"], ["false"]):
        other = "false" if texts == ["true"] else "true"
        value = source.tokens[i + 1]
        edit = (value.start, value.end, f"{MUTANT} ? {other} : {value.text}")
        return [Place(source, "answer", i, f"return {value.text};", f"return {other};", [edit])]
    is_failure = source.is_at(i + 2, "(") and texts[:1] != [] and texts[0] in FAILURES
    is_failure = is_failure or texts[:4] == ["tl", "::", "unexpected", "("]
    if is_failure and _continues(source, i, end):
        return [Place(source, "error", i, source.flat(i, end + 1), "(removed)", guarded)]
    return []


def _continues(source, i, end):
    """Whether the function has code after the statement that ends at `end`: it must not end without a result."""
    if source.is_at(end + 1, "else"):
        return False
    parent = source.parent[i]
    while source.is_at(end + 1, "}"):
        end += 1
        if source.scope[source.match[end]] != "block" or source.is_at(end + 1, "else"):
            return False
        parent = source.parent[parent]
    return parent >= 0


def _is_expression(source, i, end):
    """Whether a statement is an expression that does something, and not a declaration."""
    if source.tokens[i].text in ("++", "--"):
        return True
    k = i
    while k < end and (source.tokens[k].kind == "word" or source.is_at(k, "::")):
        if source.tokens[k].kind == "word" and (source.tokens[k].text in NOT_EXPRESSIONS or k > i and not source.is_at(k - 1, "::")):
            return False
        k += 1
        if source.is_at(k, "<") and k in source.match:
            k = source.match[k] + 1
    is_macro = source.tokens[i].text.isupper() and source.is_at(i + 1, "(")
    # Lines of the log and the space for a container's elements change nothing that a test could see.
    changes_nothing = source.is_at(i, "spdlog") or "reserve" in source.texts(i, end)
    if k == i or is_macro or changes_nothing:
        return False
    return source.is_at(k, "(", ".", "->", "[", "++", "--", "<<", *ASSIGNMENTS)


__all__ = ["HEADER", "Place", "Unreadable", "places_of", "rewritten"]

"""A C++ source as tokens, with what the places of mutants need to know about each token.

The reader knows no types. It relies on the format of this tree (.clang-format): a `<` of a template follows its name
without a space, and a comparison has a space on both sides.
"""
import bisect
import re

TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>//(?:[^\n\\]|\\.)*|/\*.*?\*/)
  | (?P<string>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"
              |(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
  | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
  | (?P<character>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
  | (?P<word>[A-Za-z_]\w*)
  | (?P<mark><=>|<<=|>>=|->\*|\.\.\.|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
DIRECTIVE = re.compile(r"(?:[^\n\\]|\\.)*", re.DOTALL)

CLOSERS = {"(": ")", "[": "]", "{": "}"}
CONTROL = {"if", "for", "while", "switch", "catch"}
# Words whose operand in parentheses is not evaluated, or must be a constant.
UNEVALUATED = {"sizeof", "decltype", "noexcept", "alignof", "alignas", "typeid", "requires", "static_assert", "CHECK"}
CODE = {"function", "block", "lambda"}


class Unreadable(Exception):
    """The text is not a sequence of tokens with balanced brackets."""


class Token:
    __slots__ = ("kind", "text", "start", "end", "spaced")

    def __init__(self, kind, text, start, spaced):
        self.kind, self.text, self.start, self.end, self.spaced = kind, text, start, start + len(text), spaced

    def __repr__(self):
        return self.text


def tokens_of(text):
    """The tokens of a text without white space, comments and lines of the preprocessor."""
    tokens, at, spaced, line_start = [], 0, True, True
    while at < len(text):
        found = TOKEN.match(text, at)
        kind = found.lastgroup if found.lastgroup != "delimiter" else "string"
        part = found.group()
        if kind == "mark" and part == "#" and line_start:
            at = DIRECTIVE.match(text, at).end()
            spaced = True
            continue
        if kind == "mark" and part in "\"'":
            raise Unreadable(f"a literal without an end at byte {at}")
        at = found.end()
        if kind in ("space", "comment"):
            spaced = True
            line_start = line_start or "\n" in part
            continue
        tokens.append(Token(kind, part, found.start(), spaced))
        spaced = line_start = False
    return tokens


class Source:
    """The tokens of a source, with the brackets and scopes that they are in.

    match[i]   the other bracket of bracket i, also for the `<` and `>` of templates
    parent[i]  the bracket that token i is in; -1: none
    scope[i]   for each `{`: namespace, class, enum, function, block, lambda or initializer
    in_code[i] whether token i is in the body of a function
    frozen[i]  whether token i must stay as it is: a constant expression, or a template argument
    """

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.tokens = tokens_of(text)
        size = len(self.tokens)
        self.match, self.parent, self.scope = {}, [-1] * size, {}
        self.in_code, self.frozen = [False] * size, [False] * size
        self.label_ends = set()
        self._lines = [0] + [i + 1 for i, c in enumerate(text) if c == "\n"]
        self._match_brackets()
        self._match_templates()
        self._read_scopes()
        self._freeze()

    def line(self, i):
        """The number of the line on which token i begins."""
        return bisect.bisect_right(self._lines, self.tokens[i].start)

    def texts(self, begin, end):
        return [token.text for token in self.tokens[begin:end]]

    def is_at(self, i, *texts):
        return 0 <= i < len(self.tokens) and self.tokens[i].kind != "string" and self.tokens[i].text in texts

    def original(self, begin, end):
        """The text from token `begin` up to, and without, token `end`."""
        return self.text[self.tokens[begin].start : self.tokens[end - 1].end]

    def flat(self, begin, end):
        """The same as original(), in one line and without comments."""
        parts = []
        for i in range(begin, end):
            parts.append((" " if self.tokens[i].spaced and i > begin else "") + self.tokens[i].text)
        return "".join(parts)

    def top_level(self, begin, end):
        """The tokens from `begin` to `end` that are in no bracket of this range; brackets of both sides are included."""
        i = begin
        while i < end:
            yield i
            i = self.match[i] if i in self.match and i < self.match[i] < end else i + 1

    def end_of_statement(self, i):
        """The `;` that ends the statement of token i, or None."""
        while i < len(self.tokens):
            text = self.tokens[i].text
            if text == ";":
                return i
            if text in (")", "]", "}") and self.match.get(i, i) < i:
                return None
            i = self.match[i] + 1 if text in CLOSERS else i + 1
        return None

    def _match_brackets(self):
        opened = []
        for i, token in enumerate(self.tokens):
            if token.kind != "mark":
                self.parent[i] = opened[-1] if opened else -1
                continue
            if token.text in (")", "]", "}"):
                if not opened or CLOSERS[self.tokens[opened[-1]].text] != token.text:
                    raise Unreadable(f"{self.path}:{self.line(i)}: {token.text} closes no bracket")
                self.match[i] = opened.pop()
                self.match[self.match[i]] = i
            self.parent[i] = opened[-1] if opened else -1
            if token.text in CLOSERS:
                opened.append(i)
        if opened:
            raise Unreadable(f"{self.path}:{self.line(opened[-1])}: {self.tokens[opened[-1]].text} is never closed")

    def _match_templates(self):
        i = 0
        while i < len(self.tokens):
            if self.tokens[i].text == "<" and self._opens_template(i):
                end = self._end_of_template(i)
                if end is not None:
                    self.match[i], self.match[end] = end, i
                    self.frozen[i : end + 1] = [True] * (end + 1 - i)
                    i = end
            i += 1

    def _opens_template(self, i):
        if self.is_at(i - 1, "template"):
            return True
        before = self.tokens[i - 1] if i > 0 else None
        is_name = before is not None and (before.text == "]" or (before.kind == "word" and before.text != "operator"))
        return is_name and not self.tokens[i].spaced

    def _end_of_template(self, i):
        depth = 0
        while i < len(self.tokens):
            text = self.tokens[i].text
            if text in ("<", ">", ">>"):
                depth += {"<": 1, ">": -1, ">>": -2}[text]
                if depth <= 0:
                    return i
            if text in (";", "{", "}", ")", "]"):
                return None
            i = self.match[i] + 1 if text in CLOSERS else i + 1
        return None

    def _read_scopes(self):
        begins = {-1: 0}  # by open bracket: the first token of the current statement
        for i, token in enumerate(self.tokens):
            parent = self.parent[i]
            self.in_code[i] = self._is_code(parent)
            if token.kind != "mark":
                continue
            if token.text == "{":
                self.scope[i] = self._scope_of(i, begins.get(parent, i))
            if token.text in CLOSERS:
                begins[i] = i + 1
            is_end = token.text == "}" and self.scope[self.match[i]] not in ("initializer", "lambda")
            if token.text == ";" or is_end:
                begins[parent] = i + 1

    def _is_code(self, bracket):
        """Whether the content of a bracket is code: it, or the nearest braces around it, are the body of a function."""
        while bracket >= 0:
            scope = self.scope.get(bracket)
            if scope in CODE:
                return True
            if scope in ("namespace", "class", "enum"):
                return False
            bracket = self.parent[bracket]
        return False

    def _scope_of(self, i, begin):
        """What the `{` at i begins; its statement begins at `begin`."""
        parent = self.parent[i]
        is_lambda = self._begins_lambda(i, begin)
        if parent >= 0 and (parent not in self.scope or self.scope[parent] == "initializer"):
            return "lambda" if is_lambda else "initializer"
        header = self._header(begin, i)
        words = [self.tokens[k].text for k in header]
        if "enum" in words[:2]:
            return "enum"
        if parent in self.scope and self.scope[parent] in CODE:
            if words[:1] and words[0] in ("struct", "class", "union"):
                return "class"
            if is_lambda:
                return "lambda"
            # `if (…) [[likely]] {` has an attribute.
            is_block = not words or words[-1] in (")", "else", "do", "try", ":", "]")
            return "block" if is_block else "initializer"
        return self._outer_scope(header, words, is_lambda)

    def _outer_scope(self, header, words, is_lambda):
        if "namespace" in words or words[:1] == ["extern"] and len(words) == 2:
            return "namespace"
        is_class = any(word in ("class", "struct", "union") for word in words[:6])
        if is_class and ("(" not in words or "alignas" in words) and "=" not in words:
            return "class"
        assigns = any(word == "=" and words[k - 1] != "operator" for k, word in enumerate(words))
        if assigns:
            return "lambda" if is_lambda else "initializer"
        if "(" not in words:
            return "initializer"
        has_members = any(words[k : k + 2] == [")", ":"] for k in range(len(words)))
        ends_in_name = self.tokens[header[-1]].kind == "word" or words[-1] == ">"
        return "initializer" if has_members and ends_in_name else "function"

    def _header(self, begin, i):
        """The tokens at the top level of the header of a scope, without `template <…>`."""
        header = []
        for k in self.top_level(begin, i):
            is_template = self.is_at(k, "<") and self.is_at(k - 1, "template")
            if is_template:
                header.pop()
            elif not (self.is_at(k, ">", ">>") and self.is_at(self.match.get(k, -1) - 1, "template")):
                header.append(k)
        return header

    def _begins_lambda(self, i, begin):
        """Whether the `{` at i begins the body of a lambda: `[…]`, and then parameters or a type at most."""
        k = i - 1
        while k >= begin and (self.tokens[k].kind == "word" or self.is_at(k, "::", "->", "*", "&", ">", ">>")):
            k = self.match[k] - 1 if k in self.match else k - 1
        if self.is_at(k, ")"):
            k = self.match[k] - 1
            if self.is_at(k, "noexcept"):
                return self._begins_lambda(k, begin)
            if self.is_at(k, ">", ">>") and k in self.match:
                k = self.match[k] - 1
        if not self.is_at(k, "]"):
            return False
        before = self.match[k] - 1
        is_index = before >= 0 and (self.tokens[before].kind in ("word", "string") or self.is_at(before, ")", "]"))
        return not is_index or self.is_at(before, "return")

    def _freeze(self):
        for i, token in enumerate(self.tokens):
            if token.kind != "word":
                self._freeze_mark(i)
            elif token.text in ("constexpr", "consteval", "constinit"):
                self._freeze_constant(i)
            elif token.text in UNEVALUATED and self.is_at(i + 1, "("):
                self._freeze_range(i, self.match[i + 1])
            elif token.text == "using":
                self._freeze_range(i, self.end_of_statement(i) or i)
            elif token.text == "operator":
                self._freeze_range(i, min(i + 2, len(self.tokens) - 1))
            elif token.text in ("case", "default") and self.in_code[i]:
                self._freeze_label(i)

    def _freeze_mark(self, i):
        """Freezes the size of an array in its declaration: `char bytes[16]`."""
        if not self.is_at(i, "[") or i < 2 or self.tokens[i - 1].kind != "word":
            return
        before = self.tokens[i - 2]
        is_type = before.kind == "word" and before.text not in ("return", "else", "case", "throw")
        if is_type or (before.text in (">", "*", "&") and not before.spaced):
            self._freeze_range(i, self.match[i])

    def _freeze_constant(self, i):
        if self.is_at(i - 1, "if") and self.is_at(i + 1, "("):
            self._freeze_range(i, self.match[i + 1])
            return
        end = i
        while end < len(self.tokens) and not self.is_at(end, ";"):
            if self.is_at(end, "{") and self.scope[end] in CODE:  # a constexpr function
                end = self.match[end]
                break
            end = self.match[end] + 1 if self.tokens[end].text in CLOSERS else end + 1
        self._freeze_range(i, min(end, len(self.tokens) - 1))

    def _freeze_label(self, i):
        for k in self.top_level(i, len(self.tokens)):
            if self.is_at(k, ":"):
                self._freeze_range(i, k)
                self.label_ends.add(k)
                return
            if self.is_at(k, ";", "}"):
                return

    def _freeze_range(self, begin, last):
        self.frozen[begin : last + 1] = [True] * (last + 1 - begin)

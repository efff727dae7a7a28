#!/usr/bin/env python3
"""Tests of the script that plants mutants: what it changes, what it leaves alone, and that a source with mutants of which
none is switched on is the same program."""
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # the tests leave no files in the tree

import mutate
import places
import rooms
from cxx_source import Source, tokens_of

ROOT = Path(__file__).resolve().parents[2]


def body(statements):
    return f"int f(int a, int b) {{\n{statements}\n}}\n"


def changes(text, kind=None):
    """The changes of a source as pairs of texts, those of one kind or all."""
    return [(place.before, place.after) for place in places.places_of("a.cc", text) if kind in (None, place.kind)]


class Tokens(unittest.TestCase):
    def test_leave_out_comments_and_lines_of_the_preprocessor(self):
        text = '#include <a>\n#define B(x) \\\n  (x < 1)\nint c;  // d < 1\n/* e\n < */ int f;\n'
        self.assertEqual([token.text for token in tokens_of(text)], ["int", "c", ";", "int", "f", ";"])

    def test_take_strings_and_characters_as_one_token(self):
        text = "\"a < \\\" b\" 'x' '\\'' R\"(c\n < \")\" R\"x(d)\" )x\" u8\"e\" 1'000 0xffU 1.5e-3"
        self.assertEqual(
            [token.text for token in tokens_of(text)],
            ['"a < \\" b"', "'x'", "'\\''", 'R"(c\n < ")"', 'R"x(d)" )x"', 'u8"e"', "1'000", "0xffU", "1.5e-3"],
        )

    def test_need_balanced_brackets(self):
        for text in ("int f() {", "int f() }", "(]", "'"):
            with self.assertRaises(places.Unreadable):
                Source("a.cc", text)


class Places(unittest.TestCase):
    def test_are_comparisons_with_their_operands(self):
        self.assertEqual(
            changes(body("return a + 1 < g(b, 2) && b != a;"), "comparison"),
            [("a + 1 < g(b, 2)", "a + 1 <= g(b, 2)"), ("b != a", "b == a")],
        )
        self.assertEqual(changes(body("const bool c = !a == b;"), "comparison"), [("!a == b", "!a != b")])
        self.assertEqual(changes(body("if (a) return b > a;"), "comparison"), [("b > a", "b >= a")])
        self.assertEqual(changes(body("for (int i = 0; i < a; ++i) g();"), "comparison"), [("i < a", "i <= a")])
        self.assertEqual(
            changes(body("g(T{a, b} == c, x->y[a < b].z >= d);"), "comparison"),
            [("T{a, b} == c", "T{a, b} != c"), ("a < b", "a <= b"), ("x->y[a < b].z >= d", "x->y[a < b].z > d")],
        )

    def test_are_no_brackets_of_templates(self):
        text = body("std::vector<std::pair<int, A<3>>> c = g<int>(a);\nauto h = []<class T>(T t) { return t; };")
        self.assertEqual(changes(text), [])

    def test_are_operators_of_logic_with_their_precedence(self):
        self.assertEqual(
            changes(body("return a && b || !c && d;"), "logic"),
            [("a && b", "a || b"), ("a && b || !c && d", "a && b && !c && d"), ("!c && d", "!c || d")],
        )
        self.assertEqual(changes(body("for (auto&& x : y) g(x);"), "logic"), [])

    def test_are_sums_except_those_of_strings(self):
        self.assertEqual(
            changes(body("return a * b - c + 1;"), "sum"), [("a * b - c", "a * b + c"), ("a * b - c + 1", "a * b - c - 1")]
        )
        self.assertEqual(changes(body('return -a; return c + "x"; return "x" + c;'), "sum"), [])

    def test_are_integers(self):
        self.assertEqual(
            [after for _, after in changes(body("g(5, 0x0fU, 1'000'000, 1.5, 'x', 2s);"), "literal")],
            ["g(6, 0x0fU,", "g(5, 0x10U, 1'000'000,", "5, 0x0fU, 1000001, 1.5,"],
        )

    def test_are_conditions(self):
        self.assertEqual(changes(body("if (a.ok()) g();"), "condition"), [("if (a.ok())", "if (!(a.ok()))")])
        self.assertEqual(changes(body("if (auto c = g(); c) h();"), "condition"), [("if (c)", "if (!(c))")])
        self.assertEqual(changes(body("if (const auto c = g()) h();\nif constexpr (a) h();"), "condition"), [])

    def test_are_statements(self):
        text = body("g(a);\n++a;\nif (a) c.d();\nelse e->f = 2;\nfor (;;) break;\nh[1] += 2;\nstd::swap(a, b);")
        self.assertEqual(
            [before for before, _ in changes(text, "statement")],
            ["g(a);", "++a;", "c.d();", "e->f = 2;", "break;", "h[1] += 2;", "std::swap(a, b);"],
        )

    def test_are_no_declarations_or_lines_of_the_log(self):
        text = body(
            'int c = 1;\nstd::string d(a, b);\nconst T e{a};\nA<int> f;\nT* g = h();\nspdlog::info("a");\n'
            "CHECK(a < b);\nv.reserve(9);\nusing A = B<1>;\nreturn a;"
        )
        self.assertEqual(changes(text, "statement"), [])
        self.assertEqual(changes(text, "comparison"), [])

    def test_are_errors_that_can_be_lost(self):
        self.assertEqual(
            changes(body('TRY(g(a));\nif (a) return fail("x", "y");\nif (b) { return tl::unexpected(c); }\nreturn 1;'), "error"),
            [
                ("TRY(g(a));", "(void)(g(a));"),
                ('return fail("x", "y");', "(removed)"),
                ("return tl::unexpected(c);", "(removed)"),
            ],
        )

    def test_are_no_errors_at_the_end_of_a_function(self):
        self.assertEqual(changes(body('return fail("x", "y");'), "error"), [])
        self.assertEqual(changes(body('if (a) { return fail("x", "y"); }'), "error"), [])
        self.assertEqual(changes(body('if (a) return fail("x", "y"); else return 1;'), "error"), [])
        self.assertEqual(changes(body('g([] { return fail("x", "y"); });\nreturn 1;'), "error"), [])

    def test_are_answers(self):
        self.assertEqual(changes(body("return true;"), "answer"), [("return true;", "return false;")])

    def test_are_neighbouring_arguments_that_are_written_alike(self):
        self.assertEqual(
            changes(body("g(a, b.c, 1, 2, h(), a);\nif (a) g(a, a);"), "arguments"),
            [("g(… a, b.c …)", "g(… b.c, a …)"), ("g(… 1, 2 …)", "g(… 2, 1 …)")],
        )

    def test_are_no_swapped_arguments_of_which_the_order_means_nothing(self):
        text = body("a = std::min(b, c);\na = std::max(b, c);\nstd::swap(b, c);")
        self.assertEqual(changes(text, "arguments"), [])

    def test_are_only_in_the_bodies_of_functions(self):
        for text in (
            "constexpr int kA = 1 < 2;\nenum class B { kC = 1 };\nstatic_assert(1 < 2);\nint d[4] = {1};\n",
            "class E {\n  int f_ = 1;\n  char g_[16];\n  void h(int a = 1);\n};\n",
            "constexpr int f(int a) { return a < 1; }\n",
            "template <class T, int N = 1>\nclass I : public J<1> {};\n",
            body("char c[16];\nconstexpr int d = 1 < 2;\nstatic_assert(1 < 2);\ng(sizeof(a < b));"),
            body("switch (a) {\n  case 1:\n  case A::kB:\n  default:\n}"),
        ):
            with self.subTest(text):
                self.assertEqual([place for place in changes(text) if place != ("g(sizeof(a < b));", "(removed)")], [])

    def test_are_in_members_constructors_and_lambdas(self):
        text = (
            "namespace n {\nclass A : public B {\n public:\n  A(int a) : B(a), b_{a} { c(a == 1); }\n"
            "  int d() const override { return e_ < 2; }\n};\n}\n"
            "bool operator==(const A& a, const A& b) { return a.x == b.x; }\n"
            "const auto kF = [](int a) -> bool { return a > 3; };\n"
        )
        self.assertEqual([before for before, _ in changes(text, "comparison")], ["a == 1", "e_ < 2", "a.x == b.x", "a > 3"])

    def test_keep_the_lines_and_the_text_of_every_source(self):
        files = rooms.tracked_files(ROOT)
        seen = 0
        for room in rooms.SUITES:
            for path in rooms.sources_of(room, files):
                text = (ROOT / path).read_text()
                for place in places.places_of(path, text):
                    seen += 1
                    for start, end, replacement in place.edits:
                        self.assertIn(text[start:end], replacement, place)
                        self.assertEqual(text[start:end].count("\n"), replacement.count("\n"), place)
        self.assertGreater(seen, 10_000)


PROGRAM = r"""#include <cstdio>
#include <string>

// A little program with a place of each kind whose change shows in the output.
struct Error {};
static int errors = 0;
static bool fail(int) { return false; }
#define TRY(x) if (!(x)) return false
static bool check(int a) {
  if (a > 2) return fail(a);
  ++errors;
  return true;
}
static bool check_all(int a, int b) {
  TRY(check(a));
  TRY(check(b));
  return true;
}
static int difference(int a, int b) { return a - b; }

int main() {
  int sum = 0;
  for (int i = 0; i < 5; ++i) {
    if (i == 3) continue;
    sum += i;
  }
  const bool both = sum > 3 && sum < 100;
  const std::string text = std::string("a") + "b";
  const int first = 7, second = 4;
  std::printf("%d %d %d %d ", sum, both, check_all(1, 3), difference(first, second));
  std::printf("%s %d\n", text.c_str(), errors);
}
"""


class Programs(unittest.TestCase):
    def test_are_the_same_without_a_mutant_and_differ_with_one(self):
        candidates = {}
        for place in places.places_of("program.cc", PROGRAM):
            candidates.setdefault(place.kind, []).append(place)
        self.assertEqual(
            sorted(candidates),
            ["answer", "arguments", "comparison", "condition", "error", "literal", "logic", "statement", "sum"],
        )
        drawn = mutate.draw(candidates, 100, [], random.Random(1))
        numbered = list(enumerate(drawn, start=1))
        with tempfile.TemporaryDirectory() as folder:
            header = Path(folder, mutate.MUTANT_HEADER)
            header.parent.mkdir(parents=True)
            header.write_text(places.HEADER)
            source = Path(folder, "program.cc")
            source.write_text(places.rewritten(PROGRAM, numbered))
            program = Path(folder, "program")
            compiler = os.environ.get("CXX", "g++")
            subprocess.run([compiler, "-std=c++20", "-w", "-I", folder, "-o", program, source], check=True)

            def output_of(mutant):
                environment = {**os.environ, "MILLRACE_MUTANT": str(mutant)}
                return subprocess.run([program], env=environment, capture_output=True, text=True, timeout=60).stdout

            self.assertEqual(output_of(0), "7 1 0 3 ab 1\n")
            seen = [number for number, _ in numbered if output_of(number) != "7 1 0 3 ab 1\n"]
        self.assertGreater(len(numbered), 15)
        self.assertGreater(len(seen), len(numbered) // 2, [str(place) for number, place in numbered if number not in seen])


class Refusals(unittest.TestCase):
    OUTPUT = (
        "FAILED: a.o\nIn file included from /t/base/b.h:1:\n"
        "/t/base/a.cc: In function 'int f()':\n/t/base/a.cc:7:3: error: no match\n/t/base/a.cc:4:3: note: candidate\n"
    )

    def setUp(self):
        text = body("g(a);\nh(a);\ni(a);\n\n\nj(b);")
        self.places = [place for place in places.places_of("base/a.cc", text) if place.kind == "statement"]
        self.assertEqual([place.line for place in self.places], [2, 3, 4, 7])

    def test_name_the_place_in_the_line_of_the_error(self):
        self.assertEqual(mutate.refused(self.OUTPUT, self.places, "/t"), [self.places[3]])

    def test_name_the_place_above_the_error(self):
        self.assertEqual(mutate.refused(self.OUTPUT, self.places[:3], "/t"), [self.places[2]])

    def test_name_the_place_of_a_note_if_the_error_is_in_a_library(self):
        output = self.OUTPUT.replace("/t/base/a.cc:7", "/usr/include/a.h:7")
        self.assertEqual(mutate.refused(output, self.places, "/t"), [self.places[2]])


class Rooms(unittest.TestCase):
    def test_are_found_by_the_end_of_their_path(self):
        self.assertEqual(rooms.room_named("matchers"), "matchers")
        self.assertEqual(rooms.room_named("engine"), "orchestrator/engine")
        self.assertEqual(rooms.room_named("store-rows"), "orchestrator/store/rows")
        self.assertEqual(rooms.room_named("orchestrator/store/"), "orchestrator/store")
        with self.assertRaisesRegex(rooms.Unknown, '"nowhere" is not a room; use one of: base, '):
            rooms.room_named("nowhere")

    def test_do_not_have_the_sources_of_rooms_below_them(self):
        files = ["orchestrator/store/tables.cc", "orchestrator/store/rows/row.h", "orchestrator/store/CMakeLists.txt"]
        self.assertEqual(rooms.sources_of("orchestrator/store", files), ["orchestrator/store/tables.cc"])

    def test_have_sources_and_test_programs(self):
        files = rooms.tracked_files(ROOT)
        lists = "".join((ROOT / path).read_text() for path in files if path.endswith("CMakeLists.txt"))
        for room, specs in rooms.SUITES.items():
            self.assertTrue(rooms.sources_of(room, files), room)
            for spec in specs:
                name = spec.partition(":")[0]
                self.assertTrue(f"millrace_test({name} " in lists or f"millrace_test({name}\n" in lists, name)


class Equivalents(unittest.TestCase):
    def test_are_read_with_their_reasons(self):
        (entry,) = rooms.read_equivalents("# text\n\na.cc\n  before: a < b\n  after: a <= b\n  why: They differ.\n\n")
        self.assertEqual((entry.file, entry.before, entry.after, entry.why), ("a.cc", "a < b", "a <= b", "They differ."))
        with self.assertRaisesRegex(ValueError, "expected a file"):
            rooms.read_equivalents("a.cc\n  before: a < b\n")

    def test_are_places_of_the_sources(self):
        for entry in rooms.read_equivalents((ROOT / "tests/mutation/equivalent.txt").read_text()):
            of_file = places.places_of(entry.file, (ROOT / entry.file).read_text())
            self.assertTrue(any(entry.is_of(place) for place in of_file), f"{entry.file}: {entry.before}")


if __name__ == "__main__":
    sys.exit(unittest.main())

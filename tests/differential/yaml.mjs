// Documents of YAML: what language/document.cc makes of a text, compared with the value that this file builds from
// libyaml's own events by the core schema of YAML 1.2.

export const kind = "yaml";

const MOST_DEPTH = 128;
const CORE = "tag:yaml.org,2002:";

const FIXED = [
  "a: 1", "- 1\n- two\n- 3.5\n", "{a: [1, 2], b: {c: d}}", '{"a": [1, 2.5e3, null, true, "x"]}', "a: ~\nb:\nc: null\nd: Null\ne: NULL",
  "a: yes\nb: no\nc: on\nd: y\ne: True\nf: FALSE\ng: tRue", "a: 0o17\nb: 0x1F\nc: 017\nd: +12\ne: -0\nf: 1_000\ng: 0b1\nh: 0o8\ni: 0xg",
  "a: 1.\nb: .5\nc: -.5e-3\nd: +1E5\ne: 1e5\nf: .\ng: 1.2.3\nh: e5\ni: 1e", "a: 12345678901234567890\nb: -9223372036854775808\nc: 1e400",
  "a: 123456789012345678901234567890", "a: .inf", "a: -.Inf", "a: .NaN", "a: .nAn", "a: !!str 1\nb: !!int '2'\nc: !!float 3\nd: !!bool true\ne: !!null ''",
  "a: !!int x", "a: !!str [1]", "a: !!seq [1]\nb: !!map {c: d}", "a: !!map [1]", "a: ! 12", "a: !local 1", "a: !!binary aGk=", "a: !!timestamp 2001-01-01",
  "a: !<tag:yaml.org,2002:int> 3", "%TAG !x! tag:yaml.org,2002:\n---\na: !x!int 3", "a: &x 1\nb: *x", "a: &x [1, *x]", "a: *gone", "a: &x {b: c}\nd: *x\n? *x\n: e",
  "? &k key\n: 1\n*k : 2", "a: &x 1\nb: &x 2\nc: *x", "<<: {a: 1}", "a: &x {b: 1}\nc: {<<: *x}", "'<<': 1", "? [a]\n: 1", "? {a: 1}\n: 1", "a: 1\na: 2", "a: 1\n'a': 2",
  "1: a\ntrue: b\nnull: c\n1.50: d", "", "# only a comment", "---", "---\n...", "--- a\n--- b", "a: 1\n---\nb: 2", "a: 1\n...", "a: 1\n...\n---\n...", "%YAML 1.2\n---\na: 1", "%YAML 1.1\n---\na: yes",
  "%YAML 2.0\n---\na: 1", "a: |\n  one\n  two\n", "a: >-\n  one\n  two\n\n  three\n", "a: |+\n  one\n\n", "a: |2\n   one\n", "a: 'it''s'", 'a: "tab\\tnewline\\nnul\\0 \\x41 \\u00e4 \\U0001F600"',
  'a: "\\ud83d\\ude00"', 'a: "\\ud83d"', 'a: "\\q"', "a: 'one\n  two'", 'a: "one\\\n  two"', "a: one\n  two", "a: [1, 2", "a: {b: 1", "a: 'x", 'a: "x', "a: b: c", "a:\n\tb: 1", "a: @b", "a: `b`", "a: %b",
  "- a\nb: 1", "a: 1\n b: 2", " a: 1\n b: 2", "a:\n- 1\n- 2", "-1", "- - - 1", "[[[]]]", "a: {}\nb: []", "a: [1,,2]", "a: [1, ]", "a: {b, c: }", "[a: 1, b]", "a: - 1", "&a a: 1", "a: #x\n b", "a: b #c", "a: b#c",
  "a: \u0085b", "a: 'x\u2028y'", "a: x\u2029y", "a: x\u0085\n", "\ufeffa: 1", "a: \ufeffb", "a: \u0007", "a: \u0000", "a: \udbff\udfff", "a: \ufffe", "a: \u007f", "a: \u00a0b", "a: \u{1F600}", "a:\u00a0b", "a\u3000: 1",
  "*a", "&a", "!!null", "- !!str\n- !!null\n- !!int\n", "? a\n? b\n: c", ": a", "? ", "a:\r\n  b: 1\r\n", "a: 1\rb: 2", "~: 1\n'': 2", "null: 1\n~: 2",
];

export function cases(random, count) {
  const texts = [...FIXED, "[".repeat(MOST_DEPTH) + "]".repeat(MOST_DEPTH), "[".repeat(MOST_DEPTH + 1) + "]".repeat(MOST_DEPTH + 1), bomb()];
  for (let i = 0; i < count; ++i) {
    const text = written(random, 0, 0) + "\n";
    texts.push(random.once(2) ? random.damaged(text, " \n:-[]{},'\"&*!|>#%~.0123abx?\t") : text);
  }
  return texts.map((text) => ({ name: text.length > 200 ? text.slice(0, 200) + "…" : text, text, classes: classes(text) }));
}

/** Nine levels of lists of nine aliases. */
function bomb() {
  const lines = ["a0: &a0 xxxxxxxxxxxxxxxx"];
  for (let i = 1; i < 9; ++i) lines.push(`a${i}: &a${i} [${Array(9).fill(`*a${i - 1}`).join(", ")}]`);
  return lines.join("\n");
}

function classes(text) {
  const found = [];
  if (/[\u0085\u2028\u2029]/.test(text)) found.push("line breaks of YAML 1.1");
  if (/\\u[dD][89abAB]..\\u[dD][c-fC-F]/.test(text)) found.push("surrogate pairs");
  if (/[\u{fffff}\u{ffffe}\u{10ffff}\u{10fffe}]/u.test(text)) found.push("noncharacters");
  return found;
}

const SCALARS = ["1", "x", "'y'", '"z"', "~", "true", "1.5", "0x1f", "no", "a b", "*a", "&a 1", "!!str 1", "", "- 1", "[]", "{}", "1e3", ".5", "+7"];

/** A text in block or flow style. */
function written(random, depth, indent) {
  const pad = " ".repeat(indent);
  const keys = ["a", "b", "c", "'d'", "e f", "1"];
  if (depth > 3 || random.once(3)) return random.pick(SCALARS);
  const length = 1 + random.below(3);
  const child = () => written(random, depth + 1, indent + 2);
  if (random.once(4)) return "[" + Array.from({ length }, () => random.pick(SCALARS.slice(0, 12))).join(", ") + "]";
  if (random.once(4)) return "{" + Array.from({ length }, () => `${random.pick(keys)}: ${random.pick(SCALARS.slice(0, 12))}`).join(", ") + "}";
  const lines = Array.from({ length }, (_, i) => {
    const value = child();
    const isBlock = value.startsWith("\n");
    const head = length % 2 === 0 ? "-" : `${keys[(i + random.below(5)) % keys.length]}:`;
    return `${pad}${head}${isBlock || value === "" ? "" : " "}${value}`;
  });
  return (depth === 0 ? "" : "\n") + lines.join("\n");
}

export async function compare({ text }, probe) {
  const { document, events } = await probe.ask({ kind, text });
  let theirs = events;
  if (events.ok !== undefined) {
    try {
      theirs = { ok: new Composer(events.ok).document() };
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      theirs = { error: refusal.message };
    }
  }
  return { ours: document, theirs, classes: [] };
}

class Refusal extends Error {}

function refuse(why) {
  throw new Refusal(why);
}

/** Builds the value of a document, and refuses what a definition may not have. */
class Composer {
  constructor(events) {
    this.events = events;
    this.at = 0;
    this.anchors = new Map();
    this.size = 0;
  }

  document() {
    const documents = this.events.filter((one) => one.event === "document");
    if (documents.length === 0) refuse("no document");
    if (documents.length > 1) refuse("more than one document");
    this.events = this.events.filter((one) => one.event !== "document");
    return this.node(0);
  }

  node(depth) {
    const event = this.events[this.at++];
    const { anchor } = event;
    if (event.event === "alias") {
      const value = this.anchors.get(anchor);
      if (value === undefined) refuse(`no anchor ${anchor}`);
      if (value === null) refuse(`the alias ${anchor} is in itself`);
      this.size += JSON.stringify(value.ok).length;
      if (this.size > 1 << 20) refuse("the aliases expand to too much");
      if (depth + depthOf(value.ok) > MOST_DEPTH) refuse("too deep");
      return value.ok;
    }
    if (anchor !== null) this.anchors.set(anchor, null);
    const value = event.event === "scalar" ? scalar(event) : this.collection(event, depth + 1);
    if (anchor !== null) this.anchors.set(anchor, { ok: value });
    return value;
  }

  collection(event, depth) {
    if (depth > MOST_DEPTH) refuse("too deep");
    const isList = event.event === "sequence";
    const allowed = [null, "!", CORE + (isList ? "seq" : "map")];
    if (!allowed.includes(event.tag)) refuse(`the tag ${event.tag}`);
    const list = [];
    const mapping = Object.create(null);
    while (this.events[this.at].event !== "end") {
      if (isList) {
        list.push(this.node(depth));
        continue;
      }
      const key = this.key(depth);
      const value = this.node(depth);
      if (key in mapping) refuse(`the key ${key} twice`);
      mapping[key] = value;
    }
    ++this.at;
    return isList ? list : mapping;
  }

  /** A key is a scalar, as it is written. */
  key(depth) {
    const event = this.events[this.at];
    if (event.event === "alias") {
      const target = this.events.findLast((one, i) => i < this.at && one.event !== "alias" && one.anchor === event.anchor);
      if (target === undefined || target.event !== "scalar") refuse("a key that is not a scalar");
      this.node(depth);
      return target.text;
    }
    if (event.event !== "scalar") refuse("a key that is not a scalar");
    if (event.plain && event.tag === null && event.text === "<<") refuse("a merge key");
    // A key keeps its text, so that its value need not be a number of JSON.
    if (event.tag !== null) scalar(event);
    ++this.at;
    if (event.anchor !== null) this.anchors.set(event.anchor, { ok: event.text });
    return event.text;
  }
}

function depthOf(value) {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

function scalar({ text, tag, plain }) {
  if (tag === null) return plain ? resolved(text).value : text;
  if (tag === "!" || tag === CORE + "str") return text;
  const { type, value } = resolved(text);
  const wanted = tag.startsWith(CORE) ? tag.slice(CORE.length) : "";
  if (!["null", "bool", "int", "float"].includes(wanted)) refuse(`the tag ${tag}`);
  if (wanted !== type && !(wanted === "float" && type === "int")) refuse(`${text} is no ${wanted}`);
  return value;
}

/** The type and value of a plain scalar (YAML 1.2.2, section 10.3.2). */
function resolved(text) {
  if (/^(|~|null|Null|NULL)$/.test(text)) return { type: "null", value: null };
  if (/^(true|True|TRUE|false|False|FALSE)$/.test(text)) return { type: "bool", value: text.toLowerCase() === "true" };
  if (/^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$/.test(text)) refuse("not a number of JSON");
  if (/^[-+]?[0-9]+$/.test(text)) return { type: "int", value: finite(text) };
  if (/^(0o[0-7]+|0x[0-9a-fA-F]+)$/.test(text)) {
    if (BigInt(text) >= 1n << 64n) refuse("more than 64 bits");
    return { type: "int", value: Number(text) };
  }
  if (/^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/.test(text)) return { type: "float", value: finite(text) };
  return { type: "str", value: text };
}

function finite(text) {
  const value = Number(text);
  if (!Number.isFinite(value)) refuse("larger than every number of JSON");
  // -0 and 0 are one number.
  return value === 0 ? 0 : value;
}

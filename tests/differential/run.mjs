// Compares what millrace reads and writes with what other libraries do. README.md has the sides and the decisions.
//
//     node run.mjs --probe PROGRAM [--seed N] [--count N] [KIND…]
import { readFileSync } from "node:fs";
import { isDeepStrictEqual, parseArgs } from "node:util";

import * as cloudevents from "./cloudevents.mjs";
import * as cron from "./cron.mjs";
import * as durations from "./durations.mjs";
import * as http from "./http.mjs";
import { Probe } from "./probe.mjs";
import { Random } from "./random.mjs";
import * as yaml from "./yaml.mjs";

const KINDS = [durations, cron, yaml, http, cloudevents];
const MOST_SHOWN = 20; // undecided differences of a kind that are printed

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { probe: { type: "string" }, seed: { type: "string" }, count: { type: "string", default: "300" } },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 1e6) : Number(values.seed);
const unknown = positionals.filter((name) => !KINDS.some(({ kind }) => kind === name));
if (values.probe === undefined || unknown.length > 0 || !Number.isInteger(seed) || !Number.isInteger(Number(values.count))) {
  console.error(`usage: node run.mjs --probe PROGRAM [--seed N] [--count N] [${KINDS.map(({ kind }) => kind).join("|")}]…`);
  process.exit(2);
}

const decided = JSON.parse(readFileSync(new URL("decided.json", import.meta.url), "utf8"));
const used = new Set();

function outcome(answer) {
  return answer.error === undefined ? "accepts" : "refuses";
}

/** Refusals are equal whatever their reason, if what was read before them is. */
function isSame(ours, theirs) {
  if (outcome(ours) !== outcome(theirs)) return false;
  if (ours.error !== undefined) return isDeepStrictEqual(ours.taken, theirs.taken);
  return isDeepStrictEqual(JSON.parse(JSON.stringify(ours.ok)), JSON.parse(JSON.stringify(theirs.ok)));
}

/** The row that decides a difference: of its case, or else of a class of cases. */
function decision(kind, one, result) {
  const classes = [...one.classes, ...result.classes];
  const rows = decided.filter(
    (row) => row.kind === kind && row.ours === outcome(result.ours) && row.theirs === outcome(result.theirs),
  );
  return rows.find((row) => row.case === one.name) ?? rows.find((row) => classes.includes(row.class));
}

console.log(`seed ${seed}`);
const probe = new Probe(values.probe);
let failures = 0;
for (const { kind, cases, compare } of KINDS) {
  if (positionals.length > 0 && !positionals.includes(kind)) continue;
  const all = cases(new Random(seed), Number(values.count));
  const undecided = [];
  let different = 0;
  for (const one of all) {
    const result = await compare(one, probe);
    if (isSame(result.ours, result.theirs)) continue;
    ++different;
    const row = decision(kind, one, result);
    if (row === undefined) undecided.push([one, result]);
    else used.add(row);
  }
  console.log(`${kind}: ${all.length} cases, ${different} differences, ${undecided.length} of them undecided`);
  for (const [one, { ours, theirs, classes }] of undecided.slice(0, MOST_SHOWN)) {
    console.log(`\n  case: ${JSON.stringify(one.name)}`);
    console.log(`  classes: ${[...one.classes, ...classes].join("; ") || "none"}`);
    console.log(`  ours: ${JSON.stringify(ours)}\n  theirs: ${JSON.stringify(theirs)}`);
  }
  // A class may have no case in a small run, but each case of a fixed list is always compared.
  const unused = decided.filter((row) => row.kind === kind && row.case !== undefined && !used.has(row));
  for (const row of unused) console.log(`\n  no case differs as this row of decided.json says: ${JSON.stringify(row)}`);
  failures += undecided.length + unused.length;
}
probe.close();
process.exitCode = failures === 0 ? 0 : 1;

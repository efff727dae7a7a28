// Durations of ISO 8601, compared with luxon.
import { DateTime, Duration } from "luxon";

export const kind = "duration";

const FIXED = [
  "PT0S", "P", "PT", "P1Y", "P1M", "PT1M", "P1W", "P1Y2M10DT2H30M", "P1W2D", "P1Y1W", "P1Y2M3W4DT5H6M7.008S", "PT36H",
  "PT0.5S", "PT0,5S", "PT1.5H", "P0.5D", "P1.5W", "PT0.5M", "P0.5Y", "P1.5M", "PT1.5H30M", "PT0,5H", "P1DT", "P1DT1H",
  "-PT1H", "PT-1H", "+PT1H", "pt1h", "P1H", "PT1D", "P1M1Y", "PT1S1M", "PT1H1H", "P 1D", " PT1H ", "PT1H\n", "P0Y",
  "P99Y", "P100Y", "P101Y", "P1201M", "PT99999999999H", "P36525D", "P36526D", "PT0.0001S", "PT0.9999S", "PT1.S", "PT.5S",
  "PT1e3S", "10h 30 minutes", "500", "1d5h", "", "PT0.12345678901234567890S", "PT0.123456789012345678901S", "P00001D",
  "PT000000000000000000001S", "P1D2W", "P1T1H", "PT1HT1M", "P1Y2", "1Y", "P٣D",
];

/** The properties of a text for which the two sides are decided to differ. */
function classes(text) {
  const trimmed = text.trim();
  const found = [];
  if (!trimmed.includes("P") && /^\d/.test(trimmed)) found.push("pairs");
  if (trimmed !== text) found.push("white space");
  if (trimmed.includes("-")) found.push("negative");
  if (/^-?P$|T$/.test(trimmed)) found.push("no number after P or T");
  if (/[.,]\d+[YM]/.test(trimmed.split("T")[0])) found.push("fraction of years or months");
  if (/[.,]\d+[YMWDH].*\d/.test(trimmed)) found.push("fraction before the last number");
  if (/,\d+[WDHM]/.test(trimmed)) found.push("decimal comma");
  if (/\d{21}/.test(trimmed)) found.push("more than 20 digits");
  return found;
}

export function cases(random, count) {
  const texts = [...FIXED];
  for (let i = 0; i < count; ++i) {
    const text = written(random);
    texts.push(random.once(4) ? random.damaged(text, "PTYMWDHS0123456789.,-+ p") : text);
  }
  return texts.map((text) => ({ name: text, text, start: Date.UTC(2000 + random.below(60), random.below(12), 1 + random.below(31)), classes: classes(text) }));
}

function written(random) {
  const number = () => String(random.below(random.pick([2, 13, 100])));
  const units = (names) => names.filter(() => random.once(2)).map((name) => number() + name);
  const date = units(["Y", "M", "W", "D"]);
  const time = units(["H", "M", "S"]);
  if (date.length + time.length === 0) date.push(number() + "D");
  const last = time.length > 0 ? time : date;
  if (random.once(4)) last.push(last.pop().replace(/\D/, (unit) => random.pick([".", ".", ","]) + number() + unit));
  return "P" + date.join("") + (time.length > 0 ? "T" + time.join("") : "");
}

export async function compare(one, probe) {
  const ours = await probe.ask({ kind, text: one.text, start: one.start });
  return { ours, theirs: read(one), classes: longer(one) ? ["longer than 100 years"] : [] };
}

function read({ text, start }) {
  const duration = Duration.fromISO(text);
  if (!duration.isValid) return { error: duration.invalidReason };
  const { months, fixed } = parts(duration);
  const after = DateTime.fromMillis(start, { zone: "utc" }).plus({ months }).plus({ milliseconds: fixed });
  return { ok: { months, fixed, after: after.toMillis() } };
}

/** Months, and everything that is shorter in whole milliseconds. luxon computes with fractions of binary numbers. */
function parts(duration) {
  const { years = 0, months = 0, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0, milliseconds = 0 } = duration.toObject();
  const exact = ((((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + milliseconds;
  return { months: years * 12 + months, fixed: Math.trunc(Number(exact.toFixed(3))) };
}

function longer({ text }) {
  const duration = Duration.fromISO(text);
  if (!duration.isValid) return false;
  const { months, fixed } = parts(duration);
  return months * 2629746000 + fixed > 36525 * 86400000;
}

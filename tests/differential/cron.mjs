// Schedules, compared with cron-parser: the next ticks after random times, in zones with and without changes of the
// clocks.
import { CronExpressionParser } from "cron-parser";
import { DateTime } from "luxon";

export const kind = "cron";

const TICKS = 20;
// After this time millrace uses the last offset of a zone (policies/time_zone.h).
const HORIZON = Date.UTC(2037, 0, 1);
const ZONES = [
  "", "Europe/Vienna", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kolkata", "Asia/Kathmandu",
  "America/St_Johns", "Pacific/Auckland",
];
const FIXED = [
  "* * * * *", "0 0 * * *", "30 2 * * *", "0 2 * * *", "*/15 * * * *", "5/15 * * * *", "0 12 * * 1-5", "0 0 1 1 *",
  "0 0 29 2 *", "0 0 31 * *", "0 0 30 2 *", "0 0 31 2,4 *", "0 0 13 * 5", "0 0 13 * fri", "0 0 1-7 * mon", "0 0 * * 0",
  "0 0 * * 7", "0 0 * * sun", "0 0 * * 5-7", "0 0 * * fri-sun", "0 0 * * 5-0", "0 0 1 jan,JUL *", "0 0 1 feb-apr *",
  "0 0 ? * 1", "0 0 1 * ?", "? * * * *", "0 ? * * *", "0 0 1 ? *", "0 0 */1 * 1", "0 0 1 * */1", "0 0 *,5 * 1",
  "0 0 */2 * 1", "0 0 * * 1/2", "0 0 * * */2", "0 0 1/10 * *", "0 0 1 */3 *", "60 * * * *", "* 24 * * *", "* * 0 * *",
  "* * 32 * *", "* * * 0 *", "* * * 13 *", "* * * * 8", "*/0 * * * *", "*/100 * * * *", "1-70 * * * *", "30-10 * * * *",
  "1- * * * *", "-1 * * * *", ", * * * *", "1,,2 * * * *", "1/ * * * *", "*/ * * * *", "1-5/2 * * * *", "1/2/3 * * * *",
  "05 08 * * *", "+5 * * * *", "1.5 * * * *", "a * * * *", "* * * january *", "* * * * monday", "* * * * mo", "0 0 L * *",
  "0 0 * * 5L", "0 0 * * 1#2", "H * * * *", "0 0 15W * *", "* * * *", "* * * * * *", "0 * * * * *", "* * * * * * *", "",
  " 0  0 * * * ", "0\t0 * * *", "@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually",
  "@minutely", "@secondly", "@weekdays", "@weekends", "@every 90s", "@reboot", "@Daily", "0 0 1,15,31 * *", "59 23 31 12 *",
];

function classes(text) {
  const words = text.trim().split(/\s+/);
  const [minute, hour, dayOfMonth, month, dayOfWeek] = words;
  const found = [];
  if (text.startsWith("@every")) found.push("@every");
  if (text === "@midnight") found.push("@midnight");
  if (["@minutely", "@secondly", "@weekdays", "@weekends"].includes(text)) found.push("macros of cron-parser");
  if (!text.startsWith("@") && words.length !== 5) found.push("other than five fields");
  if (words.length !== 5) return found;
  if (/[LH#W]/.test(text.replace(/[a-z]{3}/gi, ""))) found.push("L, # and H");
  if (/\?/.test(minute + hour + month)) found.push("? for a minute, an hour or a month");
  const both = (one, other) => /^\*$|^\?$/.test(one) === false && /\*(\/1)?(,|$)/.test(one) && !/^[*?]$/.test(other);
  if (both(dayOfMonth, dayOfWeek) || both(dayOfWeek, dayOfMonth)) found.push("* with a step of 1 or in a list of days");
  if (/(^|,)\w+\/\d/.test(dayOfWeek)) found.push("a step from a weekday");
  if (/-(0|sun)(\D|$)/i.test(dayOfWeek)) found.push("a range of weekdays up to sunday");
  return found;
}

export function cases(random, count) {
  const all = [];
  for (const text of FIXED) all.push(one(text, "", Date.UTC(2021, 5, 15, 12)));
  for (const zone of ZONES.slice(1)) {
    // Around both changes of the clocks in the northern and in the southern half of the world.
    for (const text of ["30 2 * * *", "0 * * * *", "*/20 1-3 * * *", "30 1 * * *", "15 0 * * *"]) {
      for (const at of ["2018-03-10", "2018-03-24", "2018-03-31", "2018-09-29", "2018-10-06", "2018-10-27", "2018-11-03"]) {
        all.push(one(text, zone, Date.parse(at)));
      }
    }
  }
  for (let i = 0; i < count; ++i) {
    const text = written(random);
    const start = Date.UTC(2005 + random.below(20), random.below(12), 1 + random.below(28), random.below(24), random.below(60));
    all.push(one(random.once(6) ? random.damaged(text, "0123456789*/-,? ") : text, random.pick(ZONES), start));
  }
  return all;
}

function one(text, zone, from) {
  const name = `${text}${zone === "" ? "" : ` in ${zone}`} after ${new Date(from).toISOString()}`;
  return { name, text, zone, from, classes: classes(text) };
}

function written(random) {
  const field = (least, most) => {
    const value = () => least + random.below(most - least + 1);
    const range = () => {
      const [a, b] = [value(), value()].sort((x, y) => x - y);
      return `${a}-${b}`;
    };
    const entry = () => random.pick([() => String(value()), () => String(value()), range, () => `${range()}/${1 + random.below(9)}`, () => `*/${2 + random.below(9)}`])();
    if (random.once(2)) return "*";
    return random.once(3) ? `${entry()},${value()}` : entry();
  };
  return [field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6)].join(" ");
}

export async function compare({ text, zone, from }, probe) {
  const ours = await probe.ask({ kind, text: zone === "" ? text : `CRON_TZ=${zone} ${text}`, from, count: TICKS });
  const theirs = read(text, zone === "" ? "UTC" : zone, from);
  if (ours.ok === undefined || theirs.ok === undefined) {
    return { ours, theirs, classes: /duplicate values/.test(theirs.error) ? ["a value twice in a list"] : [] };
  }
  // Both lists up to the time that both have reached.
  const until = Math.min(ours.ok.at(-1), theirs.ok.at(-1), HORIZON);
  const clipped = (ticks) => ticks.filter((tick) => tick <= until);
  const [mine, others] = [clipped(ours.ok), clipped(theirs.ok)];
  const far = (ticks) => JSON.stringify(ticks.filter((tick) => !isNearChange(tick, zone)));
  const differsAtChange = zone !== "" && JSON.stringify(mine) !== JSON.stringify(others) && far(mine) === far(others);
  return { ours: { ok: shown(mine) }, theirs: { ok: shown(others) }, classes: differsAtChange ? ["a change of the clocks"] : [] };
}

function shown(ticks) {
  return ticks.map((tick) => new Date(tick).toISOString());
}

/** Whether the clocks of a zone change within 36 hours of a time. */
function isNearChange(tick, zone) {
  const offset = (at) => DateTime.fromMillis(at, { zone }).offset;
  return offset(tick - 36 * 3600000) !== offset(tick + 36 * 3600000);
}

function read(text, tz, from) {
  const ticks = [];
  try {
    const schedule = CronExpressionParser.parse(text, { currentDate: new Date(from), tz });
    while (ticks.length < TICKS) ticks.push(schedule.next().getTime());
  } catch (error) {
    // The library gives up after many steps without a tick; the ticks before it count.
    if (ticks.length === 0) return { error: error.message };
  }
  return { ok: ticks };
}

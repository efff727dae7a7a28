// Times as people read them, by the clock of the server.
import { signal } from '@preact/signals'
import { isUtc } from './settings'

/** Milliseconds by which the server's clock is ahead of the browser's; from the stream's `hello`. */
export const clockOffset = signal(0)
/** The server's time, to the second; changes once a second while the page is seen. */
export const now = signal(Date.now())

setInterval(() => {
  if (!document.hidden) now.value = Date.now() + clockOffset.value
}, 1000)

/**
 * Notes the time of the server, in RFC 3339, which it wrote after the browser asked at `askedAt`. The
 * answer may have been long under way, so only a difference that this does not explain is noted.
 */
export function noteServerTime(text: string, askedAt: number): void {
  const time = Date.parse(text)
  const [least, most] = [time - Date.now(), time - askedAt]
  clockOffset.value = least > 0 ? least : Math.min(most, 0)
  now.value = Date.now() + clockOffset.value
}

const kUnits: Array<[string, number]> = [['d', 86_400_000], ['h', 3_600_000], ['m', 60_000], ['s', 1000]]

/** A length of time in its two largest units: "1 d 23 h", "3 m 12 s", "3.1 s", "12 ms". */
export function duration(milliseconds: number): string {
  const length = Math.abs(milliseconds)
  if (length < 1000) return `${Math.round(length)} ms`
  if (length < 10_000) return `${(length / 1000).toFixed(1)} s`
  const first = kUnits.findIndex(([, size]) => length >= size)
  const [unit, size] = kUnits[first] ?? ['s', 1000]
  const count = Math.floor(length / size)
  const next = kUnits[first + 1]
  const rest = next ? Math.floor((length % size) / next[1]) : 0
  return next && rest > 0 ? `${count} ${unit} ${rest} ${next[0]}` : `${count} ${unit}`
}

/** A time relative to now: "3 m 12 s ago", "in 1 d 23 h". */
export function relative(text: string, from: number): string {
  const distance = Date.parse(text) - from
  if (Math.abs(distance) < 1000) return 'now'
  return distance < 0 ? `${duration(Math.floor(-distance / 1000) * 1000)} ago` : `in ${duration(Math.floor(distance / 1000) * 1000)}`
}

/** The milliseconds of a length of time ("24h"); null: the text is none. */
function lengthOf(text: string | null): number | null {
  const match = /^(\d+)([mhd])$/.exec(text ?? '')
  return match ? Number(match[1]) * { m: 60_000, h: 3_600_000, d: 86_400_000 }[match[2] as 'm' | 'h' | 'd'] : null
}

/** Of which day a time of day alone is: the latest that is over, the first that comes, or that of today. */
type Day = 'last' | 'next' | 'today'

/** The day of a time of day in a filter: "before 23:59" is before that of today, also if it comes; "since 23:59" is since the last one. */
export function dayIn(filter: string): Day {
  return /until$/i.test(filter) ? 'today' : 'last'
}

/** A time of day ("06:00"), or a date with it ("2026-11-30 14:47"), in the zone that the page shows, in milliseconds; null: the text is none. */
function localTime(text: string, day: Day): number | null {
  const match = /^(?:(\d{4}-\d\d-\d\d)[T ])?(\d\d?:\d\d(?::\d\d)?)$/.exec(text)
  if (match === null) return null
  const time = (match[2] ?? '').replace(/^\d:/, '0$&')
  const on = (day: string): number => Date.parse(`${day}T${time}${isUtc.value ? 'Z' : ''}`)
  const today = parts(new Date(now.peek())).day
  const at = on(match[1] ?? today)
  // A day such as 30 February, and the hour 24, are of another day.
  if (Number.isNaN(at) || parts(new Date(at)).day !== (match[1] ?? today)) return null
  if (match[1] !== undefined || day === 'today' || (day === 'next' ? at > now.peek() : at <= now.peek())) return at
  return on(new Date(Date.parse(today) + (day === 'next' ? kDay : -kDay)).toISOString().slice(0, 10))
}

const kDay = 86_400_000

/** A time of a filter as the address has it: in UTC, so that it is the same in another browser; lengths and other texts as they are. */
export function storedTime(text: string, day: Day = 'last'): string {
  const at = localTime(text, day)
  return at === null ? text : `${new Date(at).toISOString().slice(0, 19)}Z`
}

/** A time of the address as it can be typed, in the zone that the page shows; other texts as they are. */
export function typedTime(text: string): string {
  if (!kRfc3339.test(text) || !Date.parse(text) || Date.parse(text) % 1000 !== 0) return text
  const { day, time } = parts(new Date(text))
  return `${day} ${time.slice(0, time.slice(6, 8) === '00' ? 5 : 8)}`
}

const kRfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i

/** A length before now ("24h"), or a time without a zone, as a time; other texts as they are. */
export function timeOf(text: string | null, day: Day = 'last'): string | null {
  const length = lengthOf(text)
  // To the minute, so that the same filter is the same request for a while.
  return length === null ? text && storedTime(text, day) : new Date(Math.floor((now.peek() - length) / 60_000) * 60_000).toISOString()
}

/** A length after now ("24h"), or a time without a zone, as a time; other texts as they are. */
export function comingTimeOf(text: string | null): string | null {
  const length = lengthOf(text)
  // To the minute, so that the same filter is the same request for a while.
  return length === null ? text && storedTime(text, 'next') : new Date(Math.ceil((now.peek() + length) / 60_000) * 60_000).toISOString()
}

/** What is wrong with the text of a time in a filter: it is one in RFC 3339 or without a zone, or a length; empty: nothing. */
export function timeMistake(text: string): string {
  if (text === '' || lengthOf(text) !== null || localTime(text, 'last') !== null || (kRfc3339.test(text) && Date.parse(text))) return ''
  const { day, time } = parts(new Date(now.peek()))
  return `“${text}” is not a time: expected is one such as ${time.slice(0, 5)}, ${day} ${time.slice(0, 5)} or ${new Date(now.peek()).toISOString().slice(0, 19)}Z, or a length such as 24h`
}

/** The forms in which a moment is written. */
const kForms = {
  date: { day: 'numeric', month: 'short', year: 'numeric' },
  dateOfThisYear: { day: 'numeric', month: 'short' },
  whole: { dateStyle: 'full', timeStyle: 'long' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>

/** By form and zone: a formatter takes a hundred times longer to make than to use, and a list has some for each row. */
const formatters = new Map<string, Intl.DateTimeFormat>()

/** A moment in a form, in UTC or in the zone of the browser; "Invalid Date" if it is none. */
function written(date: Date, form: keyof typeof kForms): string {
  if (Number.isNaN(date.getTime())) return 'Invalid Date'
  // A formatter keeps the zone in which it was made; that of the browser may change.
  const key = `${form} ${isUtc.value ? 'UTC' : new Date().getTimezoneOffset()}`
  let formatter = formatters.get(key)
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat('en-GB', { ...(isUtc.value ? { timeZone: 'UTC' } : {}), ...kForms[form] })
    formatters.set(key, formatter)
  }
  return formatter.format(date)
}

/** The date and the time of day of a moment as RFC 3339 writes them, in UTC or in the zone of the browser. */
function parts(date: Date): { day: string; time: string } {
  const local = isUtc.value ? date : new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  const [day = '', time = ''] = local.toISOString().split('T')
  return { day, time }
}

/** The time of day, with the date unless it is today. A list has many: formatters would take most of the time that it is drawn in. */
export function clock(text: string, withMilliseconds = false): string {
  const date = new Date(text)
  if (Number.isNaN(date.getTime())) return 'Invalid Date'
  const { day, time } = parts(date)
  const today = parts(new Date(now.peek())).day
  const shown = time.slice(0, withMilliseconds ? 12 : 8)
  if (day === today) return shown
  return `${written(date, day.slice(0, 4) === today.slice(0, 4) ? 'dateOfThisYear' : 'date')} ${shown}`
}

/** The absolute time, complete. */
export function absolute(text: string): string {
  return isUtc.value ? text : `${written(new Date(text), 'whole')} (${text})`
}

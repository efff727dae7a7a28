// JSON whose numbers keep their digits: a number that a double cannot hold stays as its text.

/** A number of a JSON text whose digits a double would change. */
export class ExactNumber {
  constructor(readonly text: string) {}
  toJSON(): unknown {
    const raw = (JSON as unknown as { rawJSON?: (text: string) => unknown }).rawJSON
    return raw ? raw(this.text) : Number(this.text)
  }
}

type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown

const keepDigits: Reviver = (_key, value, context) => {
  if (typeof value !== 'number' || context?.source === undefined || String(value) === context.source) return value
  return Number.isSafeInteger(value) && Number(context.source) === value ? value : new ExactNumber(context.source)
}

/** The value of a JSON text; throws a SyntaxError if it is not JSON. */
export function parseJson(text: string): unknown {
  return JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown)
}

/** A JSON text with two spaces of indentation; numbers keep their digits. */
export function prettyJson(value: unknown, indent = ''): string {
  if (value instanceof ExactNumber) return value.text
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    const inner = `${indent}  `
    return `[\n${value.map((item) => inner + prettyJson(item, inner)).join(',\n')}\n${indent}]`
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value)
    if (entries.length === 0) return '{}'
    const inner = `${indent}  `
    return `{\n${entries.map(([key, item]) => `${inner}${JSON.stringify(key)}: ${prettyJson(item, inner)}`).join(',\n')}\n${indent}}`
  }
  return JSON.stringify(value) ?? 'null'
}

/** A JSON text on one line, cut after `limit` characters. */
export function shortJson(value: unknown, limit = 160): string {
  const text = value instanceof ExactNumber ? value.text : (JSON.stringify(value) ?? '')
  return text.length > limit ? `${text.slice(0, limit)}…` : text
}

/** One difference of two JSON values: the path of a member, and its values; undefined: absent. */
export interface Difference {
  path: string
  before: unknown
  after: unknown
}

/** The members in which two JSON values differ, by path, in the order of the first value. At most `limit`. */
export function differences(before: unknown, after: unknown, limit = 500): Difference[] {
  const found: Difference[] = []
  compare('', before, after, found, limit)
  return found
}

function compare(path: string, before: unknown, after: unknown, found: Difference[], limit: number): void {
  if (found.length >= limit) return
  if (isContainer(before) && isContainer(after) && Array.isArray(before) === Array.isArray(after)) {
    const first = before as Record<string, unknown>
    const second = after as Record<string, unknown>
    for (const key of new Set([...Object.keys(first), ...Object.keys(second)])) {
      const step = Array.isArray(before) ? `[${key}]` : /^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
      compare(path + step, first[key], second[key], found, limit)
    }
  } else if (prettyJson(before) !== prettyJson(after) || (before === undefined) !== (after === undefined)) {
    found.push({ path: path || '.', before, after })
  }
}

function isContainer(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !(value instanceof ExactNumber)
}

// What became of the compensations of each state, as the records of an instance tell it. Pure.
import type { HistoryRecord } from '../api'

/** The kinds of records that the compensations of an instance write. */
export const kUndoKinds: string[] = ['noted', 'compensating', 'undoing', 'undone', 'compensationStopped']
/** The kinds of records that `compensationsOf` reads. */
export const kReadKinds: string[] = [...kUndoKinds, 'ended', 'continued', 'revived']

/** What became of a compensation, the most urgent first. */
export const kOutcomes = ['failed', 'making', 'stopped', 'noted', 'done', 'passed'] as const
export type Outcome = (typeof kOutcomes)[number]

export interface Compensation {
  /** From 1; one that is noted after others were made has a number again. */
  number: number
  state: string
  function: string
  is: Outcome
  /** When it became so. */
  at: string
}

interface Detail {
  number?: number
  function?: string
  past?: number
  status?: string
  how?: string
}

/** Plays the records, oldest first, and returns the compensations that they name, in the order in which they were noted. */
export function compensationsOf(records: HistoryRecord[]): Compensation[] {
  let all: Compensation[] = []
  /** Those of them that are neither made nor passed over. */
  let left: Compensation[] = []
  const add = (one: Compensation): Compensation => { all.push(one); left.push(one); return one }
  const set = (one: Compensation | undefined, is: Outcome, { time }: HistoryRecord): void => {
    if (!one) return
    one.is = is
    one.at = time
    if (is === 'done' || is === 'passed') left.splice(left.lastIndexOf(one), 1)
  }
  for (const record of records) {
    const { number = 0, function: name = '', past, status, how } = (record.detail ?? {}) as Detail
    const find = (wanted: number | undefined): Compensation | undefined => left.findLast((one) => one.number === wanted)
    const noted = (): Compensation => add({ number, state: record.state ?? '', function: name, is: 'noted', at: record.time })
    if (record.kind === 'noted') noted()
    // The record of the note may be older than those that are known.
    if (record.kind === 'undoing') set(find(number) ?? noted(), 'making', record)
    if (record.kind === 'undone') set(find(number) ?? noted(), 'done', record)
    if (record.kind === 'compensating') set(find(past), 'passed', record)
    if (record.kind === 'compensationStopped') set(left.findLast((one) => one.is === 'making'), 'stopped', record)
    if (record.kind === 'ended' && status === 'complete') {
      // An instance that completes drops those that are left.
      const dropped = new Set(left)
      all = all.filter((one) => !dropped.has(one))
      left = []
    }
    // The run that begins has done nothing yet.
    if (record.kind === 'continued' || (record.kind === 'revived' && how === 'restart')) [all, left] = [[], []]
  }
  return all
}

const kShort: Record<Outcome, string> = { failed: 'undo failed', making: 'being undone', stopped: 'undo stopped', noted: 'noted', done: 'undone', passed: 'passed over' }

/** For each state that has compensations, the most urgent of what became of them. `hasFailed`: the one that was made last has failed for good. */
export function undoNotes(records: HistoryRecord[], hasFailed: boolean): Map<string, string> {
  const all = compensationsOf(records)
  const last = all.filter((one) => one.is === 'stopped').at(-1)
  if (hasFailed && last) last.is = 'failed'
  const notes = new Map<string, string>()
  for (const outcome of [...kOutcomes].reverse()) {
    for (const state of new Set(all.filter((one) => one.is === outcome).map((one) => one.state))) {
      const number = all.filter((one) => one.is === outcome && one.state === state).length
      notes.set(state, number > 1 ? `${kShort[outcome]} (${number})` : kShort[outcome])
    }
  }
  return notes
}

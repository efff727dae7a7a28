// The progress of an action on many things: how many are done, how many were refused and why, and a button that stops it.
import { useState } from 'preact/hooks'
import { ApiError } from '../core/client'
import { count } from './basics'

/** One of the things, and why the server has left it as it is. */
export interface Refused {
  id: string
  detail: string
}

/** So many refusals are named; the others are counted. */
const kMostNamed = 1000

/** One run of an action: its requests, one after the other, add what each has done, and no further one is sent when it is stopped. */
export class Progress {
  done = 0
  refused: Refused[] = []
  isStopped = false
  isEnded = false

  constructor(private readonly changed: () => void) {}

  add(done: number, refused: Refused[] = []): void {
    this.done += done
    this.refused.push(...refused)
    this.changed()
  }

  stop(): void {
    this.isStopped = true
    this.changed()
  }

  /** Waits for `work`, and returns what came of it: "Done 212, refused 0", or with the word for what was done "212 retried". Throws ApiError with the reasons if something was refused; `name` is that of the call. */
  async resultOf(work: Promise<void>, name: string, word?: string): Promise<string> {
    try {
      await work
    } finally {
      this.isEnded = true
      this.changed()
    }
    const refused = this.refused.length
    const result = `${word === undefined ? `Done ${this.done}, refused ${refused}` : `${count(this.done)} ${word}${refused > 0 ? `, ${count(refused)} refused` : ''}`}${this.isStopped ? ', stopped' : ''}`
    if (this.refused.length === 0) return result
    const more = refused - kMostNamed
    const mistakes = this.refused.slice(0, kMostNamed).map(({ id, detail }) => ({ path: id, message: detail }))
    throw new ApiError(409, 'page.refused', `${result}. These were refused${more > 0 ? `, and ${count(more)} more` : ''}:`, name, mistakes)
  }
}

/** The progress of the latest run, null before the first, and a function that begins another. */
export function useProgress(): [Progress | null, () => Progress] {
  const [progress, setProgress] = useState<Progress | null>(null)
  const [, setRound] = useState(0)
  return [progress, () => {
    const next = new Progress(() => setRound((round) => round + 1))
    setProgress(next)
    return next
  }]
}

export function ProgressLine({ progress }: { progress: Progress | null }) {
  if (progress === null) return null
  return (
    <p role="status">
      done {count(progress.done)}, refused {count(progress.refused.length)}
      {progress.isEnded ? '' : progress.isStopped ? ', stops after the current request' : <> <button type="button" class="small" onClick={() => progress.stop()}>Stop</button></>}
    </p>
  )
}

// Long lists in two portions: first the rows that a window has room for, then, when the browser has time, the others.
import { useEffect, useState } from 'preact/hooks'
import { useBusy } from './busy'

/** So many rows are drawn first; a high window has room for them. */
const kFirst = 40
/** The others are drawn after so many milliseconds at the latest. */
const kLongest = 200

/** Calls `work` when the browser has time; returns what cancels it. */
function whenIdle(work: () => void): () => void {
  // Safari has no idle callbacks.
  if (typeof requestIdleCallback !== 'function') {
    const timer = setTimeout(work)
    return () => clearTimeout(timer)
  }
  const handle = requestIdleCallback(work, { timeout: kLongest })
  return () => cancelIdleCallback(handle)
}

/** How many of `length` rows to draw now: all but at first. The page is busy until all are drawn. */
export function usePortion(length: number): number {
  const [isWhole, setWhole] = useState(false)
  const isCut = !isWhole && length > kFirst
  useBusy(isCut)
  useEffect(() => (isCut ? whenIdle(() => setWhole(true)) : undefined), [isCut])
  return isCut ? kFirst : length
}

// What the trials of a source and of an inbound webhook have in common: a question of which only the newest answer counts, and the event
// that something would become.
import { useRef, useState } from 'preact/hooks'
import type { SourceTried } from '../api'
import { call } from '../core/client'
import { prettyJson } from '../core/json'
import { href } from '../core/route'
import { InstanceLink, Status, WorkflowLink } from '../ui/basics'
import { Verdict } from '../ui/judged'

export interface Trial<T> {
  tried: T | null
  error: Error | null
  isAsking: boolean
  /** Asks; an answer to an earlier question does not count any more. */
  ask: (options: { body?: string; contentType?: string }) => Promise<void>
  /** Shows no answer. */
  clear: () => void
  /** Shows nothing, also not the answer to a question that was asked already. */
  forget: () => void
  /** Shows why nothing can be asked. */
  refuse: (error: Error) => void
}

/** Asks with POST at a path. `isAskedFirst`: the part asks as soon as it is shown. */
export function useTrial<T>(path: string, isAskedFirst = false): Trial<T> {
  const [tried, setTried] = useState<T | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const [isAsking, setAsking] = useState(isAskedFirst)
  const latest = useRef(0)
  return {
    tried,
    error,
    isAsking,
    ask: async (options) => {
      latest.current += 1
      const mine = latest.current
      setAsking(true)
      setError(null)
      try {
        const answer = await call<T>('POST', path, options)
        if (mine === latest.current) setTried(answer)
      } catch (failure) {
        if (mine === latest.current) { setTried(null); setError(failure as Error) }
      }
      if (mine === latest.current) setAsking(false)
    },
    clear: () => setTried(null),
    forget: () => { latest.current += 1; setTried(null); setError(null); setAsking(false) },
    refuse: setError,
  }
}

type Event = Record<string, unknown>
type Effects = Pick<SourceTried['items'][number], 'would' | 'duplicate' | 'similarTypes'>

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The event that something would become, what it would start or wake, and the whole of it. `of`: what it is of, for its label. */
export function MadeEvent({ ns, item, event, of }: { ns: string; item: Effects & { cut?: boolean }; event: Event; of: string }) {
  return (
    <>
      <p>event <b>{text(event.type)}</b> with the id <span class="mono">{text(event.id)}</span></p>
      <Would ns={ns} item={item} event={event} />
      <details><summary>The event</summary>{item.cut && <p class="quiet">The data of a large event is not shown.</p>}<pre class="data" tabIndex={0} aria-label={`The event of ${of}`}>{prettyJson(event)}</pre></details>
    </>
  )
}

/** What the event would start or wake, and which types are listened for if nothing. */
function Would({ ns, item, event }: { ns: string; item: Effects; event: Event }) {
  const would = item.would ?? []
  const { specversion: _version, id: _id, time: _time, type, source, data: _data, data_base64: _bytes, ...attributes } = event
  if (item.duplicate) return <p>It would be dropped as a duplicate: an event with this source and id had an effect before.</p>
  return (
    <>
      {would.length > 0
        ? <ul class="plain" aria-label="It would have these effects">{would.map((one) => <li>{one.verdict === 'paused' ? <Status status="paused" /> : <Verdict verdict={one.verdict} />} <WorkflowLink ns={ns} id={one.workflow} />{one.instance && <> <InstanceLink ns={ns} id={one.instance} /></>}</li>)}</ul>
        : <p>No start and no waiting instance would take it. <a href={href(ns, ['events', 'try'], { type: text(type), source: text(source), attributes: JSON.stringify(attributes) })}>Which nearly would?</a></p>}
      {item.similarTypes && item.similarTypes.length > 0 && <p class="notes">Similar types that are listened for: {item.similarTypes.map((one) => <><a href={href(ns, ['waiting'], { type: one })}>{one}</a> </>)}</p>}
    </>
  )
}

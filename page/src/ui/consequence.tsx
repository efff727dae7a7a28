// What a timer does, by its kind, and what it causes.
import type { ComponentChildren } from 'preact'
import type { Firings } from '../api'
import { InstanceLink } from './basics'

type Firing = Firings['items'][number]

/** The kinds of timers, as rows and filters name them. */
export const kFiringKinds: Record<Firing['kind'], string> = {
  stateTimeout: 'timeout of the state', delay: 'end of a delay', retry: 'next attempt', interrupt: 'interrupt', kill: 'end by the kill timeout', runTimeout: 'timeout of the run',
  executionTimeout: 'timeout of the execution', call: 'next attempt or timeout of a call', queueTimeout: 'end of the wait for a slot', throttleTimeout: 'end of the wait for the throttle', delayedEvent: 'delayed event', lifespan: 'end of a lifespan', tick: 'tick of a schedule', pendingStart: 'start put off by debounce or batch', throttle: 'turn of a throttle',
}

const kEnds: Record<NonNullable<Firing['ends']>, string> = { complete: 'completes', failed: 'fails', timedout: 'times out', cancelled: 'is cancelled' }

/** The members of an item that say what its timer causes. */
export type Caused = { causes: Firing['causes'] } & Pick<Firing, 'then' | 'error' | 'ends' | 'compensates' | 'caller'>

function ends(ns: string, { ends: status, error, compensates, caller }: Caused): ComponentChildren {
  if (!status) return null
  return (
    <>
      {kEnds[status]}{error && status !== 'complete' && <> with <code>{error}</code></>}{compensates && ' after its compensations'}
      {caller && <>; its caller <InstanceLink ns={ns} id={caller.instance} /> {caller.retries ? 'calls again' : 'gets the error'}</>}
    </>
  )
}

/** What follows, as the end of a sentence about the instance. */
export function Consequence({ ns, of }: { ns: string; of: Caused }) {
  switch (of.causes) {
    case 'state':
      return <b>{of.then}</b>
    case 'attempt':
      return <>another attempt of <b>{of.then}</b></>
    case 'run':
      return <>another run{of.then && <>, from <b>{of.then}</b></>}</>
    case 'end':
      return <>{ends(ns, of)}</>
    case 'call':
      return <>a call is made again, or times out</>
    case 'depends':
      return <>depends on the data, or on another timeout</>
    case 'event':
      return <>the event is published</>
    case 'expiry':
      return <>an event leaves its group</>
    case 'start':
      return <>an instance starts</>
    case 'handOut':
      return <>a call is made</>
    default:
      return null
  }
}

// What an instance waits for now, until when, and what follows.
import { useEffect } from 'preact/hooks'
import type { EventContext, Instance, InstanceCalls, InstanceWhy } from '../api'
import { inNamespace } from '../core/client'
import { prettyJson } from '../core/json'
import { useGet, useInterval, useThrottle } from '../core/resource'
import { href } from '../core/route'
import { Clock, count, plural, Relative, Since, Timed } from '../ui/basics'
import { Consequence } from '../ui/consequence'
import { Icon } from '../ui/icons'
import { CallLimit, SlotOf, ThrottledBy, waitsForLimit } from '../ui/limits'

type Asked = Record<string, { equals?: string; pattern?: string }>

/** The values with which an event has what is asked of its attributes; undefined: it must match a pattern that is no plain text. */
export function valuesOf(context: EventContext = {}): Array<[string, string | undefined]> {
  return Object.entries(context as Asked).map(([name, { equals, pattern = '' }]) => [name, equals ?? (/^[\w .:/-]+$/.test(pattern) ? pattern : undefined)])
}

/** The address at which an event for a listener is tried: with the values that it asks for; the others are empty, with their patterns. */
export function tryHref(ns: string, type: string, context: EventContext | undefined, instance: string | undefined): string {
  const values = valuesOf(context)
  const patterns = values.flatMap(([name, value]) => (value === undefined ? [[name, (context as Asked)[name]?.pattern]] : []))
  return href(ns, ['events', 'try'], {
    instance, type, attributes: JSON.stringify(Object.fromEntries(values.map(([name, value = '']) => [name, value]))),
    patterns: patterns.length > 0 ? JSON.stringify(Object.fromEntries(patterns)) : null,
  })
}

/** What a listener asks of the attributes of an event. */
export function Context({ context }: { context: EventContext }) {
  return (
    <ul class="predicates">
      {Object.entries(context as Asked).map(([attribute, asks]) => (
        <li><Icon name="dot" /><b>{attribute}</b> {asks.equals === undefined ? <>matches <code>{asks.pattern}</code></> : <>is <code>{JSON.stringify(asks.equals)}</code></>}</li>
      ))}
    </ul>
  )
}

/** What a timer does, by its kind. */
export const kTimers: Record<NonNullable<Instance['timers']>[number]['kind'], string> = {
  stateTimeout: 'times out', delay: 'the delay ends', retry: 'next attempt', interrupt: 'is interrupted', kill: 'is ended', runTimeout: 'the run times out', executionTimeout: 'the execution times out', call: 'next attempt or timeout of a call', queueTimeout: 'gives up the wait for a slot', throttleTimeout: 'gives up the wait for the throttle',
}

/** Whether what follows the timer is more than its kind says. */
export function followsMore(kind: string): boolean {
  return kind !== 'call' && kind !== 'retry'
}

type Waits = NonNullable<Instance['waits']>

/** The calls of the state that have not ended. */
function CallWaits({ ns, instance, waits }: { ns: string; instance: Instance; waits: Waits }) {
  const calls = waits.flatMap((wait) => ('index' in wait ? [wait] : []))
  // Only Why says whether a worker has taken a task.
  const why = useGet<InstanceWhy>(calls.some((call) => call.status === 'scheduled' && !call.workflow) ? inNamespace(ns, 'instances', instance.id, 'why') : null)
  const soon = useThrottle(why.reload, 1000)
  useEffect(soon, [instance])
  const untaken = (why.data?.instance.waits ?? []).flatMap((wait) => ('for' in wait && wait.for === 'worker' && 'index' in wait ? [wait.index] : []))
  if (calls.length === 0) return null
  return (
    <>
      {calls.map((call) => (
        <p>waits for the {call.compensates ? 'compensation' : call.workflow ? 'subflow' : 'call'} <b>{call.function ?? call.index}</b>{call.attempt > 1 && `, attempt ${call.attempt}`}, {call.status} <span class="quiet"><Since at={call.since} /></span>{call.status === 'scheduled' && untaken.includes(call.index) && <>: <a href={href(ns, ['functions'])}>no worker has taken it</a></>}</p>
      ))}
      <p><a href={href(ns, ['instances', instance.id, 'calls'])}>all of its calls</a>{instance.moreWaits && `; ${instance.moreWaits} more have not ended`}</p>
    </>
  )
}

/** That a cancel waits for running tasks. */
export function Cancelling({ cancelling }: { cancelling: Instance['cancelling'] }) {
  if (!cancelling) return null
  return <p><Icon name="stop" /> a cancel was requested{cancelling.since && <> <Relative at={cancelling.since} /></>}; the instance ends when {plural(cancelling.tasks, 'running task')} {cancelling.tasks === 1 ? 'has' : 'have'} ended</p>
}

export function Now({ ns, instance }: { ns: string; instance: Instance }) {
  const all = instance.waits ?? []
  const waits = all.flatMap((wait) => ('type' in wait ? [wait] : []))
  return (
    <section class="panel" aria-labelledby="now-title">
      <h2 id="now-title">{instance.endedAt ? 'How it ended' : 'Now'}</h2>
      {instance.error && <p class="no"><Icon name="cross" /> <code>{instance.error.code}</code> <Timed text={instance.error.msg} /></p>}
      <Cancelling cancelling={instance.cancelling} />
      {instance.slot && <SlotOf ns={ns} workflow={instance.workflow} slot={instance.slot} />}
      {instance.throttled && <ThrottledBy ns={ns} workflow={instance.workflow} throttled={instance.throttled} />}
      {waits.map((wait) => (
        <div>
          <p>waits for <b>{wait.type}</b> <span class="quiet"><Since at={wait.since} /></span></p>
          <Context context={wait.context} />
        </div>
      ))}
      <CallWaits ns={ns} instance={instance} waits={all} />
      {!instance.endedAt && all.length === 0 && instance.status === 'waiting' && <p>waits for its <a href={href(ns, ['instances', instance.id, 'calls'])}>calls</a> or for a timer</p>}
      {(instance.callCounts?.scheduled ?? 0) > 0 && <WaitingCalls ns={ns} instance={instance} />}
      {instance.nextRetryAt && <p>next attempt <Relative at={instance.nextRetryAt} /></p>}
      {(instance.timers ?? []).length > 0 && (
        <dl class="facts">
          {(instance.timers ?? []).map((timer) => <><dt>{kTimers[timer.kind] ?? timer.kind}</dt><dd><Clock at={timer.at} />, <Relative at={timer.at} />{followsMore(timer.kind) && <>, then <Consequence ns={ns} of={timer} /></>}{timer.held && ' (does not fire while it is paused)'}</dd></>)}
        </dl>
      )}
      {instance.output !== undefined && <><h3>Output</h3><pre class="data" tabIndex={0} aria-label="Output">{prettyJson(instance.output)}</pre></>}
      {waits.length > 0 && (
        <p class="buttons">
          <a class="button" href={href(ns, ['instances', instance.id, 'why'])}>Why has nothing woken it?</a>
          <a class="button" href={tryHref(ns, waits[0]?.type ?? '', waits[0]?.context, instance.id)}>Send a test event…</a>
        </p>
      )}
    </section>
  )
}

/** So many calls are read, and so many of those that wait are shown. */
const kCallsRead = 100
const kCallsShown = 3

/** The first calls of the instance that wait for a slot or the throttle of their service. */
function WaitingCalls({ ns, instance }: { ns: string; instance: Instance }) {
  const calls = useGet<InstanceCalls>(inNamespace(ns, 'instances', instance.id, 'calls'), { limit: kCallsRead })
  useEffect(calls.reload, [instance])
  // Other instances take and give back the slots.
  useInterval(calls.reload, 5000)
  const waiting = (calls.data?.items ?? []).filter(waitsForLimit)
  return (
    <ul class="plain">
      {waiting.slice(0, kCallsShown).map((item) => <li key={item.index}><Icon name="wait" /> call {item.index} <CallLimit ns={ns} call={item} /></li>)}
      {waiting.length > kCallsShown && <li><a href={href(ns, ['instances', instance.id, 'calls'])}>Further calls</a> wait for a limit.</li>}
      {calls.data && calls.data.next !== null && <li class="quiet">Of the first {count(calls.data.items.length)} calls only; <a href={href(ns, ['instances', instance.id, 'calls'])}>Calls</a> lists all.</li>}
    </ul>
  )
}

// The actions on instances: for one, for those that are selected, or for all that a filter names.
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { InstanceHead, Instances, WorkflowGraph } from '../api'
import { ApiError, call, inNamespace, type Query } from '../core/client'
import { commandLine, forEach, httpCall, option, type Command } from '../core/commands'
import { useGet } from '../core/resource'
import { href } from '../core/route'
import { now } from '../core/time'
import { ActionDialog, type Said } from './dialog'
import { Clock, count, plural, Problem, shortId, Status } from './basics'
import { ProgressLine, useProgress, type Progress } from './progress'

export type Verb = 'pause' | 'resume' | 'cancel' | 'retry' | 'restart' | 'rerun' | 'compensate' | 'delete'

interface About {
  name: string
  done: string
  says: string
  /** What it says of several, if the words differ. */
  ofSeveral?: string
  statuses: string[]
  isDanger?: boolean
}

const kLive = ['pending', 'running', 'waiting']
export const kEnded = ['complete', 'failed', 'timedout', 'cancelled']

/** What each action does, and to instances of which statuses it applies. */
export const kVerbs: Record<Verb, About> = {
  pause: { name: 'Pause', done: 'paused', says: 'A paused instance begins no state and no attempt; events and answers for it are kept. The timeouts of its state do not fire, and restart in full with Resume. A delay keeps its end, and the timeouts of the run and of the execution still count.', statuses: kLive },
  resume: { name: 'Resume', done: 'resumed', says: 'A paused instance continues in its state, with the events and answers that came in the meantime. The timeouts of the state restart in full; a delay keeps its end, and ends at once if that has passed.', statuses: ['paused'] },
  cancel: { name: 'Cancel', done: 'cancelled', says: 'The instance ends as cancelled. This cannot be taken back; it can be started again by restart or rerun.', ofSeveral: 'The instances end as cancelled. This cannot be taken back; they can be started again by restart or rerun.', statuses: [...kLive, 'paused'], isDanger: true },
  retry: { name: 'Retry', done: 'retried', says: 'The same run continues: the failed state is tried again, with the data with which it was entered.', ofSeveral: 'The same run of each instance continues: its failed state is tried again, with the data with which it was entered.', statuses: ['failed', 'timedout'] },
  restart: { name: 'Restart', done: 'restarted', says: 'A new run begins at the first state, with the input of the instance.', ofSeveral: 'A new run of each instance begins at the first state, with its input.', statuses: kEnded },
  rerun: { name: 'Rerun from', done: 'run again', says: 'A new run begins at a state that you choose, with the data with which the instance last entered it.', ofSeveral: 'A new run of each instance begins at a state that you choose, with the data with which the instance last entered it.', statuses: kEnded },
  compensate: { name: 'Compensate', done: 'makes its compensations', says: 'No state is tried again: the compensations that are left are made, the newest first; then the status is what it was.', ofSeveral: 'No state is tried again: the compensations that are left of each instance are made, the newest first; then its status is what it was.', statuses: ['failed', 'timedout', 'cancelled'] },
  delete: { name: 'Delete', done: 'deleted', says: 'The instance is erased with its history. This cannot be taken back.', ofSeveral: 'The instances are erased with their histories. This cannot be taken back.', statuses: kEnded, isDanger: true },
}

/** The actions that run an ended instance again, or undo it. */
export const kAgain: Verb[] = ['retry', 'restart', 'rerun', 'compensate']

/** The actions that apply to an instance. */
export function verbsFor({ status, compensation }: Pick<InstanceHead, 'status' | 'compensation'>): Verb[] {
  return (Object.keys(kVerbs) as Verb[]).filter((verb) => kVerbs[verb].statuses.includes(status) && (verb !== 'compensate' || compensation !== undefined))
}

/** What is known of an ended instance that is to run again. */
export interface Again {
  /** The id of the failed state. */
  failed?: string
  /** The failed state, if it is an Error state: it raises its error each time. */
  raises?: string
  /** The state that `rerun` proposes. */
  from?: string
}

export interface Target {
  ids: string[]
  /** The rows that were selected, if the ids are theirs. */
  items?: InstanceHead[]
  /** How many others were selected, to which the action does not apply. */
  others?: number
  /** What the list of instances is asked for, in place of the ids, and its filters in words. */
  filter?: { query: Query; text: string }
  workflow?: string
  revision?: number
  /** `debounce` or `batch` has put off its start, so it is not there yet; this is its input or inputs. */
  putOff?: string
  /** Tasks that run, if known. */
  runningTasks?: number
  /** Whether a compensation has failed for good, which can be passed over; if known. */
  hasFailedCompensation?: boolean
  again?: Again
}

interface Choices {
  isNow: boolean
  isExtended: boolean
  from: string
  isPast: boolean
}

/** The parameters of an action. */
function queryOf(verb: Verb, choices: Choices): Query {
  return { now: verb === 'cancel' && choices.isNow, extend: verb === 'retry' && choices.isExtended, from: verb === 'rerun' ? choices.from : null, past: verb === 'compensate' && choices.isPast }
}

function commandOf(ns: string, verb: Verb, ids: string[], choices: Choices): Command {
  const flags = [verb === 'cancel' && choices.isNow && '--now', verb === 'retry' && choices.isExtended && '--extend', ...(verb === 'rerun' ? option('from', choices.from || 'STATE') : []), verb === 'compensate' && choices.isPast && '--past']
  const query = queryOf(verb, { ...choices, from: choices.from || 'STATE' })
  return {
    line: forEach(ids, (id) => commandLine(ns, 'instance', verb, id, ...flags)),
    http: forEach(ids, (id) => (verb === 'delete' ? httpCall('DELETE', inNamespace(ns, 'instances', id)) : httpCall('POST', inNamespace(ns, 'instances', id, verb), query))),
  }
}

/** The dialog of an action; `changed` is called when it has had an effect, `choose` when another one is chosen in its place. */
export function InstanceAction({ ns, verb, target, close, changed, choose }: { ns: string; verb: Verb; target: Target; close: () => void; changed: () => void; choose?: (verb: Verb) => void }) {
  const about = kVerbs[verb]
  const [choices, setChoices] = useState<Choices>({ isNow: false, isExtended: false, from: target.again?.from ?? '', isPast: false })
  const [progress, begin] = useProgress()
  const named = useNamed(ns, verb, target.filter?.query)
  const items = target.filter ? named.items : target.items
  const ids = target.filter ? named.items.map((item) => item.id) : target.ids
  const number = ids.length
  const graph = useGet<WorkflowGraph>(verb === 'rerun' && target.workflow ? inNamespace(ns, 'workflows', target.workflow, 'graph') : null, { revision: target.revision })
  const single = number === 1 && !target.filter
  const run = async (): Promise<string | Said> => {
    const links = resultLinks(ns, verb, items, target.filter !== undefined)
    const end = links.length > 0 ? ':' : ''
    // Some may be done when a request fails.
    try {
      if (single) await runOne(ns, verb, ids[0] ?? '', choices)
      else return { text: `${await runSteps(begin())}${end}`, links }
    } finally {
      changed()
    }
    return { text: `Instance ${end ? '' : `${ids[0]} `}${about.done}${end}`, links }
  }
  const runSteps = (steps: Progress): Promise<string> => steps.resultOf(runEach(ns, verb, ids, choices, steps), `POST …/instances/ID/${verb}`, verb === 'compensate' ? 'make their compensations' : about.done)
  const command = useMemo(() => (named.isLoading ? null : commandOf(ns, verb, ids, choices)), [named, verb, choices])
  const what = single ? `${about.name.toLowerCase()} ${target.workflow ?? 'instance'} ${target.ids[0]}` : `${about.name.toLowerCase()} ${named.isLoading ? 'instances' : plural(number, 'instance')}`
  return (
    <ActionDialog
      title={`${what[0]?.toUpperCase()}${what.slice(1)}?`}
      label={about.name === 'Rerun from' ? 'Rerun' : about.name}
      isDanger={about.isDanger}
      isReady={number > 0 && !named.isLoading && (verb !== 'rerun' || choices.from !== '')}
      mustType={!named.isLoading && number > kMostUntyped ? number : undefined}
      command={command}
      run={run}
      close={() => { progress?.stop(); close() }}
    >
      <p>{target.putOff ? `The instance has not started: the start is dropped with ${target.putOff}, and no instance will have this id.` : (!single && about.ofSeveral) || about.says}{kAgain.includes(verb) && ` ${single ? 'The' : 'Each'} instance keeps the revision with which it started.`}</p>
      {target.others ? <p class="notes">{about.name} applies to {about.statuses.join(', ')} only: {plural(target.others, 'other instance')} that {target.others === 1 ? 'is' : 'are'} selected {target.others === 1 ? 'stays as it is' : 'stay as they are'}.</p> : null}
      {named.error && <Problem error={named.error} />}
      {target.filter && <p>{named.isLoading ? `The instances are counted: ${count(number)} so far.` : <>{named.isCut ? `The first ${count(number)}` : 'All'} that the filter ({target.filter.text}) named at <Clock at={named.at} />, with the status {statusesOf(verb, target.filter.query).replaceAll(',', ' or ')}. The action is for these only: an instance that fits later stays as it is.{named.isCut && ' More fit: when this is done, repeat it for them.'}</>}</p>}
      {items && <Named items={items} />}
      {verb === 'cancel' && target.putOff === undefined && (
        <>
          <p>{target.runningTasks === undefined ? 'Tasks that run are let finish' : target.runningTasks === 0 ? 'No task runs now; one that starts is let finish' : `${plural(target.runningTasks, 'task')} ${target.runningTasks === 1 ? 'runs and is' : 'run and are'} let finish`}; <em>now</em> stops them.</p>
          <label><input type="checkbox" checked={choices.isNow} onChange={(event) => setChoices({ ...choices, isNow: event.currentTarget.checked })} /> Now: stop the running tasks</label>
        </>
      )}
      {verb === 'retry' && !target.again && <p class="notes">If the failed state of an instance is an Error state, its retry raises the same error again. To run other states, choose {kVerbs.rerun.name} or {kVerbs.restart.name}.</p>}
      {verb === 'retry' && target.again?.raises && <Raises state={target.again.raises} choose={choose} />}
      {verb === 'retry' && <label><input type="checkbox" checked={choices.isExtended} onChange={(event) => setChoices({ ...choices, isExtended: event.currentTarget.checked })} /> Restart the execution timeout, if it has passed</label>}
      {verb === 'compensate' && target.hasFailedCompensation !== false && (
        <label><input type="checkbox" checked={choices.isPast} onChange={(event) => setChoices({ ...choices, isPast: event.currentTarget.checked })} /> Past the failed one: the newest compensation, which has failed, is not made, because what it undoes is undone already</label>
      )}
      {verb === 'rerun' && <StateField ids={target.workflow && !graph.error ? graph.data?.states.map((state) => state.id) ?? [] : null} target={target} from={choices.from} set={(from) => setChoices({ ...choices, from })} />}
      <ProgressLine progress={progress} />
    </ActionDialog>
  )
}

/** So many instances are named in the dialog; the others are counted. */
const kMostNamed = 10

/** So many instances are linked when an action is done. */
const kMostLinked = 5

/** Where one sees what came of an action: the first instances, and what has ended since of all. */
function resultLinks(ns: string, verb: Verb, items: InstanceHead[] = [], isFilter = false): NonNullable<Said['links']> {
  if (verb === 'delete') return []
  const links = items.slice(0, kMostLinked).map(({ id }) => ({ href: href(ns, ['instances', id, 'story']), label: shortId(id) }))
  const isMore = isFilter || items.length > kMostLinked
  if (!isMore || !(kAgain.includes(verb) || verb === 'cancel')) return links
  return [...links, { href: href(ns, ['instances'], { endedSince: new Date(now.peek()).toISOString() }), label: 'those that have ended since' }]
}

/** The instances that an action is for. */
function Named({ items }: { items: InstanceHead[] }) {
  return (
    <ul aria-label="Instances">
      {items.slice(0, kMostNamed).map((item) => <li><code>{item.id}</code> {item.workflow}, <Status status={item.status} /></li>)}
      {items.length > kMostNamed && <li>and {count(items.length - kMostNamed)} more</li>}
    </ul>
  )
}

/** An action on more instances asks for their number. */
const kMostUntyped = 100

/** An action is for so many instances at most. */
const kMostAtOnce = 10_000

/** What a filter names: read once, when the dialog is opened. */
interface Named {
  items: InstanceHead[]
  /** When all were read. */
  at: string
  isCut: boolean
  isLoading: boolean
  error?: Error
}

/** The instances that a filter names and to which an action applies. Each is read, because an action by the filter would also be for those that fit it later. */
function useNamed(ns: string, verb: Verb, query: Query | undefined): Named {
  const [named, setNamed] = useState<Named>({ items: [], at: '', isCut: false, isLoading: query !== undefined })
  useEffect(() => {
    if (query === undefined) return undefined
    const control = new AbortController()
    const items: InstanceHead[] = []
    const read = async (cursor: string | null): Promise<void> => {
      const page = await call<Instances>('GET', inNamespace(ns, 'instances'), { query: { ...query, status: statusesOf(verb, query), limit: 1000, cursor }, abort: control.signal })
      items.push(...page.items.filter((item) => verbsFor(item).includes(verb)))
      const isEnd = page.next === null || items.length >= kMostAtOnce
      setNamed({ items, at: new Date(now.peek()).toISOString(), isCut: page.next !== null, isLoading: !isEnd })
      if (!isEnd) await read(page.next)
    }
    read(null).catch((error: Error) => { if (error.name !== 'AbortError') setNamed((before) => ({ ...before, error })) })
    return () => control.abort()
  }, [])
  return named
}

/** What a retry of an Error state does, and what to do in its place. */
function Raises({ state, choose }: { state: string; choose?: (verb: Verb) => void }) {
  return (
    <p class="notes">
      The failed state {state} is an Error state: a retry raises the same error again. To run other states, choose {(['rerun', 'restart'] as const).map((verb, index) => <>{index > 0 && ' or '}<button type="button" class="small" onClick={() => choose?.(verb)}>{kVerbs[verb].name}…</button></>)} instead.
    </p>
  )
}

/** The state from which to run; `ids`: those of the workflow, null if they are not known. */
function StateField({ ids, target: { again }, from, set }: { ids: string[] | null; target: Target; from: string; set: (id: string) => void }) {
  if (ids === null) return <label>State<input value={from} required onInput={(event) => set(event.currentTarget.value)} /></label>
  return (
    <label>State<select value={from} required onChange={(event) => set(event.currentTarget.value)}>
      {[...new Set([from, ...ids])].map((id) => <option value={id}>{id}{id !== '' && id === again?.failed && ', the failed state'}</option>)}
    </select></label>
  )
}

/** The statuses that a filter names and to which an action applies, as a list; empty: it applies to none. */
export function statusesOf(verb: Verb, { status }: Query): string {
  const named = status ? String(status).split(',') : kVerbs[verb].statuses
  return named.filter((name) => kVerbs[verb].statuses.includes(name)).join(',')
}

async function runOne(ns: string, verb: Verb, id: string, choices: Choices): Promise<void> {
  if (verb === 'delete') await call('DELETE', inNamespace(ns, 'instances', id))
  else await call('POST', inNamespace(ns, 'instances', id, verb), { query: queryOf(verb, choices) })
}

/** So many requests of an action run at once: the server makes their changes durable together. */
const kAtOnce = 4

async function runEach(ns: string, verb: Verb, ids: string[], choices: Choices, progress: Progress): Promise<void> {
  const left = ids.values()
  let hasFailed = false
  const work = async (): Promise<void> => {
    for (const id of left) {
      if (progress.isStopped || hasFailed) return
      try {
        await runOne(ns, verb, id, choices)
        progress.add(1)
      } catch (error) {
        if (!(error instanceof ApiError) || error.status === 0 || error.status >= 500) {
          hasFailed = true
          throw error
        }
        progress.add(0, [{ id, detail: error.detail }])
      }
    }
  }
  await Promise.all(Array.from({ length: kAtOnce }, work))
}

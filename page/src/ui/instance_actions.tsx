// The actions on instances: for one, for those that are selected, or for all that a filter names.
import { useState } from 'preact/hooks'
import type { InstanceCounts, InstanceHead, Instances, InstancesChanged, InstancesDeleting, WorkflowGraph } from '../api'
import { ApiError, call, inNamespace, type Query } from '../core/client'
import { commandLine, httpCall, option, type Command } from '../core/commands'
import { useGet } from '../core/resource'
import { href } from '../core/route'
import { now } from '../core/time'
import { ActionDialog, type Said } from './dialog'
import { count, kStatuses, plural, shortId, Status } from './basics'
import { ProgressLine, useProgress, type Progress } from './progress'

export type Verb = 'pause' | 'resume' | 'cancel' | 'retry' | 'restart' | 'rerun' | 'compensate' | 'delete'

interface About {
  name: string
  done: string
  says: string
  statuses: string[]
  isDanger?: boolean
}

const kLive = ['pending', 'running', 'waiting']
export const kEnded = ['complete', 'failed', 'timedout', 'cancelled']

/** What each action does, and to instances of which statuses it applies. */
export const kVerbs: Record<Verb, About> = {
  pause: { name: 'Pause', done: 'paused', says: 'A paused instance begins no state and no attempt; events and answers for it are kept. The timeouts of its state do not fire, and restart in full with Resume. A delay keeps its end, and the timeouts of the run and of the execution still count.', statuses: kLive },
  resume: { name: 'Resume', done: 'resumed', says: 'A paused instance continues in its state, with the events and answers that came in the meantime. The timeouts of the state restart in full; a delay keeps its end, and ends at once if that has passed.', statuses: ['paused'] },
  cancel: { name: 'Cancel', done: 'cancelled', says: 'The instance ends as cancelled. This cannot be taken back; it can be started again by restart or rerun.', statuses: [...kLive, 'paused'], isDanger: true },
  retry: { name: 'Retry', done: 'retried', says: 'The same run continues: the failed state is tried again, with the data with which it was entered.', statuses: ['failed', 'timedout'] },
  restart: { name: 'Restart', done: 'restarted', says: 'A new run begins at the first state, with the input of the instance.', statuses: kEnded },
  rerun: { name: 'Rerun from', done: 'run again', says: 'A new run begins at a state that you choose, with the data with which the instance last entered it.', statuses: kEnded },
  compensate: { name: 'Compensate', done: 'makes its compensations', says: 'No state is tried again: the compensations that are left are made, the newest first; then the status is what it was.', statuses: ['failed', 'timedout', 'cancelled'] },
  delete: { name: 'Delete', done: 'deleted', says: 'The instance is erased with its history. This cannot be taken back.', statuses: kEnded, isDanger: true },
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
  /** All that the filter names, in place of the ids. */
  filter?: { workflow: string | null; status: string | null; since: string | null }
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

function commandOf(ns: string, verb: Verb, target: Target, choices: Choices): Command {
  const flags = [verb === 'cancel' && choices.isNow && '--now', verb === 'retry' && choices.isExtended && '--extend', ...(verb === 'rerun' ? option('from', choices.from || 'STATE') : []), verb === 'compensate' && choices.isPast && '--past']
  const query = queryOf(verb, { ...choices, from: choices.from || 'STATE' })
  if (target.filter) {
    const { workflow, since } = target.filter
    // Without a status a cancellation also drops the starts that were put off, which the dialog does not name.
    const status = target.filter.status || verb === 'cancel' ? applicable(target.filter.status, kVerbs[verb].statuses) : null
    const isAll = !workflow && !status && !since
    const words = [...option('workflow', workflow), ...option('status', status), ...option('since', since), isAll && '--all']
    const http = verb === 'delete'
      ? httpCall('POST', inNamespace(ns, 'instances', 'delete'), {}, deleteBody(target))
      : httpCall('POST', inNamespace(ns, 'instances', verb), { ...query, workflow, status, since, all: isAll })
    return { line: commandLine(ns, 'instance', verb, ...words, ...flags), http }
  }
  const lines = target.ids.map((id) => commandLine(ns, 'instance', verb, id, ...flags))
  const calls = target.ids.map((id) => (verb === 'delete' ? httpCall('DELETE', inNamespace(ns, 'instances', id)) : httpCall('POST', inNamespace(ns, 'instances', id, verb), query)))
  return { line: lines.join('\n'), http: calls.join('\n') }
}

function deleteBody({ filter }: Target): { workflow?: string; status: string[] } {
  const statuses = filter?.status ? filter.status.split(',').filter((status) => kEnded.includes(status)) : kEnded
  return { ...(filter?.workflow ? { workflow: filter.workflow } : {}), status: statuses }
}

/** The dialog of an action; `changed` is called when it has had an effect, `choose` when another one is chosen in its place. */
export function InstanceAction({ ns, verb, target, close, changed, choose }: { ns: string; verb: Verb; target: Target; close: () => void; changed: () => void; choose?: (verb: Verb) => void }) {
  const about = kVerbs[verb]
  const [choices, setChoices] = useState<Choices>({ isNow: false, isExtended: false, from: target.again?.from ?? '', isPast: false })
  const [progress, begin] = useProgress()
  const statuses = applicable(target.filter?.status ?? null, about.statuses)
  const refusal = refusalOf(verb, target, statuses)
  const filtered = useNumber(ns, target.filter, statuses)
  const graph = useGet<WorkflowGraph>(verb === 'rerun' && target.workflow ? inNamespace(ns, 'workflows', target.workflow, 'graph') : null, { revision: target.revision })
  const number = refusal ? 0 : target.filter ? filtered.number : target.ids.length
  const single = target.ids.length === 1 && !target.filter
  const run = async (): Promise<string | Said> => {
    const links = resultLinks(ns, verb, target)
    if (single) {
      await runOne(ns, verb, target.ids[0] ?? '', choices)
      changed()
      return { text: `Instance ${links.length > 0 ? `${about.done}:` : `${target.ids[0]} ${about.done}`}`, links }
    }
    // Some may be done when a request fails.
    try {
      return target.filter && verb === 'delete' ? await deleteFilter(ns, target) : { text: `${await runSteps(begin())}${links.length > 0 ? ':' : ''}`, links }
    } finally {
      changed()
    }
  }
  const runSteps = (steps: Progress): Promise<string> => {
    const work = target.filter ? runFilter(ns, verb, target, choices, about.statuses, steps) : runEach(ns, verb, target.ids, choices, steps)
    return steps.resultOf(work, `POST …/instances/${verb}`, verb === 'compensate' ? 'make their compensations' : about.done)
  }
  const what = single ? `${about.name.toLowerCase()} ${target.workflow ?? 'instance'} ${target.ids[0]}` : `${about.name.toLowerCase()} ${number === undefined ? 'instances' : `${filtered.isMost && !refusal ? 'at most ' : ''}${plural(number, 'instance')}`}`
  return (
    <ActionDialog
      title={`${what[0]?.toUpperCase()}${what.slice(1)}?`}
      label={about.name === 'Rerun from' ? 'Rerun' : about.name}
      isDanger={about.isDanger}
      isReady={refusal === null && !(target.filter && filtered.isLoading) && (verb !== 'rerun' || choices.from !== '')}
      mustType={!single && number !== undefined && number > kMostUntyped ? number : undefined}
      command={refusal === null ? commandOf(ns, verb, target, choices) : null}
      run={run}
      close={() => { progress?.stop(); close() }}
    >
      <p>{target.putOff ? `The instance has not started: the start is dropped with ${target.putOff}, and no instance will have this id.` : about.says}{kAgain.includes(verb) && ' The instance keeps the revision with which it started.'}</p>
      {refusal && <p class="notes">{refusal}</p>}
      {target.items && <Named items={target.items} />}
      {target.filter && <p>All that the filter names: {filterText(target.filter)}. Instances to which the action does not apply are left as they are.</p>}
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

/** Where one sees what came of an action: the first rows that were selected, and what has ended since of the others, or of all that the filter names. */
function resultLinks(ns: string, verb: Verb, { items = [], filter }: Target): NonNullable<Said['links']> {
  if (verb === 'delete') return []
  const links = items.slice(0, kMostLinked).map(({ id }) => ({ href: href(ns, ['instances', id, 'story']), label: shortId(id) }))
  const isMore = filter !== undefined || items.length > kMostLinked
  if (!isMore || !(kAgain.includes(verb) || verb === 'cancel')) return links
  return [...links, { href: href(ns, ['instances'], { workflow: filter?.workflow, endedSince: new Date(now.peek()).toISOString() }), label: 'those that have ended since' }]
}

/** The instances that were selected. */
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

/**
 * How many instances a filter names, of those to which an action applies; undefined: not known yet. The counts know nothing of starts, so
 * those that have started since a time are listed; `isMost`: there are too many for that, and the number is that of all starts.
 */
function useNumber(ns: string, filter: Target['filter'], statuses: string): { number?: number; isMost: boolean; isLoading: boolean } {
  const isOn = filter !== undefined && statuses !== ''
  const query = { workflow: filter?.workflow, status: statuses }
  const counts = useGet<InstanceCounts>(isOn ? inNamespace(ns, 'instances', 'count') : null, query)
  const since = filter?.since
  const list = useGet<Instances>(isOn && since ? inNamespace(ns, 'instances') : null, { ...query, since, limit: kMostUntyped + 1 })
  const isLoading = counts.isLoading || list.isLoading
  if (since && list.data?.next === null && list.data.complete) return { number: list.data.items.length, isMost: false, isLoading }
  const all = counts.data?.items.reduce((sum, item) => sum + item.count, 0)
  return { number: isLoading ? undefined : all, isMost: Boolean(since), isLoading }
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

/** Why an action cannot be applied to a filter; null: it can. */
function refusalOf(verb: Verb, target: Target, statuses: string): string | null {
  if (!target.filter) return null
  if (statuses === '') return `The filter names the status ${target.filter.status}; ${kVerbs[verb].name} applies to ${kVerbs[verb].statuses.join(', ')} only.`
  if (verb === 'delete' && target.filter.since) return 'Deletion by a filter cannot be bounded by the start: drop “Started”, or select instances.'
  return null
}

/** The statuses of a filter to which an action applies, as a list; empty: it applies to none. */
function applicable(status: string | null, statuses: string[]): string {
  const named = status ? status.split(',') : statuses
  return named.filter((name) => statuses.includes(name)).join(',')
}

export function filterText(filter: { workflow: string | null; status: string | null; since: string | null }): string {
  const parts = [filter.workflow && `workflow ${filter.workflow}`, filter.status && `status ${filter.status}`, filter.since && `started since ${filter.since}`].filter(Boolean)
  return parts.length > 0 ? parts.join(', ') : `all instances of the namespace (${kStatuses.join(', ')})`
}

async function runOne(ns: string, verb: Verb, id: string, choices: Choices): Promise<void> {
  if (verb === 'delete') await call('DELETE', inNamespace(ns, 'instances', id))
  else await call('POST', inNamespace(ns, 'instances', id, verb), { query: queryOf(verb, choices) })
}

async function runEach(ns: string, verb: Verb, ids: string[], choices: Choices, progress: Progress): Promise<void> {
  for (const id of ids) {
    if (progress.isStopped) return
    try {
      await runOne(ns, verb, id, choices)
      progress.add(1)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status === 0 || error.status >= 500) throw error
      progress.add(0, [{ id, detail: error.detail }])
    }
  }
}

/** The server deletes all that a filter names after one request, which it answers at once. */
async function deleteFilter(ns: string, target: Target): Promise<string> {
  const answer = await call<InstancesDeleting>('POST', inNamespace(ns, 'instances', 'delete'), { body: deleteBody(target) })
  return answer.deleting ? 'The instances are being deleted' : 'No ended instance fits the filter'
}

async function runFilter(ns: string, verb: Verb, target: Target, choices: Choices, statuses: string[], progress: Progress): Promise<void> {
  const { workflow, status, since } = target.filter ?? { workflow: null, status: null, since: null }
  let cursor: string | null = null
  do {
    const answer: InstancesChanged = await call<InstancesChanged>('POST', inNamespace(ns, 'instances', verb), {
      query: { workflow, status: applicable(status, statuses), since, limit: 100, cursor, ...queryOf(verb, choices) },
    })
    progress.add(answer.done, answer.refused)
    cursor = answer.next
  } while (cursor !== null && !progress.isStopped)
}

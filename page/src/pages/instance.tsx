// One instance: what it waits for, why it has not gone on, what will happen next, what can be done.
// The record of the address (`at`) is the one at which graph and data are shown.
import { useEffect, useState } from 'preact/hooks'
import type { Instance, WorkflowGraph } from '../api'
import { inNamespace } from '../core/client'
import { commandLine, httpCall } from '../core/commands'
import { useLive } from '../core/live'
import { useGet, useInterval, useThrottle } from '../core/resource'
import { href, navigate, route, setQuery } from '../core/route'
import { Graph, kEnd, makesManyCalls, type CallsEnded } from '../graph/graph'
import { Clock, CopyButton, count, EventIdLink, InstanceLink, Loaded, Page, plural, Relative, Status, WorkflowLink } from '../ui/basics'
import { CopyAsCommand } from '../ui/dialog'
import { Icon } from '../ui/icons'
import { InstanceAction, kVerbs, verbsFor, type Again, type Verb } from '../ui/instance_actions'
import { againOf } from '../instance/again'
import { Calls, Children, Variables } from '../instance/parts'
import { DataTab } from '../instance/data'
import { Now } from '../instance/now'
import { Run } from '../instance/run'
import { Save } from '../instance/save'
import { Story, useStory, type StoryRecord, type StoryState } from '../instance/story'
import { compensationsOf, kReadKinds, undoNotes } from '../instance/undo'
import { lazy } from './lazy'
import { kInstanceTabs } from './places'
import type { PageProps } from '.'

const Compensations = lazy<{ ns: string; instance: Instance; last: number }>(async () => (await import('../instance/compensations')).Compensations, 'h2')
const WhyTab = lazy<{ ns: string; instance: Instance; records: StoryRecord[]; again: Again; choose: (verb: Verb) => void }>(async () => (await import('../instance/why')).WhyTab, 'h2')

export function InstancePage({ ns, parts }: PageProps) {
  const id = parts[1] ?? ''
  const tab = parts[2] ?? 'story'
  const path = inNamespace(ns, 'instances', id)
  const instance = useGet<Instance>(path)
  const [verb, setVerb] = useState<Verb | null>(null)
  const soon = useThrottle(instance.reload, 150)
  const story = useStory(ns, id, instance.data?.historyTrimmed)
  const isKnown = instance.data !== undefined && story.isReady
  useLive(isKnown ? { ns, topics: [`instance:${id}`], after: story.first } : null, {
    history: (message) => {
      if (message.instance !== id) return
      story.append(message.items)
      soon()
    },
  })
  useLive({ ns, topics: ['instances'] }, { instances: ({ items }) => { if (items.some((item) => item.id === id)) soon() } })
  // Other instances take and give back the slots for which it waits.
  useInterval(instance.reload, 5000, instance.data?.slot?.queued === true || instance.data?.throttled !== undefined)
  const workflow = instance.data?.workflow
  const graph = useGet<WorkflowGraph>(workflow ? inNamespace(ns, 'workflows', workflow, 'graph') : null, { revision: instance.data?.revision })
  const at = route.value.query.get('at') === null ? null : Number(route.value.query.get('at'))
  return (
    <Page
      title={`Instance ${id}`}
      back={{ href: href(ns, ['instances']), label: 'Instances' }}
      heading={<>{instance.data && <><WorkflowLink ns={ns} id={instance.data.workflow} revision={instance.data.revision} />{' '}</>}<span class="mono">{id}</span></>}
      actions={<>
        <CopyButton text={id} label="Copy the id" />
        {instance.data && <Actions instance={instance.data} choose={setVerb} ns={ns} />}
        <CopyAsCommand command={{ line: commandLine(ns, 'instance', 'get', id), http: httpCall('GET', path) }} />
      </>}
    >
      <Loaded resource={instance} ns={ns}>{(data) => (
        <>
          <Facts ns={ns} instance={data} />
          <div class="columns">
            <Now ns={ns} instance={data} />
            <section class="panel" aria-labelledby="graph-title">
              <h2 id="graph-title">Graph{at !== null && ` at record ${at}`}</h2>
              <Loaded resource={graph} ns={ns}>{(value) => <InstanceGraph ns={ns} graph={value} instance={data} story={story} at={at} />}</Loaded>
            </section>
          </div>
          {hasCompensations(data, story) && <Compensations ns={ns} instance={data} last={Math.max(story.first, story.items.findLast((record) => kReadKinds.includes(record.kind))?.number ?? 0)} />}
          <nav aria-label="Parts of the instance"><ul class="tabs">
            {kInstanceTabs.map((name) => <li><a href={href(ns, ['instances', id, name], { at })} aria-current={tab === name ? 'page' : undefined}>{name[0]?.toUpperCase()}{name.slice(1)}{badge(name, data)}</a></li>)}
          </ul></nav>
          {tab === 'story' && <Story ns={ns} instance={data} story={story} at={at} />}
          {tab === 'data' && <DataTab ns={ns} instance={data} at={at} last={story.last} />}
          {tab === 'why' && <WhyTab ns={ns} instance={data} records={story.items} again={againOf(data, graph.data, story.items)} choose={setVerb} />}
          {tab === 'calls' && <Calls ns={ns} instance={data} />}
          {tab === 'children' && <Children ns={ns} id={id} />}
          {tab === 'variables' && <Variables ns={ns} id={id} />}
          {story.last > 1 && (tab === 'story' || tab === 'data') && <Slider last={story.last} first={story.oldest} at={at} />}
          {verb && (
            <InstanceAction key={verb} ns={ns} verb={verb} choose={setVerb} target={{ ids: [id], again: againOf(data, graph.data, story.items), workflow: data.workflow, revision: data.revision, runningTasks: data.callCounts?.running ?? 0, hasFailedCompensation: data.compensation?.error !== undefined }} close={() => setVerb(null)}
              changed={() => { if (verb === 'delete') navigate(href(ns, ['instances'])); else instance.reload() }} />
          )}
        </>
      )}</Loaded>
    </Page>
  )
}

/** Whether compensations are left, or the records that are loaded say that some were made. */
function hasCompensations(instance: Instance, story: StoryState): boolean {
  return instance.compensation !== undefined || compensationsOf(story.items).some((one) => one.is !== 'noted')
}

function badge(name: string, instance: Instance): string {
  const sum = (counts: Record<string, number> | undefined): number => Object.values(counts ?? {}).reduce((total, value) => total + value, 0)
  // The calls of the states before are gone.
  if (name === 'calls') return `: ${count(sum({ ...instance.callCounts, complete: 0, failed: 0 }))} open`
  if (name === 'children') return ` ${count(sum(instance.children?.counts))}${instance.children?.complete === false ? '+' : ''}`
  return ''
}

function Actions({ ns, instance, choose }: { ns: string; instance: Instance; choose: (verb: Verb) => void }) {
  return (
    <>
      {verbsFor(instance).map((verb) => <button type="button" title={kVerbs[verb].says} onClick={() => choose(verb)}>{kVerbs[verb].name}…</button>)}
      <Save ns={ns} instance={instance} />
    </>
  )
}

function Facts({ ns, instance }: { ns: string; instance: Instance }) {
  return (
    <p>
      <Status status={instance.status} /> {instance.endedAt ? <>in {instance.state}{instance.failedState !== undefined && instance.failedState !== instance.state && ` after ${instance.failedState} failed`}, ended <Relative at={instance.endedAt} /></> : <>in <b>{instance.state}</b></>}
      <span class="quiet"> · <Run key={instance.run} ns={ns} instance={instance} />{instance.attempt > 1 && `, attempt ${instance.attempt}`} · {plural(instance.transitions, 'transition')} · started <Clock at={instance.startedAt} exact /></span>
      <StartedBy ns={ns} by={instance.startedBy} />
      {instance.key && <span class="quiet"> · key <code>{instance.key}</code></span>}
      {instance.correlation && <span class="quiet"> · correlation <code>{instance.correlation}</code></span>}
      {instance.parent && <span class="quiet"> · parent <InstanceLink ns={ns} id={instance.parent} /></span>}
      {instance.sealed && <span class="quiet"> · <Icon name="lock" /> sealed by its definition</span>}
      {instance.historyTrimmed && <span class="quiet"> · the oldest {plural(instance.historyTrimmed, 'record')} of the history were trimmed</span>}
    </p>
  )
}

/** What started an instance, as the detail of its first record has it. */
function StartedBy({ ns, by }: { ns: string; by: unknown }) {
  const detail = by as { by?: string; event?: { id?: string; type?: string } } | undefined
  if (!detail?.by) return null
  return <span class="quiet"> · started by {detail.by} {detail.event?.type} {detail.event?.id && <EventIdLink ns={ns} id={detail.event.id} />}</span>
}

/** How many calls of the state have ended, if it makes many, by the id of the state; of a record, the numbers are not known. */
function callsEnded(graph: WorkflowGraph, { state, callCounts = {} }: Instance, at: number | null): Map<string, CallsEnded> {
  const total = Object.values(callCounts).reduce((sum, value) => sum + value, 0)
  const { complete = 0, failed = 0 } = callCounts
  const isMany = graph.states.some((one) => one.id === state && makesManyCalls(one))
  return new Map(at === null && isMany && total > 0 && state ? [[state, { ended: complete + failed, failed, total }]] : [])
}

/** The states that the records enter, and the end if the way to it was taken: not by an error that nothing caught. */
function visitedOf(records: StoryRecord[]): string[] {
  let hasRaised = false
  return records.flatMap(({ kind, state, detail }) => {
    hasRaised = kind === 'raised' || (hasRaised && kind !== 'entered')
    if (kind === 'entered' && state) return [state]
    const { status } = (detail ?? {}) as { status?: string }
    return kind === 'ended' && (status === 'complete' || (status === 'failed' && !hasRaised)) ? [kEnd] : []
  })
}

function InstanceGraph({ ns, graph, instance, story, at }: { ns: string; graph: WorkflowGraph; instance: Instance; story: StoryState; at: number | null }) {
  const records = story.items.filter((record) => at === null || record.number <= at)
  const visited = visitedOf(records)
  const current = at === null ? (instance.failedState ?? instance.state) : visited.findLast((state) => state !== kEnd) ?? null
  // The boxes have room for notes from the first moment on, so that none moves.
  const calls = graph.states.some(makesManyCalls) ? callsEnded(graph, instance, at) : undefined
  const notes = calls || graph.states.some((state) => state.undo) ? undoNotes(records, at === null && instance.compensation?.error !== undefined) : undefined
  const isBad = at === null && (instance.status === 'failed' || instance.status === 'timedout')
  return (
    <>
      <Graph graph={graph} current={current} isBad={isBad} visited={visited} notes={notes} calls={calls} status={at === null ? instance.status : undefined}
        open={(state) => navigate(href(ns, ['instances'], { workflow: instance.workflow, state }))} openLabel="lists the instances in it" />
      {story.hasOlder && <p class="quiet">Ways taken, and compensations, are those of the {story.items.length} records that are loaded.</p>}
    </>
  )
}

function Slider({ first, last, at }: { first: number; last: number; at: number | null }) {
  const [value, setValue] = useState(at ?? last)
  useEffect(() => setValue(at ?? last), [at, last])
  return (
    <div class="slider">
      <label for="at">Record</label>
      <input id="at" type="range" min={first} max={last} value={value} aria-valuetext={`record ${value} of ${last}`}
        onInput={(event) => { setValue(Number(event.currentTarget.value)); setQuery({ at: Number(event.currentTarget.value) }, true) }} />
      <span>{at === null ? 'now' : <><span class="mono">{at}</span> of {last} <button type="button" class="small" onClick={() => setQuery({ at: null }, true)}>Now</button></>}</span>
    </div>
  )
}

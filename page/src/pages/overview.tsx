// Counts by workflow and status, what asks for attention, the last hour, broker and store.
import { useState } from 'preact/hooks'
import type { Overview } from '../api'
import { inNamespace } from '../core/client'
import { commandLine, httpCall } from '../core/commands'
import { useLive, type WorkRates } from '../core/live'
import { useGet, useThrottle } from '../core/resource'
import { href, kServer } from '../core/route'
import { Rates } from '../chart/rates'
import { bytes, Clock, count, Empty, InstanceLink, kStatuses, Loaded, Page, plural, Relative, Status, WorkflowLink } from '../ui/basics'
import { Consequence } from '../ui/consequence'
import { CopyAsCommand } from '../ui/dialog'
import { Icon } from '../ui/icons'
import { Table } from '../ui/table'
import type { PageProps } from '.'

type Attention = Overview['attention'][number]

export function OverviewPage({ ns }: PageProps) {
  const path = inNamespace(ns, 'overview')
  const overview = useGet<Overview>(path)
  const [rates, setRates] = useState<WorkRates | null>(null)
  const soon = useThrottle(overview.reload, 3000)
  useLive({ ns, topics: ['counts', 'dead', 'levels'] }, {
    counts: ({ changed }) => {
      overview.update((before) => ({ ...before, counts: merged(before.counts, changed) }))
      soon()
    },
    dead: soon,
    levels: ({ rates: latest, ...levels }) => {
      setRates(latest ?? null)
      overview.update((before) => ({ ...before, levels }))
    },
  })
  return (
    <Page title={`Overview of ${ns}`} actions={<CopyAsCommand command={{ line: commandLine(ns, 'overview'), http: httpCall('GET', path) }} />}>
      <Loaded resource={overview} ns={ns}>{(data) => (
        <>
          <section class="panel" aria-labelledby="attention"><h2 id="attention">Asks for attention</h2><AttentionList ns={ns} overview={data} /></section>
          <section aria-labelledby="counts"><h2 id="counts">Instances by workflow</h2><Counts ns={ns} counts={data.counts as Cell[]} /><p class="quiet">exact, as of <Clock at={data.asOf} /></p></section>
          <section class="panel" aria-labelledby="hour"><h2 id="hour">The last hour of the server</h2><Rates /></section>
          <section class="panel" aria-labelledby="state"><h2 id="state">The server now</h2><ServerNow data={data} rates={rates} /></section>
        </>
      )}</Loaded>
    </Page>
  )
}

type Cell = [string, string, number]

/** Counts with the changes of a message of the stream. */
function merged(counts: Overview['counts'], changed: Cell[]): Overview['counts'] {
  const cells = new Map((counts as Cell[]).map((cell) => [`${cell[0]}\n${cell[1]}`, cell]))
  for (const cell of changed) {
    const key = `${cell[0]}\n${cell[1]}`
    if (cell[2] === 0) cells.delete(key)
    else cells.set(key, cell)
  }
  return [...cells.values()]
}

function Counts({ ns, counts }: { ns: string; counts: Cell[] }) {
  const workflows = [...new Set(counts.map(([workflow]) => workflow))].sort()
  const numbers = new Map(counts.map(([workflow, status, number]) => [`${workflow}\n${status}`, number]))
  if (workflows.length === 0) {
    return (
      <Empty command={commandLine(ns, 'run', 'WORKFLOW', '--input', '{}')}>
        <p>No instances. An instance starts by a call, by an event, or by a schedule; here they are counted by workflow and status.</p>
        <p>See <a href={href(ns, ['workflows'])}>the workflows</a>, or start one:</p>
      </Empty>
    )
  }
  const statuses = kStatuses.filter((status) => counts.some((cell) => cell[1] === status))
  return (
    <Table caption="Instances by workflow and status" items={workflows} keyOf={(workflow) => workflow} columns={[
      { name: 'Workflow', isHeader: true, cell: (workflow) => <WorkflowLink ns={ns} id={workflow} /> },
      ...statuses.map((status) => ({
        name: status,
        isNumber: true,
        cell: (workflow: string) => {
          const number = numbers.get(`${workflow}\n${status}`)
          return number ? <a href={href(ns, ['instances'], { workflow, status })} aria-label={`${number} ${status} of ${workflow}`}>{count(number)}</a> : <span class="quiet">0</span>
        },
      })),
    ]} />
  )
}

function AttentionList({ ns, overview }: { ns: string; overview: Overview }) {
  const { attention, cut } = overview
  return (
    <>
      {attention.length === 0 && <p class="ok"><Icon name="check" /> Nothing does: no failed or retrying instance, no dead letter, no service without workers, no wait that ends in five minutes.</p>}
      <ul class="plain attention">{attention.map((item) => <li><AttentionItem ns={ns} item={item} /></li>)}</ul>
      {cut.length > 0 && <p class="quiet">May be incomplete: {cut.map((item) => `${item.kind}${item.detail ? ` (${item.detail})` : ''}`).join(', ')}</p>}
    </>
  )
}

function AttentionItem({ ns, item }: { ns: string; item: Attention }) {
  const workflow = item.workflow ?? ''
  switch (item.kind) {
    case 'failed':
    case 'timedout':
      return <><Status status={item.kind} /> <a href={href(ns, ['instances'], { workflow, status: item.kind })}>{plural(item.count ?? 0, 'instance')} of {workflow}</a></>
    case 'compensationStopped':
      return <><span class="no"><Icon name="warning" /> compensations stopped</span> <a href={href(ns, ['instances'], { workflow, has: 'compensations' })}>{plural(item.count ?? 0, 'instance')} of {workflow}</a>: one has failed for good; make what is left</>
    case 'retrying':
      return <><span class="warning"><Icon name="clock" /> retrying</span> <InstanceLink ns={ns} id={item.instance ?? ''} /> of {workflow} in {item.state}; the next attempt is due {item.at && <Relative at={item.at} />}</>
    case 'deadline':
      return <><span class="warning"><Icon name="clock" /> deadline</span> <InstanceLink ns={ns} id={item.instance ?? ''} /> of {workflow} waits in the state <b>{item.state}</b> and times out {item.at && <Relative at={item.at} />}{item.causes && <>, then <Consequence ns={ns} of={{ ...item, causes: item.causes }} /></>}. <a href={href(ns, ['instances', item.instance ?? '', 'why'])}>Why is it waiting?</a></>
    case 'noWorkers':
      return <><span class="no"><Icon name="warning" /> no workers</span> <a href={href(ns, ['functions'])}>{item.service}</a>: {plural(item.count ?? 0, 'task')} {item.count === 1 ? 'waits' : 'wait'}, {item.running ?? 0} {item.running === 1 ? 'runs' : 'run'}{item.since && <>, the oldest since <Clock at={item.since} /></>}. Start workers for it.</>
    case 'incompleteGroups':
      return <><span class="warning"><Icon name="clock" /> incomplete groups</span> <a href={href(ns, ['groups'], { workflow })}>{plural(item.count ?? 0, 'group')} of {workflow}</a> {item.count === 1 ? 'waits' : 'wait'} for events of other types; no instance starts before they come.</>
    case 'pausedWorkflow':
      return <><Status status="paused" /> workflow <WorkflowLink ns={ns} id={workflow} /></>
    case 'pausedService':
      return <><Status status="paused" /> service <a href={href(ns, ['functions'])}>{item.service}</a></>
    case 'pausedSource':
      return <><Status status="paused" /> source <a href={href(ns, ['sources', item.source ?? ''])}>{item.source}</a></>
    case 'sourceWaits':
      return <><span class="no"><Icon name="warning" /> source waits</span> <a href={href(ns, ['sources', item.source ?? ''])}>{item.source}</a>: {item.detail}</>
    case 'settings':
      return <><span class="no"><Icon name="warning" /> settings</span> {item.detail} <a href={kServer}>Set them again</a></>
    case 'deadLetters':
      return <><span class="no"><Icon name="warning" /> dead letters</span> <a href={href(ns, ['dead'])}>{item.count === undefined ? item.detail : plural(item.count, 'dead letter')}</a></>
    case 'unknownNamespace':
      return <><span class="no"><Icon name="warning" /> unknown namespace</span> {plural(item.count ?? 0, 'event')} for {item.namespace}, which does not exist: <a href={href(item.namespace ?? '', ['dead'])}>the dead letters</a></>
    case 'server':
      return <><span class="no"><Icon name="warning" /> server</span> {item.detail} (<a href="readyz" target="_blank" rel="noreferrer">/readyz</a>)</>
  }
}

function ServerNow({ data, rates }: { data: Overview; rates: WorkRates | null }) {
  const { levels, broker, store } = data
  const yes = (is: boolean): string => (is ? 'yes' : 'no')
  return (
    <dl class="facts">
      <dt>Reads events</dt><dd>{yes(levels.readsEvents)}{broker.waitingFor && `, waits for ${broker.waitingFor}`}</dd>
      <dt>Sends events</dt><dd>{yes(levels.sendsEvents)}</dd>
      {rates && <><dt>In a second</dt><dd>{rates.events} events, {rates.started} starts, {rates.ended} ends, {rates.failed} failures</dd></>}
      <dt>Sends tasks</dt><dd>{yes(levels.runsTasks)}</dd>
      <dt>Tasks not sent yet</dt><dd>{count(levels.tasksUnsent)}</dd>
      <dt>HTTP calls of functions</dt><dd>{count(levels.httpRunning)} run, {count(levels.httpWaiting)} wait</dd>
      <dt>Evaluations</dt><dd>{count(levels.evaluationsRunning)} run, {count(levels.evaluationsWaiting)} wait, {levels.jqWorkers} jq workers</dd>
      <dt>Messages that the broker lost</dt><dd>{count(broker.losses)}{broker.losses > 0 && <> <a href={kServer}>which</a></>}</dd>
      {store && <><dt>Store</dt><dd>{bytes(store.usedBytes)} used of {bytes(store.dataBytes)}</dd></>}
    </dl>
  )
}

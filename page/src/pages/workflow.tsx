// One workflow: its live graph, its text, its revisions, and a form that starts an instance.
import { useMemo, useState } from 'preact/hooks'
import type { InstanceCounts, Workflow, WorkflowDeleted, WorkflowGraph, WorkflowPaused } from '../api'
import { call, inNamespace } from '../core/client'
import { commandLine, httpCall } from '../core/commands'
import { useLive } from '../core/live'
import { useGet, useInterval, useThrottle } from '../core/resource'
import { href, navigate, route } from '../core/route'
import { Graph } from '../graph/graph'
import { Clock, count, Loaded, Page, plural, Status } from '../ui/basics'
import { ActionDialog, CopyAsCommand } from '../ui/dialog'
import { Limits } from '../workflow/limits'
import { Revisions } from '../workflow/revisions'
import { Run } from '../workflow/run'
import { TextTab } from '../workflow/text'
import { Schedule } from '../workflow/schedule'
import type { PageProps } from '.'
import { kWorkflowTabs } from './places'
import { startOf } from './workflows'

export function WorkflowPage({ ns, parts }: PageProps) {
  const id = parts[1] ?? ''
  const tab = parts[2] ?? 'graph'
  const path = inNamespace(ns, 'workflows', id)
  const workflow = useGet<Workflow>(path)
  // The stream does not say that a revision was applied elsewhere.
  useInterval(workflow.reload, 5000, workflow.data !== undefined)
  const [action, setAction] = useState<'pause' | 'resume' | 'delete' | null>(null)
  const paused = workflow.data?.paused
  return (
    <Page title={`Workflow ${id}`} heading={<>{id}{workflow.data?.name && <span class="quiet"> {workflow.data.name}</span>}</>} back={{ href: href(ns, ['workflows']), label: 'Workflows' }} actions={<>
      {workflow.data && <>
        <a class="button" href={href(ns, ['workflows', id, 'run'])}>Run…</a>
        <a class="button" href={href(ns, ['instances'], { workflow: id })}>Instances</a>
        <button type="button" onClick={() => setAction(paused ? 'resume' : 'pause')}>{paused ? 'Resume…' : 'Pause…'}</button>
        <button type="button" onClick={() => setAction('delete')}>Delete…</button>
      </>}
      <CopyAsCommand command={{ line: commandLine(ns, 'workflow', 'get', id), http: httpCall('GET', path) }} />
    </>}>
      <Loaded resource={workflow} ns={ns}>{(data) => (
        <>
          <p><span class="quiet">revision {data.revision}, applied <Clock at={data.updatedAt} />, starts by {startOf(data)}</span> {data.paused && <Status status="paused" />}{data.description && <> <span class="quiet">·</span> {data.description}</>}</p>
          <nav aria-label="Parts of the workflow"><ul class="tabs">
            {kWorkflowTabs.map((name) => <li><a href={href(ns, ['workflows', id, name])} aria-current={tab === name ? 'page' : undefined}>{name[0]?.toUpperCase()}{name.slice(1)}{name === 'revisions' && ` ${data.revision}`}</a></li>)}
          </ul></nav>
          {tab === 'graph' && <LiveGraph ns={ns} id={id} newest={data.revision} />}
          {tab === 'graph' && data.start === 'scheduled' && <Schedule ns={ns} id={id} />}
          {tab === 'text' && <TextTab ns={ns} workflow={data} changed={workflow.reload} />}
          {tab === 'revisions' && <Revisions ns={ns} id={id} newest={data.revision} />}
          {tab === 'run' && <Run ns={ns} id={id} />}
        </>
      )}</Loaded>
      {action === 'delete' && <DeleteDialog ns={ns} id={id} close={() => setAction(null)} />}
      {(action === 'pause' || action === 'resume') && (
        <ActionDialog title={`${action === 'pause' ? 'Pause' : 'Resume'} the workflow ${id}?`} label={action === 'pause' ? 'Pause' : 'Resume'} close={() => setAction(null)}
          command={{ line: commandLine(ns, 'workflow', action, id), http: httpCall('POST', `${path}/${action}`) }}
          run={async () => { const answer = await call<WorkflowPaused>('POST', `${path}/${action}`); workflow.reload(); return `Workflow ${id} is ${answer.paused ? 'paused' : 'active'}; ${plural(answer.changed, 'instance')} changed` }}>
          <p>{action === 'pause' ? 'Its live instances are paused, and those that start are paused too. Events for them are kept.' : 'Its paused instances go on.'}</p>
        </ActionDialog>
      )}
    </Page>
  )
}

function LiveGraph({ ns, id, newest }: { ns: string; id: string; newest: number }) {
  const revision = Number(route.value.query.get('revision') ?? newest)
  const graph = useGet<WorkflowGraph>(inNamespace(ns, 'workflows', id, 'graph'), { revision })
  const counts = useGet<InstanceCounts>(inNamespace(ns, 'instances', 'count'), { by: 'revision,state,status', workflow: id, status: 'pending,running,waiting,paused' })
  const soon = useThrottle(counts.reload, 1000)
  useLive({ ns, topics: ['counts'], workflow: id }, { counts: soon })
  const notes = useMemo(() => notesOf(counts.data, revision), [counts.data, revision])
  const byRevision = new Map<number, number>()
  for (const item of counts.data?.items ?? []) byRevision.set(item.revision ?? 0, (byRevision.get(item.revision ?? 0) ?? 0) + item.count)
  return (
    <>
      <section class="panel" aria-labelledby="graph-title">
        <h2 id="graph-title">Graph of revision {revision}</h2>
        <p class="quiet">Live instances: {byRevision.size === 0 ? 'none' : [...byRevision].sort(([a], [b]) => b - a).map(([number, total]) => <><a href={href(ns, ['workflows', id, 'graph'], { revision: number })}>on revision {number}: {count(total)}</a> </>)}</p>
        <Loaded resource={graph} ns={ns}>{(data) => <Graph graph={data} notes={notes} open={(state) => navigate(href(ns, ['instances'], { workflow: id, state }))} openLabel="lists the instances in it" />}</Loaded>
      </section>
      {graph.data && <Limits ns={ns} graph={graph.data} />}
    </>
  )
}

/** How many live instances of a revision are in each state, by status. */
function notesOf(counts: InstanceCounts | undefined, revision: number): Map<string, string> {
  const notes = new Map<string, string>()
  for (const item of counts?.items ?? []) {
    if (item.revision !== revision || !item.state) continue
    const before = notes.get(item.state)
    notes.set(item.state, `${before ? `${before}, ` : ''}${item.count} ${item.status}`)
  }
  return notes
}

function DeleteDialog({ ns, id, close }: { ns: string; id: string; close: () => void }) {
  const [isCancelling, setCancelling] = useState(false)
  const [isDropping, setDropping] = useState(false)
  const path = inNamespace(ns, 'workflows', id)
  const drops = isCancelling && isDropping
  return (
    <ActionDialog title={`Delete the workflow ${id}?`} label="Delete" isDanger mustType={id} close={close} command={{ line: commandLine(ns, 'workflow', 'delete', id, isCancelling && '--cancel', drops && '--drop-compensations'), http: httpCall('DELETE', path, { cancel: isCancelling, dropCompensations: drops }) }}
      run={async () => { await call<WorkflowDeleted>('DELETE', path, { query: { cancel: isCancelling, dropCompensations: drops } }); navigate(href(ns, ['workflows'])); return `Workflow ${id} was deleted` }}>
      <p>All revisions are erased. This cannot be taken back. It is refused while instances are live, unless they are cancelled:</p>
      <label><input type="checkbox" checked={isCancelling} onChange={(event) => setCancelling(event.currentTarget.checked)} /> Cancel the live instances</label>
      {isCancelling && <label><input type="checkbox" checked={isDropping} onChange={(event) => setDropping(event.currentTarget.checked)} /> Make none of their compensations. Otherwise they are made first: delete again when they are done</label>}
    </ActionDialog>
  )
}

// The starts and the calls that wait for a limit, by its key: how many, which is next and when, and what holds the slots. And the
// starts that `debounce` or `batch` has put off, one by one.
import { useState } from 'preact/hooks'
import type { Queue, Queues, SlotHolder } from '../api'
import { inNamespace } from '../core/client'
import { commandLine, httpCall, option } from '../core/commands'
import { useLive } from '../core/live'
import { useInterval, useList, useThrottle } from '../core/resource'
import { href, route, setQuery } from '../core/route'
import { Clock, count, Empty, InstanceLink, Loaded, More, Page, plural, Relative, Since, WorkflowLink } from '../ui/basics'
import { CopyAsCommand } from '../ui/dialog'
import { FilterField, FilterForm } from '../ui/filter_field'
import { InstanceAction } from '../ui/instance_actions'
import { KeyOf, ServiceName } from '../ui/limits'
import { Table } from '../ui/table'
import type { PageProps } from '.'

/** So many keys are read at once. */
const kPage = 100

export function QueuesPage({ ns }: PageProps) {
  const { query } = route.value
  const workflow = query.get('workflow')
  const slotsOf = kOwners.find((owner) => query.get(`slots.${owner}`))
  const path = inNamespace(ns, 'queues')
  const [cancelled, setCancelled] = useState<Queue | null>(null)
  const list = useList<Queue, Queues>(path, { workflow, limit: kPage })
  // What "Older" has read stays.
  const isFirst = (list.data?.items.length ?? 0) <= kPage
  const soon = useThrottle(list.reload, 2000)
  useLive({ ns, topics: ['counts'] }, { counts: () => { if (isFirst) soon() } })
  // Calls get and give back slots without a change of the counts of instances.
  useInterval(list.reload, 5000, isFirst)
  return (
    <Page title="Queues" actions={<CopyAsCommand command={{ line: commandLine(ns, 'queue', 'list', ...option('workflow', workflow)), http: httpCall('GET', path, { workflow }) }} />}>
      <p class="quiet">Starts that wait for a slot or the throttle of their workflow, and calls that wait for those of their service, by key; and starts that <code>debounce</code> or <code>batch</code> has put off.</p>
      <FilterForm names={['workflow']}>
        <label>Workflow<FilterField size={16} value={workflow ?? ''} set={(text) => setQuery({ workflow: text })} /></label>
        {workflow && <span class="quiet">Only starts of this workflow, and no calls.</span>}
      </FilterForm>
      {slotsOf && <Holders key={String(query)} ns={ns} owner={slotsOf} name={query.get(`slots.${slotsOf}`) ?? ''} of={query.get('slots.key')} />}
      <Loaded resource={list} ns={ns}>{(data) => (data.items.length === 0 && data.next === null
        ? <NoQueues ns={ns} workflow={workflow} />
        : (
          <>
            <Table caption="Queues" items={data.items} keyOf={rowKey} columns={[
              { name: 'Workflow or service', isHeader: true, cell: (item) => <Of ns={ns} queue={item} /> },
              { name: 'Key', cell: (item) => <KeyOf value={item.key} /> },
              { name: 'Wait for', cell: (item) => kAwaited[item.reason] },
              { name: 'Waiting', isNumber: true, cell: (item) => <Waiting queue={item} /> },
              { name: 'Limit', cell: (item) => <LimitOf queue={item} /> },
              { name: 'Next', cell: (item) => <Next ns={ns} queue={item} cancel={setCancelled} /> },
              { name: 'May begin', cell: (item) => <Turn queue={item} /> },
              { name: 'Held by', cell: (item) => <Holder ns={ns} queue={item} /> },
            ]} />
            <More list={list} />
          </>
        ))}
      </Loaded>
      {cancelled && (
        <InstanceAction ns={ns} verb="cancel" target={{ ids: [cancelled.instance ?? ''], workflow: cancelled.workflow, putOff: cancelled.inputs === undefined ? 'its input' : plural(cancelled.inputs, 'input') }} close={() => setCancelled(null)} changed={list.reload} />
      )}
    </Page>
  )
}

const kAwaited: Record<Queue['reason'], string> = { concurrency: 'a slot', throttle: 'the throttle', debounce: 'the end of the debounce', batch: 'the end of the batch' }

/** Whether it is a start that was put off, and not a key for which starts or calls wait. */
function isPutOff(queue: Queue): boolean {
  return queue.reason === 'debounce' || queue.reason === 'batch'
}

/** One row for each limit and key, and for each start that was put off. */
function rowKey(item: Queue): string {
  return [item.kind, item.reason, item.workflow ?? item.service ?? item.image ?? '', item.global ? 'default' : '', JSON.stringify(item.key) ?? '', item.instance ?? ''].join(' ')
}

function Of({ ns, queue }: { ns: string; queue: Queue }) {
  if (queue.workflow) return <><span class="quiet">starts of</span> <WorkflowLink ns={ns} id={queue.workflow} /></>
  return <><span class="quiet">calls of</span> <ServiceName ns={ns} of={queue} /></>
}

function Waiting({ queue }: { queue: Queue }) {
  return <>{count(queue.queued)}{queue.paused !== undefined && <span class="quiet"> ({count(queue.paused)} paused)</span>}</>
}

/** How many slots are taken; of a throttle, what it permits. The workflow may have no limit any more. */
function LimitOf({ queue }: { queue: Queue }) {
  if (isPutOff(queue)) return queue.inputs === undefined ? <>–</> : <>{queue.maxSize === undefined ? plural(queue.inputs, 'input') : `${count(queue.inputs)} of ${plural(queue.maxSize, 'input')}`} so far</>
  if (queue.reason === 'throttle') return <span class="nowrap">{queue.limit === undefined ? '–' : `${count(queue.limit)} in ${queue.period ?? ''}`}</span>
  return <span class="nowrap">{count(queue.held ?? 0)}{queue.limit !== undefined && ` of ${count(queue.limit)}`} held</span>
}

function Next({ ns, queue, cancel }: { ns: string; queue: Queue; cancel: (queue: Queue) => void }) {
  const { next } = queue
  if (isPutOff(queue)) return <><span class="mono">{queue.instance}</span> <span class="quiet">waits <Since at={queue.since ?? ''} /></span> <button type="button" class="small" onClick={() => cancel(queue)}>Cancel…</button></>
  if (!next) return null
  return <>{next.instance ? <InstanceLink ns={ns} id={next.instance} /> : <span class="mono">{next.task}</span>} <span class="quiet">waits <Since at={next.since} />{next.priority !== 0 && `, priority ${next.priority}`}</span></>
}

/** From when on the limit permits the next one. */
function Turn({ queue }: { queue: Queue }) {
  if (queue.startsAt) return <><Clock at={queue.startsAt} />, <Relative at={queue.startsAt} />{queue.latestAt && <span class="quiet">; newer requests move it, until <Clock at={queue.latestAt} /> at the latest</span>}{queue.refusal && <span class="quiet" title={queue.refusal.msg}>, not permitted now: {queue.refusal.code}</span>}</>
  if (queue.workflowPaused) return <>after the resume of the workflow</>
  if (queue.servicePaused) return <>after the resume of the service</>
  if (queue.reason === 'concurrency') return <>when a slot is free{queue.holdersPaused && <span class="quiet">; all that hold one are paused</span>}</>
  return queue.nextAt ? <><Clock at={queue.nextAt} />, <Relative at={queue.nextAt} /></> : null
}

/** For what slots are: the names of the parameters of `queues/holders`. */
const kOwners = ['workflow', 'service', 'image'] as const

/** The address of this page with all holders of the key. A key that is not shown is not found by its value: then all holders of the workflow or service. */
function holdersOf(ns: string, queue: Queue): string {
  const owner = kOwners.find((one) => queue[one] !== undefined) ?? 'workflow'
  const key = queue.key === undefined || queue.key === '(sealed)' ? null : JSON.stringify(queue.key)
  return href(ns, ['queues'], { workflow: route.value.query.get('workflow'), [`slots.${owner}`]: queue[owner], 'slots.key': key })
}

/** All that holds slots of a workflow, a service or an image, by key, a page at a time. */
function Holders({ ns, owner, name, of }: { ns: string; owner: (typeof kOwners)[number]; name: string; of: string | null }) {
  const path = inNamespace(ns, 'queues', 'holders')
  const filter = { [owner]: name, key: of }
  const list = useList<SlotHolder>(path, { ...filter, limit: kPage })
  useInterval(list.reload, 5000, (list.data?.items.length ?? 0) <= kPage)
  return (
    <section class="panel" aria-labelledby="holders-title">
      <h2 id="holders-title">What holds the slots of {name}{of !== null && <> with the key <code>{of}</code></>}</h2>
      <p class="buttons">
        <button type="button" class="small" onClick={() => setQuery({ [`slots.${owner}`]: null, 'slots.key': null })}>Close</button>
        <CopyAsCommand command={{ line: commandLine(ns, 'queue', 'holders', ...option(owner, name), ...option('key', of)), http: httpCall('GET', path, filter) }} />
      </p>
      <Loaded resource={list} ns={ns}>{(data) => (data.items.length === 0 && data.next === null
        ? <p class="quiet">Nothing holds a slot now.</p>
        : (
          <>
            <Table caption="Holders" items={data.items} keyOf={(item) => `${item.instance ?? ''} ${item.task ?? ''}`} columns={[
              { name: 'Instance', isHeader: true, cell: (item) => (item.instance ? <InstanceLink ns={ns} id={item.instance} /> : <span class="mono">{item.task}</span>) },
              { name: 'Key', cell: (item) => <KeyOf value={item.key} /> },
              { name: 'Holds it since', cell: (item) => <><Clock at={item.since} />, <Relative at={item.since} /></> },
            ]} />
            <More list={list} />
          </>
        ))}
      </Loaded>
    </section>
  )
}

/** The oldest holder, and how many others there are, with a link to all. */
function Holder({ ns, queue }: { ns: string; queue: Queue }) {
  const { holder, held = 0 } = queue
  if (!holder) return null
  const others = held - 1
  return (
    <>
      {holder.instance ? <InstanceLink ns={ns} id={holder.instance} /> : <span class="mono">{holder.task}</span>} <span class="quiet"><Since at={holder.since} /></span>
      {others > 0 && <>, and <a href={holdersOf(ns, queue)}>{count(others)} more</a></>}
    </>
  )
}

function NoQueues({ ns, workflow }: { ns: string; workflow: string | null }) {
  if (workflow) return <Empty><p>No start of {workflow} waits for a slot or a throttle. Clear the filter to see those of all workflows, and the calls that wait.</p></Empty>
  return (
    <Empty command="millrace explain concurrency">
      <p>Nothing waits for a limit. A workflow may limit how many of its instances are active at once (<code>concurrency</code>) and how many begin in a time (<code>throttle</code>); a function may limit both of its calls.</p>
      <p>A start or call beyond a limit waits, and is here until its turn: with how many others it waits, which is next, and which <a href={href(ns, ['instances'])}>instance</a> holds a slot. The chapters “Concurrency”, “Throttle” and “Concurrency of calls” of docs/language.md describe the limits; so does:</p>
    </Empty>
  )
}

// The calls, children and variables of an instance.
import type { Instance, InstanceCalls, InstanceHead, Instances, Variables as VariableList } from '../api'
import { inNamespace, urlOf } from '../core/client'
import { commandLine } from '../core/commands'
import { useInterval, useList } from '../core/resource'
import { href } from '../core/route'
import { lazy } from '../pages/lazy'
import type { AcceptedCallsProps } from '../ui/accepted_calls'
import { bytes, Clock, Empty, InstanceLink, Loaded, More, plural, Relative, Status, Timed, WorkflowLink } from '../ui/basics'
import { progressColumns } from '../ui/call_progress'
import { CallLimit } from '../ui/limits'
import { Table } from '../ui/table'

type Call = InstanceCalls['items'][number]

const AcceptedCalls = lazy<AcceptedCallsProps>(async () => (await import('../ui/accepted_calls')).AcceptedCalls, 'h2')

/** How many calls of a state have which status, as a bar and as words. */
export function CallBar({ counts }: { counts: Record<string, number> | undefined }) {
  const entries = Object.entries(counts ?? {})
  const total = entries.reduce((sum, [, value]) => sum + value, 0)
  if (total === 0) return null
  const done = counts?.complete ?? 0
  return <p><progress max={total} value={done} aria-label="Calls that are complete" /> of {plural(total, 'call')}: {entries.map(([status, value]) => `${value} ${status}`).join(', ')}</p>
}

/** The timeout of a deadline as words: "schedule-to-start timeout". */
function timeoutOf(name: string): string {
  return `${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} timeout`
}

/** So many calls are read at once. */
const kCalls = 100

export function Calls({ ns, instance }: { ns: string; instance: Instance }) {
  const list = useList<Call, InstanceCalls>(inNamespace(ns, 'instances', instance.id, 'calls'), { limit: kCalls })
  const hasLimits = (list.data?.items ?? []).some((item) => item.slot ?? item.throttled)
  // Other instances take and give back the slots. What "Older" has read stays.
  useInterval(list.reload, 5000, hasLimits && (list.data?.items.length ?? 0) <= kCalls)
  return (
    <section aria-label="Calls">
      <CallBar counts={instance.callCounts} />
      <AcceptedCalls ns={ns} instance={instance.id} isPart changed={list.reload} />
      <Loaded resource={list} ns={ns}>{(data) => (data.items.length === 0
        ? <Empty><p>The instance has no calls now: those of an action, foreach or parallel state are here while the instance is in it. The story has <a href={href(ns, ['instances', instance.id, 'story'], { show: 'calls' })}>the records of all calls</a>.</p></Empty>
        : <>
          <Table caption="Calls of the state" items={data.items} keyOf={(item) => String(item.index)} columns={[
            { name: '#', isHeader: true, cell: (item) => item.index },
            { name: 'Function', cell: (item) => item.function },
            { name: 'Status', cell: (item) => <Status status={item.status} /> },
            { name: 'Attempt', isNumber: true, cell: (item) => item.attempt },
            { name: 'Next', cell: (item) => (item.nextRetryAt ? <>next attempt <Relative at={item.nextRetryAt} /></> : Object.entries(item.deadlines ?? {}).map(([name, at]) => <>{timeoutOf(name)} <Relative at={at} /> </>)) },
            ...progressColumns(data.items),
            ...(hasLimits ? [{ name: 'Limit', isWide: true, cell: (item: Call) => <CallLimit ns={ns} call={item} /> }] : []),
            { name: 'Last error', cell: (item) => item.lastError && <><code>{item.lastError.code}</code> {item.lastError.message} <Clock at={item.lastError.at} /></> },
            { name: 'Instance or task', cell: (item) => (item.instance ? <InstanceLink ns={ns} id={item.instance} /> : <span class="mono">{item.task}</span>) },
          ]} />
          <More list={list} />
        </>)}
      </Loaded>
    </section>
  )
}

export function Children({ ns, id }: { ns: string; id: string }) {
  const list = useList<InstanceHead, Instances>(inNamespace(ns, 'instances', id, 'children'), { limit: 100 })
  return (
    <section aria-label="Children">
      <Loaded resource={list} ns={ns}>{(data) => (data.items.length === 0 && data.next === null
        ? <Empty><p>This instance has started no other. An instance that a call of a subflow starts is here.</p></Empty>
        : <>
          <Table caption="Instances that its calls started" items={data.items} keyOf={(item) => item.id} columns={[
            { name: 'Instance', isHeader: true, cell: (item) => <InstanceLink ns={ns} id={item.id} /> },
            { name: 'Workflow', cell: (item) => <WorkflowLink ns={ns} id={item.workflow} revision={item.revision} /> },
            { name: 'Status', cell: (item) => <Status status={item.status} /> },
            { name: 'State', cell: (item) => item.state },
            { name: 'Started', cell: (item) => <Clock at={item.startedAt} /> },
            { name: 'Error', cell: (item) => item.error && <><code>{item.error.code}</code> <Timed text={item.error.msg} /></> },
          ]} />
          <More list={list} />
        </>)}
      </Loaded>
    </section>
  )
}

export function Variables({ ns, id }: { ns: string; id: string }) {
  const path = inNamespace(ns, 'instances', id, 'variables')
  const list = useList<VariableList['items'][number], VariableList>(path)
  return (
    <section aria-label="Variables">
      <p><a href={href(ns, ['values'], { instance: id })}>Set or delete variables of this instance</a></p>
      <Loaded resource={list} ns={ns}>{(data) => (data.items.length === 0
        ? <Empty command={commandLine(ns, 'variable', 'set', 'KEY', 'VALUE', '--instance', id)}><p>No variables of this instance. A state sets one, or:</p></Empty>
        : <>
          <Table caption="Variables of the instance" items={data.items} keyOf={(item) => item.key} columns={[
            { name: 'Key', isHeader: true, cell: (item) => <a href={urlOf(`${path}/${encodeURIComponent(item.key)}`)} download={item.key}>{item.key}</a> },
            { name: 'Type', cell: (item) => item.contentType },
            { name: 'Size', isNumber: true, cell: (item) => bytes(item.size) },
            { name: '', cell: (item) => item.sealed && 'sealed' },
          ]} />
          <More list={list} />
        </>)}
      </Loaded>
    </section>
  )
}

// The compensations of an instance: which were noted, which one is made, which are done, and which has failed for good.
import type { History, Instance } from '../api'
import { inNamespace } from '../core/client'
import { shortJson } from '../core/json'
import { useGet } from '../core/resource'
import { Clock, Loaded, plural, wordOf } from '../ui/basics'
import { Icon, type IconName } from '../ui/icons'
import { Table } from '../ui/table'
import { compensationsOf, kReadKinds, type Compensation, type Outcome } from './undo'

/** So many records are read. */
const kRecords = 500

type Row = Compensation & { input?: unknown }

const kWords: Record<Outcome, { text: string; icon: IconName; style: string }> = {
  failed: { text: 'failed for good', icon: 'cross', style: 'no' },
  making: { text: 'is made', icon: 'play', style: 'status-running' },
  stopped: { text: 'stopped', icon: 'stop', style: 'status-cancelled' },
  noted: { text: 'noted', icon: 'dot', style: 'status-waiting' },
  done: { text: 'done', icon: 'check', style: 'ok' },
  passed: { text: 'passed over', icon: 'ban', style: 'status-cancelled' },
}

/** `last` is the number of the newest record that tells of compensations: they are read again when it grows. */
export function Compensations({ ns, instance, last }: { ns: string; instance: Instance; last: number }) {
  const history = useGet<History>(inNamespace(ns, 'instances', instance.id, 'history'), { kind: kReadKinds.join(','), order: 'newest', before: last + 1, limit: kRecords, data: '0' })
  return (
    <section class="panel" aria-labelledby="compensations-title">
      <h2 id="compensations-title">Compensations</h2>
      <Summary instance={instance} />
      <Loaded resource={history} ns={ns}>{(data) => (
        <>
          <Table caption="What became of each compensation" items={rowsOf(instance, compensationsOf([...data.items].reverse()))} keyOf={(row) => `${row.number} ${row.at}`} columns={[
            { name: '#', isHeader: true, cell: (row) => row.number },
            { name: 'Undoes', cell: (row) => row.state },
            { name: 'By', cell: (row) => row.function },
            { name: 'Status', cell: (row) => <span class={`nowrap ${kWords[row.is].style}`}><Icon name={kWords[row.is].icon} /> {kWords[row.is].text}</span> },
            { name: 'Since', cell: (row) => row.at && <Clock at={row.at} /> },
            { name: 'Input', isWide: true, cell: (row) => row.input !== undefined && <code>{shortJson(row.input, 400)}</code> },
          ]} />
          {data.next !== null && <p class="quiet">What became of older ones is in the story: {plural(data.items.length, 'record')} were read here.</p>}
        </>
      )}</Loaded>
    </section>
  )
}

/** What the instance does with those that are left. */
function Summary({ instance }: { instance: Instance }) {
  const { left = 0, making = false, ends, error } = instance.compensation ?? {}
  const shown = instance.compensations?.length ?? 0
  return (
    <p>
      {left === 0 ? 'None is left.' : `${plural(left, 'compensation')} left`}
      {left > 0 && (making
        ? <>; they are made, the newest first. Then the instance ends as <b>{wordOf(ends)}</b>.</>
        : error
          ? <>: the newest one was not made, <code>{error.code}</code> {error.msg}. <em>Compensate</em> tries it again, or passes over it, and makes the others.</>
          : instance.endedAt ? <>: they were stopped, or the definition does not ask for them. <em>Compensate</em> makes them.</> : ': they are made if the instance does not complete, and its definition asks for them.')}
      {shown > 0 && shown < left && ` The newest ${shown} of them are below.`}
    </p>
  )
}

/** The newest first. What is left is that of the instance; the records say when it became so, and what is not left any more. */
function rowsOf(instance: Instance, known: Compensation[]): Row[] {
  const { making = false, error } = instance.compensation ?? {}
  const rest = known.filter((one) => one.is !== 'done' && one.is !== 'passed')
  const left = (instance.compensations ?? []).map((one, index): Row => {
    const record = rest.find((other) => other.number === one.number)
    const newest = index === 0 ? (making ? 'making' : error ? 'failed' : null) : null
    const is = newest ?? (record?.is === 'stopped' ? 'stopped' : 'noted')
    return { number: one.number, state: one.state ?? one.damage ?? '', function: one.function ?? '', input: one.input, is, at: record?.at ?? '' }
  })
  return [...left, ...known.filter((one) => !rest.includes(one)).sort((a, b) => b.at.localeCompare(a.at))]
}

// The data of an instance at a record, and how it differs from the data before. A record of a state that
// did not wait has no data; then the data is that of the record before, or the input.
import type { History, HistoryRecord, Instance } from '../api'
import { inNamespace } from '../core/client'
import { differences, prettyJson, shortJson } from '../core/json'
import { useGet } from '../core/resource'
import { href } from '../core/route'
import { Clock, CopyButton, Loaded } from '../ui/basics'
import { Icon } from '../ui/icons'

/** So many records are read back to find two that have data. */
const kBack = 20

export function DataTab({ ns, instance, at, last }: { ns: string; instance: Instance; at: number | null; last: number }) {
  const before = (at ?? last) + 1
  const records = useGet<History>(last === 0 ? null : inNamespace(ns, 'instances', instance.id, 'history'), { order: 'newest', before, limit: kBack, kind: 'entered', data: '1' })
  return (
    <section aria-label="Data">
      {instance.sealed && <p class="notes"><Icon name="lock" /> Sealed by its definition: values of secrets are masked or hidden.</p>}
      <Loaded resource={records} ns={ns}>{({ items }) => <Shown ns={ns} instance={instance} at={at} stored={items.filter((record) => record.data !== undefined)} isEnd={items.length < kBack} />}</Loaded>
      <details><summary>Input</summary><pre class="data" tabIndex={0} aria-label="Input">{prettyJson(instance.input)}</pre></details>
    </section>
  )
}

/** The data now, or that of the newest of `stored`; `isEnd`: there are no older records. */
function Shown({ ns, instance, at, stored, isEnd }: { ns: string; instance: Instance; at: number | null; stored: HistoryRecord[]; isEnd: boolean }) {
  const input = isEnd && !instance.historyTrimmed ? instance.input : undefined
  const isNow = at === null
  const record = isNow ? undefined : stored[0]
  const value = isNow ? instance.data : (record?.data ?? input)
  const isSame = isNow && prettyJson(stored[0]?.data) === prettyJson(value)
  const former = isNow && !isSame ? stored[0] : stored[1]
  const base = former?.data ?? input
  const changed = value === undefined || base === undefined ? [] : differences(base, value)
  const title = isNow ? 'Data now' : `Data at record ${at}`
  const text = value === undefined ? '' : prettyJson(value)
  return (
    <div class="columns">
      <div class="panel">
        <h2>{title}</h2>
        {!isNow && <p class="quiet">{record ? <>as it was stored with record <a href={href(ns, ['instances', instance.id, 'story'], { at: record.number })}>{record.number}</a>, {record.kind} {record.state}, <Clock at={record.time} exact /></> : 'as it was given: no record up to this one has data'}</p>}
        {value === undefined ? <p>No data is stored for this record or the {kBack} before it.</p> : <><pre class="data" tabIndex={0} aria-label={title}>{text}</pre><CopyButton text={text} /></>}
      </div>
      <div class="panel">
        <h2>What changed</h2>
        <p class="quiet">against {former ? <>record <a href={href(ns, ['instances', instance.id, 'data'], { at: former.number })}>{former.number}</a>, {former.kind} {former.state}</> : 'the input'}</p>
        {changed.length === 0 && <p>Nothing.</p>}
        <ul class="plain mono">
          {changed.map((item) => (
            <li><b>{item.path}</b>
              {item.before !== undefined && <div class="removed">− {shortJson(item.before, 2000)}</div>}
              {item.after !== undefined && <div class="added">+ {shortJson(item.after, 2000)}</div>}
            </li>
          ))}
        </ul>
      </div>
    </div>
  )
}

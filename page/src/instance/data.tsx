// The data of an instance at a record, and how it differs from the data before.
import type { History, HistoryRecord, Instance } from '../api'
import { inNamespace } from '../core/client'
import { differences, prettyJson, shortJson } from '../core/json'
import { useGet } from '../core/resource'
import { href } from '../core/route'
import { Clock, CopyButton, Loaded } from '../ui/basics'
import { Icon } from '../ui/icons'

/** The records that have data; the newest before a number and the one before it are needed. */
const kWithData = 'entered,output'

export function DataTab({ ns, instance, at, last }: { ns: string; instance: Instance; at: number | null; last: number }) {
  const before = (at ?? last) + 1
  const records = useGet<History>(last === 0 ? null : inNamespace(ns, 'instances', instance.id, 'history'), { order: 'newest', before, limit: 2, kind: kWithData, data: '1' })
  return (
    <section aria-label="Data">
      {instance.sealed && <p class="notes"><Icon name="lock" /> Sealed by its definition: values of secrets are masked or hidden.</p>}
      <Loaded resource={records} ns={ns}>{({ items }) => (at === null
        ? <Shown ns={ns} instance={instance} title="Data now" value={instance.data} former={prettyJson(items[0]?.data) === prettyJson(instance.data) ? items[1] : items[0]} />
        : <Shown ns={ns} instance={instance} title={`Data at record ${at}`} value={items[0]?.data ?? instance.input} record={items[0]} former={items[1]} />)}
      </Loaded>
      <details><summary>Input</summary><pre class="data" tabIndex={0} aria-label="Input">{prettyJson(instance.input)}</pre></details>
    </section>
  )
}

function Shown({ ns, instance, title, value, record, former }: { ns: string; instance: Instance; title: string; value: unknown; record?: HistoryRecord; former?: HistoryRecord }) {
  const base = former?.data ?? instance.input
  const changed = value === undefined ? [] : differences(base, value)
  const text = value === undefined ? '' : prettyJson(value)
  return (
    <div class="columns">
      <div class="panel">
        <h2>{title}</h2>
        {record && <p class="quiet">as in record <a href={href(ns, ['instances', instance.id, 'story'], { at: record.number })}>{record.number}</a>, {record.kind} {record.state}, <Clock at={record.time} exact /></p>}
        {value === undefined ? <p>No data is stored for this record.</p> : <><pre class="data" tabIndex={0} aria-label={title}>{text}</pre><CopyButton text={text} /></>}
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

// The revisions of a workflow, how many instances each has, and how a text differs from the one before.
import type { InstanceCounts, Revision, Revisions as RevisionList } from '../api'
import { inNamespace } from '../core/client'
import { commandLine } from '../core/commands'
import { useGet, useList } from '../core/resource'
import { href, route, setQuery } from '../core/route'
import { Clock, CommandText, count, Loaded, More } from '../ui/basics'
import { Diff } from '../ui/diff'
import { FilterField, FilterForm } from '../ui/filter_field'
import { Table } from '../ui/table'

export function Revisions({ ns, id, newest }: { ns: string; id: string; newest: number }) {
  const list = useList<RevisionList['items'][number], RevisionList>(inNamespace(ns, 'workflows', id, 'revisions'), { texts: 'false', limit: 100 })
  const counts = useGet<InstanceCounts>(inNamespace(ns, 'instances', 'count'), { by: 'revision', workflow: id })
  const numbers = new Map((counts.data?.items ?? []).map((item) => [item.revision ?? 0, item.count]))
  const shown = Number(route.value.query.get('revision') ?? newest)
  const against = Number(route.value.query.get('against') ?? shown - 1)
  return (
    <>
      <Loaded resource={list} ns={ns}>{(data) => (
        <>
          <Table caption="Revisions" items={data.items} keyOf={(item) => String(item.revision)} rowClass={(item) => (item.revision === shown ? 'is-current' : '')} columns={[
            { name: 'Revision', isHeader: true, cell: (item) => <a href={href(ns, ['workflows', id, 'revisions'], { revision: item.revision })}>{item.revision}</a> },
            { name: 'Applied', cell: (item) => <Clock at={item.createdAt} /> },
            { name: 'Instances', isNumber: true, cell: (item) => count(numbers.get(item.revision) ?? 0) },
            { name: 'Graph', cell: (item) => <a href={href(ns, ['workflows', id, 'graph'], { revision: item.revision })}>graph of {item.revision}</a> },
          ]} />
          <More list={list} />
        </>
      )}</Loaded>
      <section class="panel" aria-label={`Revision ${shown}`}>
        <h2>Revision {shown}</h2>
        {shown > 1 && <FilterForm label="Differences" apply="Compare"><label>Differences from revision<FilterField size={6} isNumeric value={String(against)} set={(text) => setQuery({ against: text })} /></label></FilterForm>}
        <Texts ns={ns} id={id} shown={shown} against={against} />
        <p class="quiet"><code><CommandText text={commandLine(ns, 'workflow', 'revision', id, String(shown))} /></code></p>
      </section>
    </>
  )
}

function Texts({ ns, id, shown, against }: { ns: string; id: string; shown: number; against: number }) {
  const text = useGet<Revision>(inNamespace(ns, 'workflows', id, 'revisions', shown))
  const other = useGet<Revision>(against > 0 && against !== shown ? inNamespace(ns, 'workflows', id, 'revisions', against) : null)
  return (
    <Loaded resource={text} ns={ns}>{(data) => (
      <>
        {other.data && <Diff before={other.data.definition} after={data.definition} />}
        <details open={against < 1}><summary>Text</summary><pre class="data" tabIndex={0} aria-label={`Text of revision ${shown}`}>{data.definition}</pre></details>
      </>
    )}</Loaded>
  )
}

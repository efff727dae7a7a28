// The listeners: what starts and instances wait for, by event type, then by attribute and value.
import type { Listener, Listeners } from '../api'
import { inNamespace } from '../core/client'
import { commandLine, httpCall, option } from '../core/commands'
import { useLive } from '../core/live'
import { useList, useThrottle } from '../core/resource'
import { href, route, setQuery } from '../core/route'
import { Context, tryHref } from '../instance/now'
import { Empty, InstanceLink, Loaded, More, Page, Relative, WorkflowLink } from '../ui/basics'
import { CopyAsCommand } from '../ui/dialog'
import { AttributeField, ByAttribute, FilterField, FilterForm, lacksAttribute } from '../ui/filter_field'
import { Table } from '../ui/table'
import type { PageProps } from '.'

const kFilters = ['type', 'workflow', 'kind', 'attribute', 'value'] as const

export function WaitingPage({ ns }: PageProps) {
  const { query } = route.value
  const get = (name: string): string | null => query.get(name)
  const path = inNamespace(ns, 'listeners')
  const filter = { type: get('type'), workflow: get('workflow'), kind: get('kind'), attribute: get('attribute'), value: get('value') }
  const list = useList<Listener, Listeners>(lacksAttribute() ? null : path, { ...filter, limit: 100 })
  const soon = useThrottle(list.reload, 2000)
  useLive({ ns, topics: ['counts'] }, { counts: () => { if ((list.data?.items.length ?? 0) <= 100) soon() } })
  return (
    <Page title="Waiting" actions={<CopyAsCommand command={{ line: commandLine(ns, 'listener', 'list', ...option('type', filter.type), ...option('kind', filter.kind), ...option('workflow', filter.workflow), ...option('attribute', filter.attribute), ...option('value', filter.value)), http: httpCall('GET', path, filter) }} />}>
      <FilterForm names={kFilters}>
        {kFilters.filter((name) => name !== 'kind').map((name) => <label>{{ type: 'Event type', workflow: 'Workflow', attribute: 'Attribute', value: 'Value', kind: '' }[name]}{name === 'attribute' ? <AttributeField size={16} /> : <FilterField size={16} value={get(name) ?? ''} set={(text) => setQuery({ [name]: text })} />}</label>)}
        <label>Kind<select value={get('kind') ?? ''} onChange={(event) => setQuery({ kind: event.currentTarget.value })}><option value="">starts and instances</option><option value="start">starts</option><option value="instance">instances</option></select></label>
      </FilterForm>
      <ByAttribute><Loaded resource={list} ns={ns}>{(data) => (data.items.length === 0 && data.next === null
        ? (
          <Empty command={kFilters.some((name) => query.has(name)) ? undefined : commandLine(ns, 'workflow', 'apply', 'workflow.yaml')}>
            <p>{kFilters.some((name) => query.has(name)) ? 'Nothing that waits fits the filter. Clear it to see all listeners.' : 'Nothing waits for an event. A workflow that starts by an event is here once it is applied, and an instance while it is in a state that consumes events.'}</p>
          </Empty>
        )
        : (
          <>
            <Table caption="Listeners" items={data.items} keyOf={(item) => `${item.instance ?? ''}${item.workflow}${item.type}${JSON.stringify(item.context)}`} columns={[
              { name: 'Event type', isHeader: true, cell: (item) => <a href={href(ns, ['waiting'], { type: item.type })}>{item.type}</a> },
              { name: 'Listener', cell: (item) => (item.instance ? <InstanceLink ns={ns} id={item.instance} /> : 'start') },
              { name: 'Workflow', cell: (item) => <WorkflowLink ns={ns} id={item.workflow} /> },
              { name: 'State', cell: (item) => item.state },
              { name: 'Attributes', cell: (item) => <Context context={item.context} /> },
              { name: 'Until', cell: (item) => item.deadline && <Relative at={item.deadline} /> },
              { name: 'Try', cell: (item) => <a href={tryHref(ns, item.type, item.context, item.instance)}>test event</a> },
            ]} />
            <More list={list} />
          </>
        ))}
      </Loaded></ByAttribute>
    </Page>
  )
}

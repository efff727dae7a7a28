// Groups of eventsAnd starts that are not complete.
import { useState } from 'preact/hooks'
import type { EventGroup, EventGroupDropped, EventGroups } from '../api'
import { call, inNamespace } from '../core/client'
import { commandLine, httpCall, option } from '../core/commands'
import { shortJson } from '../core/json'
import { useLive } from '../core/live'
import { useList, useThrottle } from '../core/resource'
import { href, route, setQuery } from '../core/route'
import { Empty, EventLink, Loaded, More, Page, plural, Relative, WorkflowLink } from '../ui/basics'
import { ActionDialog, CopyAsCommand } from '../ui/dialog'
import { AttributeField, ByAttribute, FilterField, FilterForm, lacksAttribute } from '../ui/filter_field'
import { Table } from '../ui/table'
import type { PageProps } from '.'

const kFilters = ['workflow', 'attribute', 'value', 'id'] as const

export function GroupsPage({ ns }: PageProps) {
  const { query } = route.value
  const get = (name: string): string | null => query.get(name)
  const path = inNamespace(ns, 'groups')
  const filter = { id: get('id'), workflow: get('workflow'), attribute: get('attribute'), value: get('value') }
  const list = useList<EventGroup, EventGroups>(lacksAttribute() ? null : path, { ...filter, limit: 100 })
  const [dropped, setDropped] = useState<EventGroup | null>(null)
  const soon = useThrottle(list.reload, 1500)
  useLive({ ns, topics: ['events'] }, { events: soon })
  return (
    <Page title="Groups" actions={<CopyAsCommand command={{ line: commandLine(ns, 'group', 'list', ...option('workflow', filter.workflow), ...option('id', filter.id), ...(filter.attribute ? ['--attr', `${filter.attribute}=${filter.value}`] : [])), http: httpCall('GET', path, filter) }} />}>
      <p class="quiet">Events that wait until each entry of an <code>eventsAnd</code> start has an event with the same correlation.</p>
      <FilterForm names={kFilters}>
        {kFilters.map((name) => <label>{{ workflow: 'Workflow', attribute: 'Attribute of the correlation', value: 'Value', id: 'Group' }[name]}{name === 'attribute' ? <AttributeField size={14} /> : <FilterField size={14} value={get(name) ?? ''} set={(text) => setQuery({ [name]: text })} />}</label>)}
      </FilterForm>
      <ByAttribute attribute="Attribute of the correlation"><Loaded resource={list} ns={ns}>{(data) => (data.items.length === 0 && data.next === null
        ? <Empty><p>{kFilters.some((name) => query.has(name)) ? 'No incomplete group fits the filter.' : 'No incomplete groups. When an event of one entry of an eventsAnd start comes and the events of the others have not, the group is here until it is complete or the lifespan of its events ends.'} See <a href={href(ns, ['workflows'])}>the workflows</a>.</p></Empty>
        : (
          <>
            <Table caption="Incomplete groups" items={data.items} keyOf={(item) => item.id} columns={[
              { name: 'Workflow', isHeader: true, cell: (item) => <WorkflowLink ns={ns} id={item.workflow} /> },
              { name: 'Correlation', cell: (item) => <span class="mono">{Object.entries(item.correlate).map(([name, value]) => `${name}=${typeof value === 'string' ? value : shortJson(value)}`).join(' ')}</span> },
              { name: 'Entries', cell: (item) => <Entries ns={ns} group={item} /> },
              { name: 'First lifespan ends', cell: (item) => (item.expiresAt ? <Relative at={item.expiresAt} /> : 'never') },
              { name: 'Action', cell: (item) => <button type="button" class="small" onClick={() => setDropped(item)}>Drop…</button> },
            ]} />
            <More list={list} />
          </>
        ))}
      </Loaded></ByAttribute>
      {dropped && (
        <ActionDialog title={`Drop a group of ${dropped.workflow}?`} label="Drop" isDanger close={() => setDropped(null)}
          command={{ line: commandLine(ns, 'group', 'drop', dropped.id), http: httpCall('DELETE', inNamespace(ns, 'groups', dropped.id)) }}
          run={async () => { const answer = await call<EventGroupDropped>('DELETE', inNamespace(ns, 'groups', dropped.id)); list.reload(); return `The group was dropped; ${plural(answer.dropped, 'event')} became dead letters` }}>
          <p>The group is removed. The events that wait in it become dead letters with the reason <code>start.group_closed</code>, from which they can be replayed.</p>
        </ActionDialog>
      )}
    </Page>
  )
}

function Entries({ ns, group }: { ns: string; group: EventGroup }) {
  return (
    <ul class="plain">
      {group.entries.map((entry) => (
        <li class={entry.waiting > 0 ? 'ok' : 'no'}>{entry.type}: {entry.waiting > 0 ? <>{plural(entry.waiting, 'event')}{entry.first?.sequence !== undefined && <>, first <EventLink ns={ns} sequence={entry.first.sequence} /></>}</> : 'missing'}</li>
      ))}
    </ul>
  )
}

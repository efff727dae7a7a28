// The event desk: the recent events and what came of each.
import { useState } from 'preact/hooks'
import type { StoredEventHead, StoredEvents } from '../api'
import { inNamespace } from '../core/client'
import { commandLine, httpCall, option } from '../core/commands'
import { useLive } from '../core/live'
import { useList } from '../core/resource'
import { href, route, setQuery } from '../core/route'
import { now } from '../core/time'
import { Clock, Empty, EventLink, InstanceLink, Loaded, More, Page } from '../ui/basics'
import { CopyAsCommand } from '../ui/dialog'
import { EventSource } from '../ui/event_source'
import { AttributeField, ByAttribute, FilterField, FilterForm, lacksAttribute } from '../ui/filter_field'
import { Effects } from '../ui/judged'
import { Table } from '../ui/table'
import type { PageProps } from '.'

const kFilters = ['type', 'source', 'since', 'effect', 'generated', 'attribute', 'value', 'id'] as const

/** So many new events are counted. */
const kMostNewer = 1000

export function EventsPage({ ns }: PageProps) {
  const { query } = route.value
  const get = (name: string): string | null => query.get(name)
  const [since] = useState(() => now.peek())
  const time = sinceTime(get('since'), since)
  const path = inNamespace(ns, 'events')
  const filter = { ...Object.fromEntries(kFilters.map((name) => [name, get(name)])), since: time }
  const list = useList<StoredEventHead, StoredEvents>(lacksAttribute() ? null : path, { ...filter, limit: 100 })
  const [newer, setNewer] = useState<StoredEventHead[]>([])
  const isPlain = ['source', 'generated', 'attribute', 'value', 'id'].every((name) => !get(name))
  useLive({ ns, topics: ['events'], type: get('type') }, {
    events: ({ items }) => {
      const shown = new Set(list.data?.items.map((item) => item.sequence))
      const changed = new Map(items.map((item) => [item.sequence, item]))
      if (items.some((item) => shown.has(item.sequence))) list.update((before) => ({ ...before, items: before.items.map((item) => changed.get(item.sequence) ?? item) }))
      const newest = list.data?.items[0]?.sequence ?? 0
      const fresh = items.filter((item) => !shown.has(item.sequence) && item.sequence > newest && isPlain && fitsEffect(item, get('effect')))
      if (list.data && fresh.length > 0) setNewer((before) => [...fresh, ...before.filter((item) => !changed.has(item.sequence))].slice(0, kMostNewer))
    },
  })
  const show = (): void => { setNewer([]); list.reload() }
  const words = [...option('type', get('type')), ...option('source', get('source')), ...option('since', get('since')), get('effect') === 'with' && '--with-effect', get('effect') === 'without' && '--without-effect',
    get('generated') === '0' && '--not-generated', ...(get('attribute') && get('value') ? ['--attr', `${get('attribute')}=${get('value')}`] : []), ...option('id', get('id'))]
  return (
    <Page title="Events" actions={<>
      <a class="button" href={href(ns, ['events', 'try'])}>Try one…</a>
      <a class="button" href={href(ns, ['events', 'replays'], { type: get('type'), since: time })}>Replay a range…</a>
      <CopyAsCommand command={{ line: commandLine(ns, 'event', 'list', ...words), http: httpCall('GET', path, filter) }} />
    </>}>
      <Filters />
      <div class="newer-line">{newer.length > 0 && <button type="button" class="newer" onClick={show}>{newer.length}{newer.length === kMostNewer && ' or more'} newer: show them</button>}</div>
      <ByAttribute><Loaded resource={list} ns={ns}>{(data) => (data.items.length === 0 && data.next === null
        ? <NoEvents ns={ns} inOtherCase={data.inOtherCase} />
        : (
          <>
            {data.items.length === 0 && <InOtherCase ns={ns} found={data.inOtherCase} />}
            <Table caption="Events" items={data.items} keyOf={(item) => String(item.sequence)} columns={[
              { name: '#', isHeader: true, cell: (item) => <EventLink ns={ns} sequence={item.sequence} /> },
              { name: 'Time', cell: (item) => <Clock at={item.time} exact /> },
              { name: 'Event type', cell: (item) => item.type ?? <span class="no">not an event: {item.error?.code}</span> },
              { name: 'Source', cell: (item) => <EventSource ns={ns} source={item.source} /> },
              { name: 'Attributes', cell: (item) => <Attributes item={item} /> },
              { name: 'What came of it', isWide: true, cell: (item) => <Outcome ns={ns} item={item} /> },
            ]} />
            <More list={list} />
          </>
        ))}
      </Loaded></ByAttribute>
    </Page>
  )
}

/** The id of a generated event begins with that of the instance (docs/FORMATS.md). */
const kGeneratedId = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})-\d+-\d+$/

const kSizes: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

function sinceTime(text: string | null, from: number): string | null {
  const match = /^(\d+)([mhd])$/.exec(text ?? '')
  return match ? new Date(from - Number(match[1]) * (kSizes[match[2] ?? ''] ?? 0)).toISOString() : text
}

function fitsEffect(item: StoredEventHead, effect: string | null): boolean {
  return !effect || (effect === 'with') === item.effectCount > 0
}

/** The only workflow or instance that may take an event. */
export function targetOf(to: NonNullable<StoredEventHead['to']>): string {
  return to.instance ? `only for instance ${to.instance}` : `only for workflow ${to.workflow ?? ''}${to.deleted ? ', which was deleted' : ''}`
}

/** What came of an event. That of another instance, which no listener here took, was perhaps meant for others. */
function Outcome({ ns, item }: { ns: string; item: StoredEventHead }) {
  if (!item.applied) return <>not applied yet</>
  if (item.effectCount > 0) return <Effects ns={ns} effects={item.effects} total={item.effectCount} />
  if (!(Number(item.attributes?.millracehops) > 0)) return <a class="quiet" href={href(ns, ['events', item.sequence])} title="Why it had no effect">no effect</a>
  const [, sender] = kGeneratedId.exec(item.id ?? '') ?? []
  return <span class="quiet">sent by {sender ? <InstanceLink ns={ns} id={sender} /> : 'an instance'}, no listener here took it</span>
}

/** The extension attributes of an event; those that every event has are left out. */
function Attributes({ item }: { item: StoredEventHead }) {
  const shown = Object.entries(item.attributes ?? {}).filter(([name]) => !['datacontenttype', 'time', 'millracehops', ...(item.to ? ['millraceonly'] : [])].includes(name))
  return <span class="mono">{item.to && `${targetOf(item.to)} `}{shown.slice(0, 6).map(([name, value]) => `${name}=${String(value)}`).join(' ')}{shown.length > 6 && ' …'}</span>
}

function Filters() {
  const { query } = route.value
  const get = (name: string): string => query.get(name) ?? ''
  return (
    <FilterForm names={kFilters}>
      <label>Event type<FilterField size={18} placeholder="order.*" value={get('type')} set={(text) => setQuery({ type: text })} /></label>
      <label>Source<FilterField size={14} value={get('source')} set={(text) => setQuery({ source: text })} /></label>
      <label>Since<select value={get('since')} onChange={(event) => setQuery({ since: event.currentTarget.value })}><option value="">any time</option><option value="15m">15 m</option><option value="1h">1 h</option><option value="24h">24 h</option><option value="7d">7 d</option></select></label>
      <fieldset class="chips"><legend>Effect</legend>
        {(['', 'with', 'without'] as const).map((effect) => <button type="button" class="small" aria-pressed={get('effect') === effect} onClick={() => setQuery({ effect })}>{effect === '' ? 'all' : effect === 'with' ? 'with effect' : 'without'}</button>)}
      </fieldset>
      <label>Attribute<AttributeField size={10} /></label>
      <label>Value<FilterField size={10} value={get('value')} set={(text) => setQuery({ value: text })} isExact /></label>
      <label>Event id<FilterField size={12} value={get('id')} set={(text) => setQuery({ id: text })} /></label>
      <label><input type="checkbox" checked={get('generated') === '0'} onChange={(event) => setQuery({ generated: event.currentTarget.checked ? '0' : null })} /> without events that workflows sent</label>
    </FilterForm>
  )
}

type OtherCase = StoredEvents['inOtherCase']

/** The first event that would fit if upper and lower case were the same; the filter compares values exactly. */
function InOtherCase({ ns, found }: { ns: string; found: OtherCase }) {
  if (!found) return null
  return (
    <p class="notes">The event <EventLink ns={ns} sequence={found.sequence} /> fits apart from upper and lower case: {Object.entries(found.attributes).map(([attribute, value], index) => <>{index > 0 && ', '}<code>{attribute}={value}</code> <button type="button" class="small" onClick={() => setQuery({ attribute, value })}>Look for {value}</button></>)}</p>
  )
}

function NoEvents({ ns, inOtherCase }: { ns: string; inOtherCase: OtherCase }) {
  const active = kFilters.filter((name) => route.value.query.has(name))
  if (active.length > 0) return <Empty><InOtherCase ns={ns} found={inOtherCase} /><p>No stored event fits all filters: {active.map((name) => <><button type="button" class="small" onClick={() => setQuery({ [name]: null })}>Drop {name} {route.value.query.get(name)}</button> </>)}</p></Empty>
  return (
    <Empty command={commandLine(ns, 'event', 'send', '--type', 'TYPE', '--source', 'SOURCE', '--data', '{}')}>
      <p>No stored events. Each event that a client publishes on NATS or by HTTP, that a <a href={href(ns, ['sources'])}>source or inbound webhook</a> makes, or that a workflow generates, is here as long as the stream keeps it.</p>
      <p><a href={href(ns, ['events', 'try'])}>Try one</a> without sending it, or send one:</p>
    </Empty>
  )
}

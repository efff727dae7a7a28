// The list of instances: filters in the address, exact counts, rows that change in place, bulk actions.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { InstanceCounts, InstanceHead, Instances, Workflows } from '../api'
import { call, inNamespace, type Query } from '../core/client'
import { commandLine, httpCall, option } from '../core/commands'
import { useLive } from '../core/live'
import { useGet, useList, useThrottle } from '../core/resource'
import { href, route, setQuery } from '../core/route'
import { dayIn, duration, now, storedTime, timeMistake, timeOf, typedTime } from '../core/time'
import { Clock, count, Empty, InstanceLink, kStatuses, Loaded, More, Page, plural, Relative, Status, Timed, WorkflowLink } from '../ui/basics'
import { CopyAsCommand } from '../ui/dialog'
import { FilterField, FilterForm } from '../ui/filter_field'
import { InstanceAction, kEnded, kVerbs, statusesOf, verbsFor, type Target, type Verb } from '../ui/instance_actions'
import { Table, type Column } from '../ui/table'
import type { PageProps } from '.'

/** The parameters of the list that stand in the address as they are. */
const kTextFilters = ['id', 'key', 'correlation', 'parent', 'state', 'waitsFor', 'error'] as const
/** The parameters of the list that are times, in the address also as how long ago. */
const kTimes = ['since', 'until', 'endedSince', 'endedUntil'] as const
const kFilters = ['workflow', 'status', ...kTimes, 'has', 'order', ...kTextFilters] as const

/** The filters as their fields name them. */
const kLabels: Record<(typeof kFilters)[number], string> = {
  workflow: 'Workflow', status: 'Status', since: 'Started', until: 'Started before', endedSince: 'Ended', endedUntil: 'Ended before', has: 'Has', order: 'Order', id: 'Id begins with',
  key: 'Key', correlation: 'Correlation', parent: 'Parent', state: 'State', waitsFor: 'Event type it waits for', error: 'Error',
}

function isTime(name: string): boolean {
  return (kTimes as readonly string[]).includes(name)
}

/** Filters in a sentence. */
function labels(names: Array<keyof typeof kLabels>): string {
  return names.map((name) => `“${kLabels[name]}”`).join(', ')
}

export function InstancesPage({ ns }: PageProps) {
  const { query } = route.value
  const get = (name: string): string | null => query.get(name)
  // A time of a filter stays what it was when the filter was chosen.
  const times = useMemo(() => Object.fromEntries(kTimes.map((name) => [name, timeOf(get(name), dayIn(name))])) as Record<(typeof kTimes)[number], string | null>, kTimes.map(get))
  const filter: Query = { ...Object.fromEntries(kFilters.map((name) => [name, get(name)])), ...times }
  const path = inNamespace(ns, 'instances')
  const isMistaken = kTimes.some((name) => timeMistake(get(name) ?? '') !== '')
  const list = useList<InstanceHead, Instances>(isMistaken ? null : path, { ...filter, limit: 100 })
  const counts = useGet<InstanceCounts>(inNamespace(ns, 'instances', 'count'), { by: 'status', workflow: get('workflow'), state: get('state') })
  const [newer, setNewer] = useState<Set<string>>(new Set())
  const [selected, setSelected] = useState<Set<string>>(new Set())
  const [action, setAction] = useState<{ verb: Verb; target: Target; address: string } | null>(null)
  const recount = useThrottle(counts.reload, 1500)
  const rereadAll = (): void => { setNewer(new Set()); list.reload(); counts.reload() }
  const address = kFilters.map((name) => get(name) ?? '').join('\n')
  /** The rows that are selected: only those that the list has. */
  const chosen = (list.data?.items ?? []).filter((item: Row) => selected.has(item.id) && !item.isGone)
  const isPlain = [...kTimes, 'has', ...kTextFilters].every((name) => !get(name) || name === 'since')
  const request = { ...filter, limit: 100 }
  /** The newest id that was shown: rows that come later have higher ones. */
  const newest = useRef('')
  newest.current = [newest.current, list.data?.items[0]?.id ?? '', list.data?.items.at(-1)?.id ?? ''].sort().at(-1) ?? ''
  useEffect(() => { newest.current = ''; setNewer(new Set()); setSelected(new Set()) }, [address])
  // What has left the list is not selected when it comes back.
  useEffect(() => {
    if (list.data && chosen.length < selected.size) setSelected(new Set(chosen.map((item) => item.id)))
    const ids = new Set(list.data?.items.map((item) => item.id))
    setNewer((before) => without(before, (id) => ids.has(id)))
  }, [list.data])
  /** What is shown when an answer comes. */
  const shown = useRef<{ data: (Instances & { dropped?: number }) | undefined; address: string }>({ data: list.data, address })
  shown.current = { data: list.data, address }
  const isOldest = get('order') === 'oldest'
  const merge = (items: InstanceHead[], fresh: InstanceHead[]): void => {
    const changed = new Map<string, Row>(items.map((item) => [item.id, item]))
    if (shown.current.data?.items.some((item) => changed.has(item.id))) list.update((before) => ({ ...before, items: before.items.map((item) => changed.get(item.id) ?? item) }))
    if (fresh.length > 0) setNewer((before) => new Set([...before, ...fresh.map((item) => item.id)]))
  }
  // What the stream does not say, or a filter that it does not know, is read from the list.
  const recheck = useThrottle(() => {
    call<Instances>('GET', path, { query: request }).then((page) => {
      const { data } = shown.current
      if (data === undefined || shown.current.address !== address) return
      const found = new Set(page.items.map((item) => item.id))
      const isLost = (id: string): boolean => !found.has(id) && isWithin(id, page, isOldest)
      const lost = data.items.filter((item) => isLost(item.id) && fits(item, filter)).map((item) => ({ ...item, isGone: true }))
      setNewer((before) => without(before, isLost))
      merge([...page.items, ...lost], missing(page.items))
    }, () => undefined)
  }, 2000)
  /** Those that are not shown, but stand among the rows that are, or before them. */
  const missing = (items: InstanceHead[]): InstanceHead[] => {
    const { data } = shown.current
    if (data === undefined) return []
    const ids = new Set(data.items.map((item) => item.id))
    const first = data.items[0]?.id ?? ''
    // The first rows of a long list were given up, and those are not missing.
    const isDropped = (id: string): boolean => (data.dropped ?? 0) > 0 && (isOldest ? id < first : id > first && id <= newest.current)
    return items.filter(({ id }) => !ids.has(id) && isWithin(id, data, isOldest) && !isDropped(id))
  }
  const counted = useRef(new Map<string, number>())
  useLive(isMistaken ? null : { ns, topics: ['instances', 'counts'], workflow: get('workflow') }, {
    counts: ({ changed }) => {
      recount()
      // The stream does not name what is deleted, but then fewer have ended.
      for (const [workflow, status, number] of changed) {
        const cell = `${workflow}\n${status}`
        if (kEnded.includes(status) && number < (counted.current.get(cell) ?? Infinity)) recheck()
        counted.current.set(cell, number)
      }
    },
    instances: ({ items, more }) => {
      if (list.data === undefined) return
      const gone = new Set(isPlain ? [] : list.data.items.filter((item: Row) => item.isGone).map((item) => item.id))
      const changed = new Set(items.map((item) => item.id))
      const fitting = isPlain ? items.filter((item) => fits(item, filter)) : []
      if (isPlain) setNewer((before) => without(before, (id) => changed.has(id)))
      merge(items.map((item) => (gone.has(item.id) ? { ...item, isGone: true } : item)), missing(fitting))
      if (more > 0 || !isPlain) recheck()
    },
  })
  const commandWords = [...option('workflow', get('workflow')), ...option('status', get('status')), ...[...kTimes, ...kTextFilters].flatMap((name) => option(name.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`), isTime(name) ? storedTime(get(name) ?? '', dayIn(name)) : get(name))), ...option('has', get('has')), get('order') === 'oldest' && '--oldest']
  return (
    <Page title="Instances" actions={<>
      <a class="button" href={href(ns, ['workflows'])}>Run a workflow…</a>
      {!isMistaken && <CopyAsCommand command={{ line: commandLine(ns, 'instance', 'list', ...commandWords), http: httpCall('GET', path, filter) }} />}
    </>}>
      <Filters ns={ns} />
      <Loaded resource={counts} ns={ns} shown={list}>{(data) => <CountBar counts={data} />}</Loaded>
      {!isMistaken && <Loaded resource={list} ns={ns}>{(data) => (data.items.length === 0 && data.next === null
        ? <><Newer ids={newer} newest={newest.current} show={rereadAll} /><NoInstances ns={ns} counts={counts.data} /></>
        : (
          <>
            <Newer ids={newer} newest={newest.current} show={rereadAll} />
            <List ns={ns} items={data.items} selected={selected} setSelected={setSelected} />
            <Bulk key={address} chosen={chosen} filter={filter} act={(verb, target) => setAction({ verb, target, address })} />
            <More list={list} />
          </>
        ))}
      </Loaded>}
      {/* A click on a button also applies what was typed into a filter: then it was for other rows. */}
      {action?.address === address && <InstanceAction ns={ns} verb={action.verb} target={action.target} close={() => setAction(null)} changed={() => { setSelected(new Set()); rereadAll() }} />}
    </Page>
  )
}

/** An instance of the list, and whether the list, read again, has it no more. */
type Row = InstanceHead & { isGone?: boolean }

/** The ids without some; the same set if there are none of them. */
function without(ids: Set<string>, isOut: (id: string) => boolean): Set<string> {
  const left = [...ids].filter((id) => !isOut(id))
  return left.length === ids.size ? ids : new Set(left)
}

/** Whether an instance fits the status and the start that a filter names. */
function fits(item: InstanceHead, { status, since }: Query): boolean {
  return (!status || String(status).split(',').includes(item.status)) && (!since || Date.parse(item.startedAt) >= Date.parse(String(since)))
}

/** Whether an id would stand before the last row of a page, or the page is the last. */
function isWithin(id: string, { items, next }: Pick<Instances, 'items' | 'next'>, isOldest: boolean): boolean {
  const last = items.at(-1)?.id
  return next === null || (last !== undefined && (isOldest ? id < last : id > last))
}

function Newer({ ids, newest, show }: { ids: Set<string>; newest: string; show: () => void }) {
  // Its line is always there, so that no row moves when the button comes.
  return <div class="newer-line">{ids.size > 0 && <button type="button" class="newer" onClick={show}>{count(ids.size)} {[...ids].every((id) => id > newest) ? 'newer' : 'more'}: show them</button>}</div>
}

function Filters({ ns }: { ns: string }) {
  const { query } = route.value
  const get = (name: string): string => query.get(name) ?? ''
  // What was opened stays open when its last field is emptied.
  const [isOpen, setOpen] = useState(false)
  const workflows = useGet<Workflows>(inNamespace(ns, 'workflows'), { limit: 1000 })
  const names = new Set([...(workflows.data?.items.map((item) => item.id) ?? []), ...(get('workflow') ? [get('workflow')] : [])])
  const statuses = new Set(get('status').split(',').filter(Boolean))
  const toggle = (status: string): void => {
    if (statuses.has(status)) statuses.delete(status)
    else statuses.add(status)
    setQuery({ status: [...statuses].join(',') })
  }
  return (
    <FilterForm names={kFilters}>
      <label>{kLabels.workflow}
        <select value={get('workflow')} onChange={(event) => setQuery({ workflow: event.currentTarget.value })}>
          <option value="">any</option>{[...names].map((name) => <option value={name}>{name}</option>)}
        </select>
      </label>
      {workflows.data && workflows.data.next !== null && <label>or another; the choice has the first {count(workflows.data.items.length)}<FilterField size={12} value={get('workflow')} set={(text) => setQuery({ workflow: text })} /></label>}
      <fieldset class="chips"><legend>{kLabels.status}</legend>
        {kStatuses.map((status) => <button type="button" class="small" aria-pressed={statuses.has(status)} onClick={() => toggle(status)}><Status status={status} /></button>)}
      </fieldset>
      <label>{kLabels.since}<TimeChoice name="since" /></label>
      <label>{kLabels.endedSince}<TimeChoice name="endedSince" /></label>
      <label>{kLabels.state}<FilterField size={12} value={get('state')} set={(text) => setQuery({ state: text })} /></label>
      <label>{kLabels.waitsFor}<FilterField size={16} value={get('waitsFor')} set={(text) => setQuery({ waitsFor: text })} /></label>
      <label>{kLabels.error}<FilterField size={12} placeholder="payment.*" value={get('error')} set={(text) => setQuery({ error: text })} /></label>
      <details onToggle={(event) => setOpen(event.currentTarget.open)} open={isOpen || ['id', 'key', 'correlation', 'parent', 'has', 'order', 'until', 'endedUntil'].some((name) => query.has(name)) || [get('since'), get('endedSince')].some((text) => text !== '' && !(text in kLengths))}>
        <summary>More filters</summary>
        <div class="filters">
          {(['id', 'key', 'correlation', 'parent'] as const).map((name) => <label>{kLabels[name]}<FilterField size={14} value={get(name)} set={(text) => setQuery({ [name]: text })} /></label>)}
          {kTimes.map((name) => <label>{{ since: 'Started since', until: kLabels.until, endedSince: 'Ended since', endedUntil: kLabels.endedUntil }[name]}<FilterField size={16} placeholder="06:00 or 2h" value={typedTime(get(name))} set={(text) => setQuery({ [name]: storedTime(text, dayIn(name)) })} mistake={timeMistake} /></label>)}
          <label>{kLabels.has}<select value={get('has')} onChange={(event) => setQuery({ has: event.currentTarget.value })}><option value="">any</option><option>retrying</option><option>calls</option><option>deadline</option><option>compensations</option></select></label>
          <label>{kLabels.order}<select value={get('order')} onChange={(event) => setQuery({ order: event.currentTarget.value })}><option value="">newest first</option><option value="oldest">oldest first</option></select></label>
        </div>
      </details>
    </FilterForm>
  )
}

/** The times that can be chosen. */
const kLengths: Record<string, string> = { '15m': 'last 15 m', '1h': 'last hour', '24h': 'last 24 h', '7d': 'last 7 d' }

/** The choice of the time since which an instance has started or ended; the address may have another one. */
function TimeChoice({ name }: { name: 'since' | 'endedSince' }) {
  const chosen = route.value.query.get(name) ?? ''
  const choices = { '': 'any time', ...kLengths }
  const all = chosen in choices ? choices : { ...choices, [chosen]: `since ${typedTime(chosen)}` }
  return <select value={chosen} onChange={(event) => setQuery({ [name]: event.currentTarget.value })}>{Object.entries(all).map(([value, text]) => <option value={value}>{text}</option>)}</select>
}

/** The filters of the address that the counts do not know: they are by workflow, state and status. */
function ignoredFilters(): Array<keyof typeof kLabels> {
  return kFilters.filter((name) => !['workflow', 'status', 'state', 'order'].includes(name) && route.value.query.get(name))
}

function CountBar({ counts }: { counts: InstanceCounts }) {
  const numbers = new Map(counts.items.map((item) => [item.status, item.count]))
  const shown = kStatuses.filter((status) => numbers.get(status))
  const ignored = ignoredFilters()
  return (
    <ul class="counts" aria-label="Counts by status">
      {shown.length === 0 && <li>no instances</li>}
      {shown.map((status) => <li><a href={href(route.value.ns, ['instances'], withFilter('status', status))}><Status status={status} /> {count(numbers.get(status) ?? 0)}</a></li>)}
      <li class="quiet">exact{ignored.length > 0 && <>, counted without {labels(ignored)}</>}, <Clock at={counts.asOf} /></li>
    </ul>
  )
}

function withFilter(name: (typeof kFilters)[number], value: string): URLSearchParams {
  const next = new URLSearchParams(route.value.query)
  next.set(name, value)
  return next
}

/** The filters that the address names. */
function activeFilters(): Array<keyof typeof kLabels> {
  return kFilters.filter((name) => route.value.query.get(name) && name !== 'order')
}

/** A filter and its value in words. */
function filterText(name: keyof typeof kLabels): string {
  const value = route.value.query.get(name) ?? ''
  return `“${kLabels[name]}” ${kLengths[value] ?? typedTime(value)}`
}

function NoInstances({ ns, counts }: { ns: string; counts: InstanceCounts | undefined }) {
  const { query } = route.value
  const active = activeFilters()
  const total = counts?.items.reduce((sum, item) => sum + item.count, 0) ?? 0
  const dropped = [...(query.get('status') ? ['status' as const] : []), ...ignoredFilters()]
  if (active.length > 0) {
    return (
      <Empty>
        <p>No instance fits all filters.{dropped.length > 0 && <> Without {dropped.length === 1 ? 'the filter' : 'the filters'} {labels(dropped)} there {total === 1 ? 'is' : 'are'} {plural(total, 'instance')}{query.get('workflow') && ` of ${query.get('workflow')}`}{query.get('state') && ` in ${query.get('state')}`}.</>}</p>
        <p>{active.map((name) => <><button type="button" class="small" onClick={() => setQuery({ [name]: null })}>Drop {filterText(name)}</button> </>)}</p>
      </Empty>
    )
  }
  return (
    <Empty command={commandLine(ns, 'run', 'WORKFLOW', '--input', '{}')}>
      <p>No instances yet. Each start of a workflow makes one: by a call, by an event, or by a schedule.</p>
      <p>Start one of <a href={href(ns, ['workflows'])}>the workflows</a>, or:</p>
    </Empty>
  )
}

/** The error of an ended instance; for others what comes next. */
function Outcome({ item }: { item: InstanceHead }) {
  if (item.error) return <><a href={href(route.value.ns, ['instances'], withFilter('error', item.error.code))} title="The instances with this error"><code>{item.error.code}</code></a>{item.error.msg && <>: <Timed text={item.error.msg} /></>}{item.compensation && ` · ${plural(item.compensation.left, 'compensation')} left`}</>
  if (item.damage) return <>{item.damage}</>
  if (item.nextRetryAt) return <>next attempt <Relative at={item.nextRetryAt} /></>
  // A delay ends, and the instance continues; another wait times out.
  if (item.deadline && !item.endedAt) return <>{item.waits?.some((wait) => 'until' in wait) ? 'continues' : 'times out'} <Relative at={item.deadline} /></>
  return null
}

/** What an instance waits for: events, with what it asks of their attributes, calls, or a time. */
function WaitsFor({ item }: { item: InstanceHead }) {
  if (!item.waits) return null
  return (
    <ul>
      {item.waits.map((wait) => <Wait wait={wait} />)}
      {item.moreWaits !== undefined && <li class="quiet">and {item.moreWaits} more</li>}
    </ul>
  )
}

function Wait({ wait }: { wait: NonNullable<InstanceHead['waits']>[number] }) {
  if ('for' in wait) return <li>{wait.for} {wait.key !== undefined && <code>{JSON.stringify(wait.key)}</code>}</li>
  if ('until' in wait) return <li>{wait.what} until <Clock at={wait.until} /></li>
  if ('calls' in wait) return <li>{plural(wait.calls, 'call')}{wait.function && <> of {wait.function}</>}</li>
  if (!('type' in wait)) return <li>{wait.workflow === undefined ? 'call' : 'subflow'} {wait.function ?? wait.index}</li>
  return <li>{wait.type}{wait.context && Object.entries(wait.context as Record<string, { equals?: string; pattern?: string }>).map(([name, asks]) => <span class="quiet"> {name} {asks.equals === undefined ? `~ ${asks.pattern}` : `= ${JSON.stringify(asks.equals)}`}</span>)}</li>
}

/** When an instance has ended, and after how long; of one that has not, how long ago it started. */
function End({ item: { endedAt, startedAt } }: { item: InstanceHead }) {
  const end = endedAt ? Date.parse(endedAt) : now.value
  const length = duration(Math.max(0, end - Date.parse(startedAt)))
  return endedAt ? <><Clock at={endedAt} />, <span class="quiet nowrap">after {length}</span></> : <span class="quiet nowrap">{length} so far</span>
}

function List({ ns, items, selected, setSelected }: { ns: string; items: InstanceHead[]; selected: Set<string>; setSelected: (ids: Set<string>) => void }) {
  const columns = useMemo(() => columnsOf(ns, selected, setSelected), [ns, selected])
  return <Table caption="Instances" items={items} keyOf={(item) => item.id} columns={columns} />
}

function columnsOf(ns: string, selected: Set<string>, setSelected: (ids: Set<string>) => void): Array<Column<Row>> {
  const toggle = (id: string): void => {
    const next = new Set(selected)
    if (!next.delete(id)) next.add(id)
    setSelected(next)
  }
  return [
    { name: '', cell: (item) => <input type="checkbox" aria-label={`Select ${item.id}`} checked={selected.has(item.id)} disabled={item.isGone} onChange={() => toggle(item.id)} /> },
    { name: 'Instance', isHeader: true, cell: (item) => <InstanceLink ns={ns} id={item.id} /> },
    { name: 'Workflow', cell: (item) => <WorkflowLink ns={ns} id={item.workflow} revision={item.revision} /> },
    { name: 'Status', cell: (item) => <><Status status={item.status} />{item.isGone && <span class="quiet" title="It was deleted, or does not fit the filter any more"> no longer in this list</span>}</> },
    { name: 'State', cell: (item) => <>{item.state}{item.failedState !== undefined && item.failedState !== item.state && <span class="quiet"> after {item.failedState} failed</span>}</> },
    { name: 'Waits for', isWide: true, cell: (item) => <WaitsFor item={item} /> },
    { name: 'Started', cell: (item) => <Clock at={item.startedAt} /> },
    { name: 'Ended', cell: (item) => <End item={item} /> },
    { name: 'Error, or what comes next', isWide: true, cell: (item) => <Outcome item={item} /> },
  ]
}

/** Which instances are chosen, and what can be done to them. The list may change while the dialog of an action is open, so the dialog is not a part of it. */
function Bulk({ chosen, filter, act }: { chosen: InstanceHead[]; filter: Query; act: (verb: Verb, target: Target) => void }) {
  const [isAll, setAll] = useState(false)
  const targetOf = (verb: Verb): Target => {
    if (isAll) return { ids: [], filter: { query: filter, text: activeFilters().map(filterText).join(', ') || 'all instances of the namespace' } }
    const items = chosen.filter((item) => verbsFor(item).includes(verb))
    return { ids: items.map((item) => item.id), items, others: chosen.length - items.length }
  }
  const isOffered = (verb: Verb): boolean => (isAll ? statusesOf(verb, filter) !== '' : chosen.some((item) => verbsFor(item).includes(verb)))
  return (
    <div class={isAll || chosen.length > 0 ? 'filters bulk is-used' : 'filters bulk'} role="group" aria-label="Actions on several instances">
      <span>{isAll ? 'All that the filter names' : `${count(chosen.length)} selected`}</span>
      {(Object.keys(kVerbs) as Verb[]).map((name) => <button type="button" title={`For ${kVerbs[name].statuses.join(', ')}. ${kVerbs[name].says}`} disabled={!isOffered(name)} onClick={() => act(name, targetOf(name))}>{kVerbs[name].name}…</button>)}
      <label><input type="checkbox" checked={isAll} onChange={(event) => setAll(event.currentTarget.checked)} /> all that the filter names</label>
    </div>
  )
}

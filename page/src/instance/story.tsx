// The records of an instance, oldest first on the page, read newest first in pages of 200.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { History, HistoryRecord, Instance } from '../api'
import { useBusy } from '../core/busy'
import { call, generation, inNamespace } from '../core/client'
import { shortJson } from '../core/json'
import { usePortion } from '../core/portions'
import { href, route, setQuery } from '../core/route'
import { duration } from '../core/time'
import { followsMore, kTimers } from './now'
import { kUndoKinds } from './undo'
import { Clock, Empty, EventIdLink, EventLink, InstanceLink, plural, Problem, Relative, Timed } from '../ui/basics'
import { Consequence } from '../ui/consequence'

export type StoryRecord = HistoryRecord & { cut?: true }

const kPage = 200
const kKept = 2000
const kIdle = 60_000

export interface StoryState {
  items: StoryRecord[]
  isReady: boolean
  error: Error | null
  hasOlder: boolean
  isLoading: boolean
  /** The number of the newest record when the page was opened: the stream goes on behind it. */
  first: number
  /** The numbers of the oldest record that exists, as far as it is known, and of the newest. */
  oldest: number
  last: number
  append: (records: StoryRecord[]) => void
  older: () => Promise<void>
  jump: (number: number) => Promise<void>
}

/** The history of an instance, from its newest page on; the first `erased` records do not exist any more. */
export function useStory(ns: string, id: string, erased = 0): StoryState {
  const path = inNamespace(ns, 'instances', id, 'history')
  const [items, setItems] = useState<StoryRecord[]>([])
  const [state, setState] = useState<{ isReady: boolean; error: Error | null; isLoading: boolean; first: number }>({ isReady: false, error: null, isLoading: true, first: 0 })
  const last = useRef(0)
  const round = generation.value
  const read = async (query: Record<string, string | number>): Promise<StoryRecord[]> => {
    const page = await call<History>('GET', path, { query: { order: 'newest', limit: kPage, data: '0', ...query } })
    return [...page.items].reverse()
  }
  const show = async (query: Record<string, string | number>, merge: (before: StoryRecord[], page: StoryRecord[]) => StoryRecord[]): Promise<StoryRecord[]> => {
    setState((before) => ({ ...before, isLoading: true }))
    try {
      const page = await read(query)
      last.current = Math.max(last.current, page.at(-1)?.number ?? 0)
      setItems((before) => merge(before, page))
      setState((before) => ({ ...before, isLoading: false, error: null }))
      return page
    } catch (error) {
      setState((before) => ({ ...before, isLoading: false, error: error as Error }))
      return []
    }
  }
  useBusy(!state.isReady)
  useEffect(() => {
    void show({}, (_before, page) => page).then((page) => setState((before) => (before.isReady ? before : { ...before, isReady: true, first: page.at(-1)?.number ?? 0 })))
  }, [path, round])
  return {
    items,
    ...state,
    hasOlder: (items[0]?.number ?? 1) > erased + 1,
    oldest: erased + 1,
    last: Math.max(last.current, items.at(-1)?.number ?? 0),
    append: (records) => {
      const known = last.current
      const fresh = records.filter((record) => record.number > known)
      last.current = Math.max(known, fresh.at(-1)?.number ?? 0)
      if (fresh.length > 0) setItems((before) => ((before.at(-1)?.number ?? 0) === known ? [...before, ...fresh].slice(-kKept) : before))
    },
    older: async () => {
      // Without a record, the newest page is read, as at first.
      const first = items[0]?.number
      await show(first === undefined ? {} : { before: first }, (before, page) => [...page, ...before].slice(0, kKept))
    },
    jump: async (number) => { await show({ before: number + kPage }, (_before, page) => page) },
  }
}

const kFilters: Record<string, string[] | null> = {
  all: null,
  errors: ['raised', 'caught', 'timedout', 'retrying', 'ended'],
  waits: ['entered', 'woken', 'elapsed', 'timedout', 'skipped', 'queued', 'admitted', 'throttled', 'released'],
  calls: ['called', 'returned', 'retrying'],
  compensations: kUndoKinds,
}

export function Story({ ns, instance, story, at }: { ns: string; instance: Instance; story: StoryState; at: number | null }) {
  const only = route.value.query.get('show') ?? 'all'
  const isFolded = route.value.query.get('fold') !== '0'
  const [search, setSearch] = useState('')
  const kinds = kFilters[only] ?? null
  const shown = story.items.filter((record) => (kinds === null || kinds.includes(record.kind)) && (search === '' || shortJson(record, 100_000).toLowerCase().includes(search.toLowerCase())))
  const drawn = usePortion(shown.length)
  useEffect(() => {
    if (at !== null && story.isReady && !story.isLoading && story.items.length > 0 && !story.items.some((record) => record.number === at)) void story.jump(at)
  }, [at, story.isReady])
  return (
    <section aria-label="Story">
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>Look in these records<input type="search" value={search} onInput={(event) => setSearch(event.currentTarget.value)} /></label>
        <fieldset class="chips"><legend>Show</legend>
          {Object.keys(kFilters).map((name) => <button type="button" class="small" aria-pressed={only === name} onClick={() => setQuery({ show: name === 'all' ? null : name })}>{name}</button>)}
        </fieldset>
        <label><input type="checkbox" checked={isFolded} onChange={(event) => setQuery({ fold: event.currentTarget.checked ? null : '0' })} /> fold idle time</label>
        {story.last > kPage && <label>Jump to record<input size={8} inputMode="numeric" onChange={(event) => { const number = Number(event.currentTarget.value); if (number > 0) setQuery({ at: number }) }} /></label>}
      </form>
      {story.error && <Problem error={story.error} retry={() => void story.older()} ns={ns} />}
      {story.hasOlder && <p class="more"><button type="button" disabled={story.isLoading} onClick={() => void story.older()}>Older records</button> record {story.items[0]?.number} is the oldest of {plural(story.items.length, 'record')} here; {story.last} in all</p>}
      {shown.length === 0 && !story.isLoading && !story.error && (story.items.length === 0 ? <Empty><p>The history is empty: its records were trimmed by the settings of the namespace.</p></Empty> : <Empty><p>None of the {plural(story.items.length, 'record')} here fits. Choose <b>all</b>, or load older records.</p></Empty>)}
      <ol class="story">
        {shown.slice(0, drawn).map((record, index) => <StoryRow key={record.number} ns={ns} record={record} previous={shown[index - 1]} isFolded={isFolded} isAt={record.number === at} />)}
        {!instance.endedAt && (
          <li class="now-row"><span class="mono">now</span><span /><span /><span class="what"><span class="state">{instance.state}</span> {instance.status}{instance.timers?.[0] && <>, {kTimers[instance.timers[0].kind] ?? instance.timers[0].kind} <Relative at={instance.timers[0].at} />{followsMore(instance.timers[0].kind) && <>, then <Consequence ns={ns} of={instance.timers[0]} /></>}</>}</span></li>
        )}
      </ol>
    </section>
  )
}

function StoryRow({ ns, record, previous, isFolded, isAt }: { ns: string; record: StoryRecord; previous: StoryRecord | undefined; isFolded: boolean; isAt: boolean }) {
  const gap = previous ? Date.parse(record.time) - Date.parse(previous.time) : 0
  return (
    <>
      {isFolded && gap > kIdle && <li class="idle" aria-label={`${duration(gap)} idle`}>┄ {duration(gap)} idle ┄</li>}
      <li class={isAt ? 'is-at' : ''} data-record={record.number}>
        <a class="mono" href={href(ns, route.value.parts, { at: record.number })} aria-label={`Record ${record.number}`} aria-current={isAt ? 'true' : undefined}>{record.number}</a>
        <Clock at={record.time} exact />
        <span class="quiet number">{previous ? duration(gap) : '–'}</span>
        <span class="what"><span class="state">{record.state}</span> <span class={`kind kind-${record.kind}`}>{kWords[record.kind] ?? record.kind}</span> <Detail ns={ns} record={record} />
          {record.kind === 'entered' && <> <a href={href(ns, ['instances', route.value.parts[1] ?? '', 'data'], { at: record.number })}>what changed</a></>}
        </span>
      </li>
    </>
  )
}

const kWords: Partial<Record<HistoryRecord['kind'], string>> = { woken: 'woken by an event', elapsed: 'its time is over', raised: 'error', fixed: 'sets the error with which the instance ends', caught: 'error caught', timedout: 'timed out', run: 'a new run', continued: 'the next run', called: 'called', returned: 'answer', revived: 'started again', noted: 'noted what undoes it', compensating: 'makes its compensations', undoing: 'is undone by', compensationStopped: 'compensations stopped', queued: 'waits for a slot', admitted: 'got its slot', throttled: 'waits for the throttle', released: 'the throttle lets it begin' }

/** Which way an answer came that was not that of the runner of the call. */
const kAnswered: Record<string, string> = { operator: 'an operator', httpCallback: 'a callback over HTTP', natsCallback: 'a callback over NATS' }

/** The detail of a record; what names an event or an instance is a link. */
function Detail({ ns, record }: { ns: string; record: StoryRecord }): ComponentChildren {
  if (record.cut) return <span class="quiet">a large detail; it is shown after the page is read again</span>
  if (typeof record.detail !== 'object' || record.detail === null) return record.detail === undefined ? null : <code>{shortJson(record.detail)}</code>
  const entries = Object.entries(record.detail as Record<string, unknown>)
  return (
    <span class="detail">
      {entries.map(([name, value], index) => (
        <>{index > 0 && ' · '}<span class="quiet">{name}</span> {detailValue(ns, record.kind, name, value)}</>
      ))}
    </span>
  )
}

function detailValue(ns: string, kind: HistoryRecord['kind'], name: string, value: unknown): ComponentChildren {
  if (name === 'id' && (kind === 'woken' || kind === 'published') && typeof value === 'string') return <EventIdLink ns={ns} id={value} />
  if (name === 'event') {
    const event = value as { id?: string; type?: string; source?: string }
    return <>{event.type} <span class="quiet">from</span> {event.source} {event.id && <EventIdLink ns={ns} id={event.id} />}</>
  }
  if (name === 'by' && kind === 'returned' && typeof value === 'string') return kAnswered[value] ?? <code>{value}</code>
  if (name === 'sequence' && typeof value === 'number') return <EventLink ns={ns} sequence={value} />
  if ((name === 'instance' || name === 'parent' || name === 'caller') && typeof value === 'string' && value.length === 36) return <InstanceLink ns={ns} id={value} />
  // What a workflow logs is data.
  return <code>{typeof value !== 'string' ? shortJson(value, 400) : kind === 'log' ? value : <Timed text={value} />}</code>
}

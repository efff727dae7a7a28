// Everything that will fire, soonest first.
import type { Firings } from '../api'
import { inNamespace } from '../core/client'
import { commandLine, httpCall, option } from '../core/commands'
import { useLive } from '../core/live'
import { useGet, useThrottle } from '../core/resource'
import { href, route, setQuery } from '../core/route'
import { comingTimeOf, storedTime, timeMistake } from '../core/time'
import { Clock, count, Empty, InstanceLink, Loaded, Page, plural, Relative, WorkflowLink } from '../ui/basics'
import { Consequence, kFiringKinds } from '../ui/consequence'
import { CopyAsCommand } from '../ui/dialog'
import { FilterField, FilterForm } from '../ui/filter_field'
import { KeyOf, ServiceName } from '../ui/limits'
import { Table } from '../ui/table'
import type { PageProps } from '.'

const kFilters = ['kind', 'until'] as const

/** Until when the list goes, as buttons name it. */
const kUntil: Record<string, string> = { '': 'any time', '1h': '1 h', '24h': '24 h' }

/** How many firings the list has, and until when: "7 firings until 13:20". */
function Sum({ data, until }: { data: Firings; until: string | null }) {
  const last = until && data.complete ? until : data.items.at(-1)?.at
  return <p>{plural(data.items.length, 'firing')}{last && <> until <Clock at={last} /></>}</p>
}

export function NextPage({ ns }: PageProps) {
  const { query } = route.value
  const kinds = new Set((query.get('kind') ?? '').split(',').filter(Boolean))
  const limit = Number(query.get('limit') ?? 100)
  const path = inNamespace(ns, 'next')
  const chosen = query.get('until') ?? ''
  const until = comingTimeOf(chosen || null)
  const filter = { kind: [...kinds].join(','), until, limit }
  const firings = useGet<Firings>(timeMistake(chosen) ? null : path, filter)
  const soon = useThrottle(firings.reload, 2000)
  useLive({ ns, topics: ['counts'] }, { counts: soon })
  const toggle = (kind: string): void => {
    if (!kinds.delete(kind)) kinds.add(kind)
    setQuery({ kind: [...kinds].join(',') })
  }
  return (
    <Page title="Next" actions={<CopyAsCommand command={{ line: commandLine(ns, 'next', ...option('kind', filter.kind), ...option('until', chosen)), http: httpCall('GET', path, filter) }} />}>
      <p class="quiet">Everything that will fire, soonest first, and what follows.{until === null && ' Without an end, a schedule has its next tick here.'}</p>
      <FilterForm names={kFilters}>
        <fieldset class="chips"><legend>Kind</legend>{Object.entries(kFiringKinds).map(([kind, words]) => <button type="button" class="small" aria-pressed={kinds.has(kind)} onClick={() => toggle(kind)}>{words}</button>)}</fieldset>
        <fieldset class="chips"><legend>Until</legend>{Object.entries(kUntil).map(([length, words]) => <button type="button" class="small" aria-pressed={chosen === length} onClick={() => setQuery({ until: length })}>{words}</button>)}</fieldset>
        <label>Until (2h, 18:00 or RFC 3339)<FilterField size={24} value={chosen in kUntil ? '' : chosen} set={(text) => setQuery({ until: storedTime(text, 'next') })} mistake={timeMistake} /></label>
      </FilterForm>
      {timeMistake(chosen) === '' && <Loaded resource={firings} ns={ns}>{(data) => (
        <>
          {data.items.length === 0
            ? <Empty command={kinds.size > 0 || filter.until ? undefined : commandLine(ns, 'schedule', 'list')}><p>{kinds.size > 0 || filter.until ? 'Nothing that fits the filter will fire. Clear the filter to see all.' : 'Nothing will fire. Timeouts, delays, next attempts, delayed events, lifespans of groups, ticks of schedules, starts that debounce or batch has put off, and turns of throttles for which something waits are here.'}</p>{kinds.size === 0 && !filter.until && <p>Start an instance of one of <a href={href(ns, ['workflows'])}>the workflows</a> that waits, or see which of them have a schedule:</p>}</Empty>
            : (
              <>
                <Sum data={data} until={until} />
                <Table caption="What will fire" items={data.items} keyOf={(item) => `${item.at}${item.kind}${item.instance ?? ''}${item.workflow ?? item.service ?? item.image ?? ''}${item.task ?? ''}`} columns={[
                  { name: 'At', isHeader: true, cell: (item) => <Clock at={item.at} /> },
                  { name: 'In', cell: (item) => <Relative at={item.at} /> },
                  { name: 'What', cell: (item) => <>{kFiringKinds[item.kind]}{item.paused && ' (paused)'}{item.queued !== undefined && <span class="quiet">, {count(item.queued)} {item.queued === 1 ? 'waits' : 'wait'}</span>}{item.key !== undefined && <span class="quiet">, key <KeyOf value={item.key} /></span>}</> },
                  { name: 'Instance', cell: (item) => item.instance && (item.kind === 'pendingStart' ? <a class="mono" href={href(ns, ['queues'], { workflow: item.workflow ?? null })}>{item.instance}</a> : <InstanceLink ns={ns} id={item.instance} />) },
                  { name: 'Workflow or service', cell: (item) => (item.workflow ? <WorkflowLink ns={ns} id={item.workflow} /> : (item.service ?? item.image) !== undefined && <ServiceName ns={ns} of={item} />) },
                  { name: 'State', cell: (item) => item.state },
                  { name: 'Then', cell: (item) => <Consequence ns={ns} of={item} /> },
                ]} />
              </>
            )}
          <p class="more">
            {data.cutBy === 'limit' && data.exactUntil && <span>others follow from <Clock at={data.exactUntil} /> on</span>}{data.cutBy === 'look' && <span>{data.exactUntil ? <>nothing is missing before <Clock at={data.exactUntil} />, later items may be</> : 'others may be missing'} · the server looked at {count(data.looked)}</span>}
            {data.items.length >= limit && !data.complete && limit < 1000 && <button type="button" onClick={() => setQuery({ limit: Math.min(1000, limit * 2) })}>Show more</button>}
          </p>
        </>
      )}</Loaded>}
    </Page>
  )
}

// Everything that will fire, soonest first.
import type { Firings } from '../api'
import { inNamespace } from '../core/client'
import { commandLine, httpCall, option } from '../core/commands'
import { useLive } from '../core/live'
import { useGet, useThrottle } from '../core/resource'
import { route, setQuery } from '../core/route'
import { Clock, count, Empty, InstanceLink, Loaded, Page, Relative, WorkflowLink } from '../ui/basics'
import { CopyAsCommand } from '../ui/dialog'
import { Table } from '../ui/table'
import type { PageProps } from '.'

type Firing = Firings['items'][number]

const kKinds: Record<Firing['kind'], string> = {
  stateTimeout: 'timeout of the state', delay: 'end of a delay', retry: 'next attempt', interrupt: 'interrupt', kill: 'end by the kill timeout', runTimeout: 'timeout of the run',
  executionTimeout: 'timeout of the execution', call: 'next of its calls', queueTimeout: 'end of the wait for a slot', throttleTimeout: 'end of the wait for the throttle', delayedEvent: 'delayed event', lifespan: 'end of a lifespan', tick: 'tick of a schedule',
}

export function NextPage({ ns }: PageProps) {
  const { query } = route.value
  const kinds = new Set((query.get('kind') ?? '').split(',').filter(Boolean))
  const limit = Number(query.get('limit') ?? 100)
  const path = inNamespace(ns, 'next')
  const filter = { kind: [...kinds].join(','), until: query.get('until'), limit }
  const firings = useGet<Firings>(path, filter)
  const soon = useThrottle(firings.reload, 2000)
  useLive({ ns, topics: ['counts'] }, { counts: soon })
  const toggle = (kind: string): void => {
    if (!kinds.delete(kind)) kinds.add(kind)
    setQuery({ kind: [...kinds].join(',') })
  }
  return (
    <Page title="Next" actions={<CopyAsCommand command={{ line: commandLine(ns, 'next', ...option('kind', filter.kind), ...option('until', filter.until)), http: httpCall('GET', path, filter) }} />}>
      <p class="quiet">Everything that will fire, soonest first.</p>
      <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
        <fieldset class="chips"><legend>Kind</legend>{Object.keys(kKinds).map((kind) => <button type="button" class="small" aria-pressed={kinds.has(kind)} onClick={() => toggle(kind)}>{kind}</button>)}</fieldset>
        <label>Until (RFC 3339)<input size={24} value={query.get('until') ?? ''} onChange={(event) => setQuery({ until: event.currentTarget.value.trim() })} /></label>
      </form>
      <Loaded resource={firings} ns={ns}>{(data) => (
        <>
          {data.items.length === 0
            ? <Empty command={commandLine(ns, 'schedule', 'list')}><p>{kinds.size > 0 || filter.until ? 'Nothing of this kind will fire. Clear the filter to see all.' : 'Nothing will fire. Timeouts, delays, next attempts, delayed events, lifespans of groups, and ticks of schedules are here.'}</p></Empty>
            : (
              <Table caption="What will fire" items={data.items} keyOf={(item) => `${item.at}${item.kind}${item.instance ?? ''}${item.workflow ?? ''}`} columns={[
                { name: 'At', isHeader: true, cell: (item) => <Clock at={item.at} /> },
                { name: 'In', cell: (item) => <Relative at={item.at} /> },
                { name: 'What', cell: (item) => <>{kKinds[item.kind]}{item.paused && ' (paused)'}</> },
                { name: 'Instance', cell: (item) => item.instance && <InstanceLink ns={ns} id={item.instance} /> },
                { name: 'Workflow', cell: (item) => item.workflow && <WorkflowLink ns={ns} id={item.workflow} /> },
                { name: 'State', cell: (item) => item.state },
                { name: 'Then', cell: (item) => item.then },
              ]} />
            )}
          <p class="more">
            {count(data.items.length)} shown{data.cutBy === 'limit' && data.exactUntil && <span>; others follow from <Clock at={data.exactUntil} /> on</span>}{data.cutBy === 'look' && <span>{data.exactUntil ? <>; nothing is missing before <Clock at={data.exactUntil} />, later items may be</> : '; others may be missing'} · the server looked at {count(data.looked)}</span>}
            {data.items.length >= limit && !data.complete && limit < 1000 && <button type="button" onClick={() => setQuery({ limit: Math.min(1000, limit * 2) })}>Show more</button>}
          </p>
        </>
      )}</Loaded>
    </Page>
  )
}

// Services: where they are, whether they are paused, and how their tasks fare.
import { useState } from 'preact/hooks'
import type { ServicePaused, Services } from '../api'
import { call, inNamespace } from '../core/client'
import { commandLine, httpCall } from '../core/commands'
import { useLive } from '../core/live'
import { useGet, useInterval, useThrottle } from '../core/resource'
import { kServer } from '../core/route'
import { duration } from '../core/time'
import { count, Empty, Loaded, Page, Relative, Status } from '../ui/basics'
import { ActionDialog, CopyAsCommand } from '../ui/dialog'
import { Icon } from '../ui/icons'
import { Table } from '../ui/table'
import type { PageProps } from '.'

const kExample = '{"services": {"charge": {"url": "http://127.0.0.1:9000/charge"}}}'

type Service = Services['items'][number]

export function FunctionsPage({ ns }: PageProps) {
  const path = inNamespace(ns, 'functions')
  const services = useGet<Services>(path)
  const [action, setAction] = useState<Service | null>(null)
  const soon = useThrottle(services.reload, 2000)
  useLive({ ns, topics: ['counts'] }, { counts: soon })
  // Tasks come and go without a change of the counts of instances.
  useInterval(services.reload, 5000)
  return (
    <Page title="Functions" actions={<CopyAsCommand command={{ line: commandLine(ns, 'function', 'list'), http: httpCall('GET', path) }} />}>
      <Loaded resource={services} ns={ns}>{(data) => (data.items.length === 0
        ? <Empty command={commandLine('', 'namespace', 'create', ns, '--settings', kExample)}><p>No services. A service that the settings of the namespace name is here, and one for which there are tasks.</p><p>The settings name a service by its URL, for example so; they replace all settings that the namespace has, which <a href={`${kServer}?namespace=${encodeURIComponent(ns)}`}>the page of the server</a> shows and changes:</p></Empty>
        : (
          <>
            <Table caption="Services" items={data.items} keyOf={(item) => `${item.service}${item.global ?? ''}`} columns={[
              { name: 'Service', isHeader: true, cell: (item) => <>{item.service}{item.global && <span class="quiet"> of default</span>} <span class="quiet">{item.target.kind} <span class="mono">{item.target.at}</span></span></> },
              { name: 'Status', cell: (item) => (item.paused ? <Status status="paused" /> : <span class="nowrap">not paused</span>) },
              { name: 'Waiting', isNumber: true, cell: (item) => <>{count(item.waiting)}{item.oldest && <span class="quiet">, the oldest <Relative at={item.oldest} /></span>}</> },
              { name: 'Queued', isNumber: true, cell: (item) => count(item.queued ?? 0) },
              { name: 'Running', isNumber: true, cell: (item) => count(item.running) },
              { name: 'Workers', cell: (item) => <>{item.asking !== undefined && <span class={item.asking === 0 && item.waiting > 0 ? 'no' : ''}>{item.asking} {item.asking === 1 ? 'asks' : 'ask'}</span>}{item.scheduleToStart && <span class="quiet"> start in {duration(item.scheduleToStart.p50 * 1000)}, p99 {duration(item.scheduleToStart.p99 * 1000)}</span>}</> },
              { name: 'Latest error', isWide: true, cell: (item) => item.lastError && <><span class="no"><Icon name="warning" /> <code>{item.lastError.code}</code> {item.lastError.message}</span>, <Relative at={item.lastError.at} /></> },
              { name: 'Action', cell: (item) => <button type="button" class="small" onClick={() => setAction(item)}>{item.paused ? 'Resume…' : 'Pause…'}</button> },
            ]} />
            {data.items.some((item) => item.lastError) && <p class="quiet">The latest error of a service stays here when later calls succeed: the server does not note when a call has succeeded.</p>}
            {!data.complete && <p class="quiet">The server looked at {count(data.looked)} tasks; there are more, so the numbers are too small.</p>}
          </>
        ))}
      </Loaded>
      {action && <PauseDialog ns={ns} service={action} close={() => setAction(null)} changed={services.reload} />}
    </Page>
  )
}

function PauseDialog({ ns, service, close, changed }: { ns: string; service: Service; close: () => void; changed: () => void }) {
  const verb = service.paused ? 'resume' : 'pause'
  const path = inNamespace(ns, 'functions', service.service, verb)
  return (
    <ActionDialog title={`${verb === 'pause' ? 'Pause' : 'Resume'} the service ${service.service}?`} label={verb === 'pause' ? 'Pause' : 'Resume'} close={close}
      command={{ line: commandLine(ns, 'function', verb, service.service), http: httpCall('POST', path) }}
      run={async () => { const answer = await call<ServicePaused>('POST', path); changed(); return `The service ${answer.name} is ${answer.paused ? 'paused' : 'not paused'}` }}>
      <p>{verb === 'pause' ? `Its calls wait until it is resumed; ${service.running === 1 ? '1 task that runs goes' : `${count(service.running)} tasks that run go`} on.` : `Calls that wait are made: ${count(service.waiting)}. Those that wait for a slot or the throttle are made in their turn: ${count(service.queued ?? 0)}.`}</p>
    </ActionDialog>
  )
}

// Sources and inbound webhooks: where events of other programs come from, and how far they are read.
import { useState } from 'preact/hooks'
import type { InboundWebhook as WebhookFigures, InboundWebhooks, Namespace, Source, Sources } from '../api'
import { inNamespace } from '../core/client'
import { commandLine, httpCall } from '../core/commands'
import { useGet, useInterval } from '../core/resource'
import { href } from '../core/route'
import { count, Empty, Loaded, Page } from '../ui/basics'
import { CopyAsCommand } from '../ui/dialog'
import { Table } from '../ui/table'
import { Lag, Refusal, RequestError, SourceActionDialog, SourceState, WebhookActionDialog, WebhookState, type SourceAction } from '../sources/parts'
import { inboundWebhooksOf, sourceOfEvents, type InboundWebhook } from '../sources/webhooks'
import type { PageProps } from '.'

const kExample = '{"stream": "ORDERS", "subjects": ["shop.orders.*"], "mapping": {"type": "order.placed"}}'

export function SourcesPage({ ns }: PageProps) {
  const path = inNamespace(ns, 'sources')
  const sources = useGet<Sources>(path)
  const namespace = useGet<Namespace>(inNamespace(ns))
  const figures = useGet<InboundWebhooks>(inNamespace(ns, 'hooks'))
  const [webhook, setWebhook] = useState<WebhookFigures | null>(null)
  const [action, setAction] = useState<{ source: Source; action: SourceAction } | null>(null)
  // Messages come and are read without anything that the stream of the page names.
  useInterval(sources.reload, 2000, (sources.data?.items.length ?? 0) > 0)
  useInterval(figures.reload, 2000, (figures.data?.items.length ?? 0) > 0)
  return (
    <Page title="Sources" actions={<CopyAsCommand command={{ line: commandLine(ns, 'source', 'list'), http: httpCall('GET', path) }} />}>
      <section aria-labelledby="sources-title">
        <h2 id="sources-title">Streams of other programs</h2>
        <Loaded resource={sources} ns={ns}>{(data) => (data.items.length === 0
          ? (
            <Empty command={commandLine(ns, 'source', 'apply', 'orders', '--settings', kExample)}>
              <p>No sources. A source reads the messages of a stream that other programs fill, and publishes each of them as an event. It is here when it is applied, for example by:</p>
            </Empty>
          )
          : <SourceTable ns={ns} items={data.items} act={setAction} />)}
        </Loaded>
      </section>
      <section aria-labelledby="webhooks-title">
        <h2 id="webhooks-title">Inbound webhooks</h2>
        <Loaded resource={namespace} ns={ns} shown={sources}>{(data) => {
          const webhooks = inboundWebhooksOf(data.settings)
          return (
            <>
              {data.settingsError && <p class="notes">The settings of the namespace do not apply: {data.settingsError}</p>}
              {webhooks.length === 0
                ? (
                  <Empty command={commandLine('', 'namespace', 'create', ns, '--settings', '@settings.json')}>
                    <p>No inbound webhooks. Another service posts its own messages to an inbound webhook under a signature, and each becomes an event. It is here when the settings of the namespace have it under <code>hooks</code>; new settings replace the old ones:</p>
                  </Empty>
                )
                : <WebhookTable ns={ns} items={webhooks} figures={figures.data?.items ?? []} act={setWebhook} />}
            </>
          )
        }}</Loaded>
      </section>
      {action && <SourceActionDialog ns={ns} source={action.source} action={action.action} close={() => setAction(null)} done={sources.reload} />}
      {webhook && <WebhookActionDialog ns={ns} webhook={webhook} close={() => setWebhook(null)} done={figures.reload} />}
    </Page>
  )
}

function SourceTable({ ns, items, act }: { ns: string; items: Source[]; act: (action: { source: Source; action: SourceAction }) => void }) {
  return (
    <Table caption="Sources" items={items} keyOf={(item) => item.name} columns={[
      { name: 'Source', isHeader: true, cell: (item) => <a href={href(ns, ['sources', item.name])}>{item.name}</a> },
      { name: 'Stream', cell: (item) => <>{item.stream} <span class="mono quiet">{item.subjects.join(' ')}</span></> },
      { name: 'Status', cell: (item) => <SourceState source={item} /> },
      { name: 'Lag', isNumber: true, cell: (item) => <Lag source={item} /> },
      { name: 'Position', isNumber: true, cell: (item) => count(item.position) },
      { name: 'Events', isNumber: true, cell: (item) => count(item.events) },
      { name: 'Dead letters', isNumber: true, cell: (item) => <span class={item.refused > 0 ? 'no' : ''}>{count(item.refused)}</span> },
      { name: 'Latest error', isWide: true, cell: (item) => item.lastRefusal && <Refusal ns={ns} refusal={item.lastRefusal} /> },
      {
        name: 'Action',
        cell: (item) => (
          <>
            <button type="button" class="small" onClick={() => act({ source: item, action: item.paused ? 'resume' : 'pause' })}>{item.paused ? 'Resume…' : 'Pause…'}</button>
            {' '}<a class="button" href={href(ns, ['sources', item.name, 'try'])}>Try</a>
          </>
        ),
      },
    ]} />
  )
}

/** The later one of the latest refusal and the latest error. */
function latestError(one: WebhookFigures | undefined) {
  if (!one?.lastRefusal || !one.lastError) return one?.lastRefusal ?? one?.lastError
  return Date.parse(one.lastRefusal.at) > Date.parse(one.lastError.at) ? one.lastRefusal : one.lastError
}

function WebhookTable({ ns, items, figures, act }: { ns: string; items: InboundWebhook[]; figures: WebhookFigures[]; act: (webhook: WebhookFigures) => void }) {
  const figuresOf = (item: InboundWebhook) => figures.find((one) => one.name === item.name)
  return (
    <Table caption="The inbound webhooks" items={items} keyOf={(item) => item.name} columns={[
      {
        name: 'Inbound webhook',
        isHeader: true,
        cell: (item) => {
          const source = sourceOfEvents(ns, 'webhook', item.name, item.mapping)
          return <><a href={href(ns, ['webhooks', item.name])}>{item.name}</a> <span class="mono quiet">{inNamespace(ns, 'hooks', item.name)}</span>, type <span class="mono">{String(item.mapping.type)}</span>{source !== null && <>, <a href={href(ns, ['events'], { source })}>its events</a></>}</>
        },
      },
      { name: 'Signature', cell: (item) => <>{item.form} <span class="quiet">by</span> {item.secrets.join(', ')}</> },
      { name: 'Status', cell: (item) => { const one = figuresOf(item); return one && <WebhookState webhook={one} /> } },
      { name: 'Accepted', isNumber: true, cell: (item) => { const one = figuresOf(item); return one && count(one.accepted) } },
      { name: 'Repeated', isNumber: true, cell: (item) => { const one = figuresOf(item); return one && count(one.repeated) } },
      { name: 'Refused', isNumber: true, cell: (item) => { const one = figuresOf(item); return one && <span class={one.refused > 0 ? 'no' : ''}>{count(one.refused)}</span> } },
      { name: 'Not mapped', isNumber: true, cell: (item) => { const one = figuresOf(item); return one && <span class={one.unmapped > 0 ? 'no' : ''}>{count(one.unmapped)}</span> } },
      { name: 'Latest error', isWide: true, cell: (item) => { const failure = latestError(figuresOf(item)); return failure && <RequestError failure={failure} /> } },
      { name: 'Action', cell: (item) => { const one = figuresOf(item); return one && <button type="button" class="small" onClick={() => act(one)}>{one.paused ? 'Resume…' : 'Pause…'}</button> } },
    ]} />
  )
}

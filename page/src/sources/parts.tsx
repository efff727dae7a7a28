// What the lists and the pages of sources and inbound webhooks share: states, errors, actions, events.
import type { InboundWebhook, InboundWebhookPaused, Source, SourceDeleted, SourcePaused, StoredEventHead, StoredEvents } from '../api'
import { call, inNamespace } from '../core/client'
import { commandLine, httpCall } from '../core/commands'
import { useLive } from '../core/live'
import { useList, useThrottle } from '../core/resource'
import { href } from '../core/route'
import { Clock, count, Empty, EventLink, Loaded, More, plural, Status } from '../ui/basics'
import { ActionDialog } from '../ui/dialog'
import { Icon } from '../ui/icons'
import { Effects } from '../ui/judged'
import { Table } from '../ui/table'

/** Whether a source reads its stream, and if not, why. */
export function SourceState({ source }: { source: Source }) {
  if (source.paused) return <Status status="paused" />
  if (source.waits) return <span class="warning"><Icon name="wait" /> waits: {source.waits.msg} <code>{source.waits.code}</code></span>
  if (source.reading) return <span class="ok nowrap"><Icon name="check" /> reading</span>
  return <span class="quiet nowrap">not reading yet</span>
}

/** How many messages are not applied yet. */
export function Lag({ source }: { source: Source }) {
  return source.lag === undefined ? <span class="quiet">not known</span> : <>{count(source.lag)}</>
}

/** The newest message that became a dead letter. */
export function Refusal({ ns, refusal }: { ns: string; refusal: NonNullable<Source['lastRefusal']> }) {
  return <>message {count(refusal.sequence)}: {refusal.msg} <a href={href(ns, ['dead'], { reason: refusal.code })}><code>{refusal.code}</code></a> <Clock at={refusal.at} /></>
}

export type SourceAction = 'pause' | 'resume' | 'delete'

export function SourceActionDialog({ ns, source, action, close, done }: { ns: string; source: Source; action: SourceAction; close: () => void; done: () => void }) {
  const { name } = source
  const path = inNamespace(ns, 'sources', name)
  if (action === 'delete') {
    return (
      <ActionDialog title={`Delete the source ${name}?`} label="Delete" isDanger close={close} command={{ line: commandLine(ns, 'source', 'delete', name), http: httpCall('DELETE', path) }}
        run={async () => { await call<SourceDeleted>('DELETE', path); done(); return `The source ${name} was deleted` }}>
        <p>Its position is erased; this cannot be taken back. {source.ownStream
          ? <>The stream {source.stream}, which millrace made for the source, is deleted too, together with messages that were not read. The events that were made of its messages stay as they are.</>
          : <>The stream {source.stream} and the events that were made of its messages stay as they are.</>} Events of the source that are not applied yet become dead letters.
        </p>
      </ActionDialog>
    )
  }
  const label = action === 'pause' ? 'Pause' : 'Resume'
  return (
    <ActionDialog title={`${label} the source ${name}?`} label={label} close={close} command={{ line: commandLine(ns, 'source', action, name), http: httpCall('POST', `${path}/${action}`) }}
      run={async () => { const answer = await call<SourcePaused>('POST', `${path}/${action}`); done(); return `The source ${answer.name} ${answer.paused ? 'is paused' : 'reads its stream'}` }}>
      <p>{action === 'pause'
        ? `It reads no more messages; it continues where it was when it is resumed. Messages that the stream ${source.stream} removes in the meantime are not read. Events that it has published are applied.`
        : `It continues with the first message behind its position, ${count(source.position)}.`}</p>
    </ActionDialog>
  )
}

/** Whether an inbound webhook takes requests. */
export function WebhookState({ webhook }: { webhook: InboundWebhook }) {
  if (webhook.paused) return <Status status="paused" />
  return <span class="ok"><Icon name="check" /> takes requests</span>
}

/** The newest request that was refused, or that became no event although its signature is valid. */
export function RequestError({ failure }: { failure: NonNullable<InboundWebhook['lastError']> }) {
  return <>{failure.msg} <code>{failure.code}</code> <Clock at={failure.at} /></>
}

export function WebhookActionDialog({ ns, webhook, close, done }: { ns: string; webhook: InboundWebhook; close: () => void; done: () => void }) {
  const { name } = webhook
  const action = webhook.paused ? 'resume' : 'pause'
  const label = webhook.paused ? 'Resume' : 'Pause'
  const path = inNamespace(ns, 'hooks', name, action)
  return (
    <ActionDialog title={`${label} the inbound webhook ${name}?`} label={label} close={close} command={{ line: commandLine(ns, 'webhook', action, name), http: httpCall('POST', path) }}
      run={async () => { const answer = await call<InboundWebhookPaused>('POST', path); done(); return `The inbound webhook ${answer.name} ${answer.paused ? 'is paused' : 'takes requests'}` }}>
      <p>{webhook.paused
        ? 'Requests with a valid signature become events again.'
        : 'Requests with a valid signature are answered 503 until it is resumed. Many services send them again later, but not all do.'}</p>
    </ActionDialog>
  )
}

/** The newest events with an attribute `source`, and what became of each. */
export function NewestEvents({ ns, source, children }: { ns: string; source: string; children: string }) {
  const path = inNamespace(ns, 'events')
  const list = useList<StoredEventHead, StoredEvents>(path, { source, limit: 10 })
  const soon = useThrottle(list.reload, 2000)
  useLive({ ns, topics: ['events'] }, { events: ({ items }) => { if (items.some((item) => item.source === source)) soon() } })
  return (
    <section aria-labelledby="events-title">
      <h2 id="events-title">Newest events</h2>
      <Loaded resource={list} ns={ns}>{(data) => (data.items.length === 0 && data.next === null
        ? <Empty><p>{children}</p></Empty>
        : (
          <>
            <Table caption="The newest events" items={data.items} keyOf={(item) => String(item.sequence)} columns={[
              { name: '#', isHeader: true, cell: (item) => <EventLink ns={ns} sequence={item.sequence} /> },
              { name: 'Time', cell: (item) => <Clock at={item.time} exact /> },
              { name: 'Type', cell: (item) => item.type },
              { name: 'Id', cell: (item) => <span class="mono">{item.id}</span> },
              { name: 'What became of it', isWide: true, cell: (item) => (item.applied ? <Effects ns={ns} effects={item.effects} total={item.effectCount} /> : 'not applied yet') },
            ]} />
            <More list={list} />
          </>
        ))}
      </Loaded>
      <p><a href={href(ns, ['events'], { source })}>Events with this source</a></p>
    </section>
  )
}

/** What happened to the streams of a source, in words; counts of 0 are left out. */
export function incidentsOf(source: Source): string[] {
  const all: Array<[number | undefined, (number: number) => string]> = [
    [source.consumers, (number) => `${plural(number, 'consumer')} created`],
    [source.interrupted, (number) => `reading was interrupted ${plural(number, 'time')}`],
    [source.recreated, (number) => `the stream was created again ${plural(number, 'time')}`],
    [source.rolledBack, (number) => `the stream lost messages that were applied ${plural(number, 'time')}`],
    [source.gone, (number) => `${plural(number, 'sequence')} removed from the stream before ${number === 1 ? 'it was' : 'they were'} read`],
    [source.lostEvents, (number) => `the event stream lost events of the source ${plural(number, 'time')}`],
  ]
  return all.flatMap(([number, says]) => (number === undefined || number === 0 ? [] : [says(number)]))
}

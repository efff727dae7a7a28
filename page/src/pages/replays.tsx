// Replays of ranges of the event stream: their progress, and a form that begins one.
import { useState } from 'preact/hooks'
import type { Replay, ReplayRange, Replays, ReplayStarted } from '../api'
import { call, inNamespace } from '../core/client'
import { commandLine, httpCall, option } from '../core/commands'
import { useGet, useInterval } from '../core/resource'
import { href, route } from '../core/route'
import { Clock, count, Empty, Loaded, Page, plural, Problem } from '../ui/basics'
import { ActionDialog, announce, CopyAsCommand } from '../ui/dialog'
import { Table } from '../ui/table'
import type { PageProps } from '.'

type Form = Record<'since' | 'until' | 'type' | 'source' | 'first' | 'last' | 'rate' | 'workflow' | 'instance', string>

export function ReplaysPage({ ns }: PageProps) {
  const path = inNamespace(ns, 'replays')
  const list = useGet<Replays>(path)
  const [stopped, setStopped] = useState<Replay | null>(null)
  useInterval(list.reload, 1000, list.data?.items.some((item) => item.state === 'running') ?? false)
  return (
    <Page title="Replays" back={{ href: href(ns, ['events']), label: 'Events' }} actions={<CopyAsCommand command={{ line: commandLine(ns, 'replay', 'list'), http: httpCall('GET', path) }} />}>
      <RangeForm ns={ns} changed={list.reload} />
      <Loaded resource={list} ns={ns}>{(data) => (data.items.length === 0
        ? <Empty command={commandLine(ns, 'event', 'replay', '--since', '2h', '--type', 'order.*', '--dry-run')}><p>No replays of ranges. A replay sends stored events again in the background; the form above begins one, and so does:</p></Empty>
        : (
          <Table caption="Replays of ranges" items={data.items} keyOf={(item) => item.id} columns={[
            { name: 'Created', isHeader: true, cell: (item) => <Clock at={item.createdAt} /> },
            { name: 'State', cell: (item) => <>{item.state}{item.dryRun && ' (dry run)'}{item.waits && <span class="warning"> waits: {item.waits.msg}</span>}{item.error && <span class="no"> {item.error.msg}</span>}</> },
            { name: 'Events', cell: (item) => [item.type, item.source && `from ${item.source}`, item.to?.workflow && `to ${item.to.workflow}`, item.to?.instance && `to ${item.to.instance}`].filter(Boolean).join(' ') || 'all' },
            { name: 'Position', isNumber: true, cell: (item) => `${count(item.position)} of ${count(item.first)} – ${count(item.last)}` },
            { name: 'Matched', isNumber: true, cell: (item) => count(item.matched) },
            { name: 'Sent', isNumber: true, cell: (item) => count(item.sent) },
            { name: 'Refused', isNumber: true, cell: (item) => count(item.refused) },
            { name: 'Action', cell: (item) => item.state === 'running' && <button type="button" class="small" onClick={() => setStopped(item)}>Stop…</button> },
          ]} />
        ))}
      </Loaded>
      {stopped && (
        <ActionDialog title="Stop this replay?" label="Stop" close={() => setStopped(null)} command={{ line: commandLine(ns, 'replay', 'stop', stopped.id), http: httpCall('DELETE', `${path}/${stopped.id}`) }}
          run={async () => { await call('DELETE', `${path}/${stopped.id}`); list.reload(); return 'The replay was stopped' }}>
          <p>What it has sent stays: {plural(stopped.sent, 'event')}.</p>
        </ActionDialog>
      )}
    </Page>
  )
}

function RangeForm({ ns, changed }: { ns: string; changed: () => void }) {
  const { query } = route.value
  const [form, setForm] = useState<Form>({ since: query.get('since') ?? '', until: '', type: query.get('type') ?? '', source: '', first: query.get('since') ? '' : '1', last: '', rate: '', workflow: '', instance: '' })
  const [error, setError] = useState<Error | null>(null)
  const path = inNamespace(ns, 'replays')
  const [isAsking, setAsking] = useState(false)
  const tally = async (): Promise<void> => {
    setError(null)
    try {
      await call<ReplayStarted>('POST', path, { body: rangeOf(form, true) })
      announce('The events are being counted')
      changed()
    } catch (failure) {
      setError(failure as Error)
    }
  }
  const words = (['since', 'until', 'first', 'last', 'type', 'source', 'rate'] as const).flatMap((name) => option(name, form[name]))
  const command = { line: commandLine(ns, 'event', 'replay', ...words, ...option('to-workflow', form.workflow), ...option('to-instance', form.instance)), http: httpCall('POST', path, {}, rangeOf(form, false)) }
  const labels: Record<keyof Form, string> = { since: 'Stored since (RFC 3339)', until: 'Stored before', type: 'Event type', source: 'Source', first: 'From sequence', last: 'To sequence', rate: 'Events a second', workflow: 'Only to the workflow', instance: 'Only to the instance' }
  return (
    <>
    <form class="panel" onSubmit={(event) => { event.preventDefault(); void tally() }} aria-label="Replay a range">
      <h2>Replay a range</h2>
      <div class="filters">
        {(Object.keys(labels) as Array<keyof Form>).map((name) => <label>{labels[name]}<input size={name === 'since' || name === 'until' ? 24 : 12} value={form[name]} onInput={(event) => setForm({ ...form, [name]: event.currentTarget.value.trim() })} /></label>)}
      </div>
      {error && <Problem error={error} />}
      <CopyAsCommand command={command} />
      <div class="buttons"><button type="submit">Count: nothing is sent</button><button type="button" class="primary" onClick={() => setAsking(true)}>Replay…</button></div>
    </form>
    {isAsking && (
      <ActionDialog title="Replay the events of this range?" label="Replay" close={() => setAsking(false)} command={command} run={async () => { await call<ReplayStarted>('POST', path, { body: rangeOf(form, false) }); changed(); return 'The replay runs in the background' }}>
        <p>Each stored event that fits is sent again under a new id{form.workflow || form.instance ? `, to ${form.workflow || form.instance} only` : ', to all listeners'}. “Count” says how many these are. A replay that runs can be stopped; the events that it has sent stay.</p>
      </ActionDialog>
    )}
    </>
  )
}

function rangeOf(form: Form, dryRun: boolean): ReplayRange {
  const text = (name: keyof Form): string | undefined => form[name] || undefined
  const number = (name: keyof Form): number | undefined => (form[name] === '' ? undefined : Number(form[name]))
  const to = form.workflow || form.instance ? { workflow: text('workflow'), instance: text('instance') } : undefined
  return { since: text('since'), until: text('until'), type: text('type'), source: text('source'), first: number('first'), last: number('last'), rate: number('rate'), to, ...(dryRun ? { dryRun } : {}) }
}

// Dead letters by reason, and one of them: fixed and replayed, or deleted.
import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { DeadLetter, DeadLetterReplayed, DeadLetters, DeadLettersDone, EventTried, WholeDeadLetter } from '../api'
import { call, inNamespace, type Query } from '../core/client'
import { commandLine, httpCall, option } from '../core/commands'
import { parseJson, prettyJson } from '../core/json'
import { useLive } from '../core/live'
import { useGet, useList, useThrottle } from '../core/resource'
import { href, navigate, route, setQuery } from '../core/route'
import { bytes, Clock, CommandText, count, Empty, EventLink, Loaded, More, Page, plural, Problem } from '../ui/basics'
import { ActionDialog, announce, CopyAsCommand } from '../ui/dialog'
import { NearListeners, type Corrections } from '../ui/judged'
import { ProgressLine, useProgress, type Progress } from '../ui/progress'
import { Table } from '../ui/table'
import type { PageProps } from '.'

const kEventType = 'application/cloudevents+json'

export function DeadLettersPage({ ns }: PageProps) {
  const reason = route.value.query.get('reason')
  const path = inNamespace(ns, 'dlq')
  const list = useList<DeadLetter, DeadLetters>(path, { reason, limit: 100 })
  const [action, setAction] = useState<Bulk | null>(null)
  const soon = useThrottle(list.reload, 1000)
  const seen = useRef('')
  useLive({ ns, topics: ['dead'] }, {
    dead: ({ count: number, last }) => {
      if (seen.current !== `${number} ${last}`) soon()
      seen.current = `${number} ${last}`
    },
  })
  return (
    <Page title="Dead letters" actions={<CopyAsCommand command={{ line: commandLine(ns, 'dlq', 'list', ...option('reason', reason)), http: httpCall('GET', path, { reason }) }} />}>
      <Loaded resource={list} ns={ns}>{(data) => {
        const total = data.reasons.reduce((sum, item) => sum + item.count, 0)
        if (total === 0 && data.items.length === 0) {
          return (
            <Empty command={commandLine(ns, 'event', 'send', '--type', 'TYPE', '--source', 'SOURCE')}>
              <p>No dead letters. A message that could not be used is here with the reason: one that is not a CloudEvent, lacks an attribute, or is of an unknown namespace. An event of a group that was dropped comes here too.</p>
              <p>The stream keeps dead letters for the time that the server's page names; a correct event needs:</p>
            </Empty>
          )
        }
        const isEmpty = data.items.length === 0 && data.next === null
        const chosen = reason ? data.reasons.find((item) => item.reason === reason)?.count ?? 0 : total
        return (
          <>
            <ul class="counts" aria-label="Reasons">
              <li><button type="button" class="small" aria-pressed={reason === null} onClick={() => setQuery({ reason: null })}>all {count(total)}</button></li>
              {data.reasons.map((item) => <li><button type="button" class="small" aria-pressed={reason === item.reason} onClick={() => setQuery({ reason: item.reason })}>{item.reason} {count(item.count)}</button></li>)}
            </ul>
            {isEmpty && <Empty><p>No dead letter has the reason <code>{reason}</code> any more. <button type="button" class="small" onClick={() => setQuery({ reason: null })}>Show all {count(total)}</button></p></Empty>}
            {!isEmpty && <><div class="filters">
              <button type="button" onClick={() => setAction({ kind: 'replay', reason, total: chosen })}>Replay {reason ? 'all of this reason' : 'all'}…</button>
              <button type="button" onClick={() => setAction({ kind: 'drop', reason, total: chosen })}>Delete {reason ? 'all of this reason' : 'all'}…</button>
            </div>
            <Table caption="Dead letters" items={data.items} keyOf={(item) => item.id} columns={[
              { name: 'Id', isHeader: true, cell: (item) => <a class="mono" href={href(ns, ['dead', item.id])}>{item.id}</a> },
              { name: 'Time', cell: (item) => <Clock at={item.time} /> },
              { name: 'Reason', cell: (item) => <code>{item.reason}</code> },
              { name: 'Detail', isWide: true, cell: (item) => item.detail },
              { name: 'Subject', cell: (item) => <span class="mono">{item.subject}</span> },
              { name: 'Size', isNumber: true, cell: (item) => bytes(item.size) },
            ]} />
            <More list={list} /></>}
          </>
        )
      }}</Loaded>
      {action && <BulkDialog ns={ns} action={action} close={() => setAction(null)} changed={list.reload} />}
    </Page>
  )
}

/** What is to be done to all dead letters of a reason, or to all; `total` is their number when it was chosen. */
interface Bulk {
  kind: 'replay' | 'drop'
  reason: string | null
  total: number
}

/** The list is read again while the dialog is open, so the dialog is not a part of it and keeps its number. */
function BulkDialog({ ns, action: { kind, reason, total }, close, changed }: { ns: string; action: Bulk; close: () => void; changed: () => void }) {
  const query = reason ? { reason } : { all: true }
  const path = inNamespace(ns, ...(kind === 'replay' ? ['dlq', 'replay'] : ['dlq']))
  const method = kind === 'replay' ? 'POST' : 'DELETE'
  const [progress, begin] = useProgress()
  const run = async (): Promise<string> => {
    try {
      if (kind === 'drop') return `Deleted ${plural((await call<DeadLettersDone>('DELETE', path, { query })).done, 'dead letter')}`
      const steps = begin()
      return await steps.resultOf(replayAll(path, query, steps), 'POST …/dlq/replay')
    } finally {
      changed()
    }
  }
  return (
    <ActionDialog title={`${kind === 'replay' ? 'Replay' : 'Delete'} ${plural(total, 'dead letter')}?`} label={kind === 'replay' ? 'Replay' : 'Delete'} isDanger={kind === 'drop'} mustType={total > 100 ? total : undefined}
      command={{ line: commandLine(ns, 'dlq', kind, ...(reason ? option('reason', reason) : ['--all'])), http: httpCall(method, path, query) }} run={run} close={() => { progress?.stop(); close() }}>
      <p>{kind === 'replay' ? 'Each event is published again as it is, the oldest first. Correct the cause first: a message that still cannot be used comes back.' : 'The messages are erased, by one request that cannot be stopped. This cannot be taken back.'}</p>
      <ProgressLine progress={progress} />
    </ActionDialog>
  )
}

async function replayAll(path: string, query: Query, progress: Progress): Promise<void> {
  let cursor: string | null = null
  do {
    const answer: DeadLettersDone = await call<DeadLettersDone>('POST', path, { query: { ...query, cursor } })
    progress.add(answer.done, answer.refused.map(({ id, msg }) => ({ id, detail: msg })))
    cursor = answer.next
  } while (cursor !== null && !progress.isStopped)
}

export function DeadLetterPage({ ns, parts }: PageProps) {
  const id = parts[1] ?? ''
  const path = inNamespace(ns, 'dlq', id)
  const [action, setAction] = useState<'replay' | 'drop' | null>(null)
  const [replayed, setReplayed] = useState<DeadLetterReplayed | null>(null)
  const letter = useGet<WholeDeadLetter>(replayed ? null : path)
  return (
    <Page title={`Dead letter ${id}`} back={{ href: href(ns, ['dead']), label: 'Dead letters' }} actions={<>
      {!replayed && letter.data && <>{whyNotAsItIs(ns, letter.data) === null && <button type="button" onClick={() => setAction('replay')}>Replay as it is…</button>}<button type="button" onClick={() => setAction('drop')}>Delete…</button></>}
      <CopyAsCommand command={{ line: commandLine(ns, 'dlq', 'show', id), http: httpCall('GET', path) }} />
    </>}>
      {replayed
        ? <p role="status" class="ok">The event is in the stream as <EventLink ns={ns} sequence={replayed.sequence} />, and the dead letter was deleted.</p>
        : <Loaded resource={letter} ns={ns}>{(data) => <><About letter={data} />{whyNotAsItIs(ns, data)}<Fix ns={ns} letter={data} done={setReplayed} /></>}</Loaded>}
      {action === 'replay' && (
        <ActionDialog title={`Replay dead letter ${id} as it is?`} label="Replay" close={() => setAction(null)} command={{ line: commandLine(ns, 'dlq', 'replay', id), http: httpCall('POST', `${path}/replay`) }}
          run={async () => { setReplayed(await call<DeadLetterReplayed>('POST', `${path}/replay`)); return 'The event was sent again' }}>
          <p>The event is published again. It helps only if the cause in the detail is corrected: {letter.data?.detail}</p>
        </ActionDialog>
      )}
      {action === 'drop' && (
        <ActionDialog title={`Delete dead letter ${id}?`} label="Delete" isDanger close={() => setAction(null)} command={{ line: commandLine(ns, 'dlq', 'drop', id), http: httpCall('DELETE', path) }}
          run={async () => { await call('DELETE', path); navigate(href(ns, ['dead'])); return `Dead letter ${id} was deleted` }}>
          <p>The message is erased. This cannot be taken back.</p>
        </ActionDialog>
      )}
    </Page>
  )
}

/** The reasons of messages that could be read as events; all others that begin with "event." are those of messages that could not. */
const kReadable = ['event.subject', 'event.target', 'event.origin']

/** Why a dead letter cannot be replayed as it is, and what to do instead; null: it can be. */
function whyNotAsItIs(ns: string, letter: WholeDeadLetter): ComponentChildren {
  if (letter.source) {
    return (
      <p class="notes">It is a message of the source <a href={href(ns, ['sources', letter.source])}>{letter.source}</a>, not an event, and the source does not read it again.
        {' '}Write the event that it stands for, and send that. Or publish the corrected message to the stream of the source, and delete this dead letter.</p>
    )
  }
  if (!isForEvents(letter)) return <p class="notes">It is not a message of the event stream: correct what its detail names, and delete it.</p>
  const isBinary = letter.headers.some(([name]) => /^ce-/i.test(name ?? ''))
  if ((letter.reason.startsWith('event.') && !kReadable.includes(letter.reason)) || (!isBinary && typeof parsed(letter.data) !== 'object')) return <p class="notes">It is not an event, so it cannot be replayed as it is: correct it, and send that.</p>
  return letter.truncated ? <></> : null
}

/** Whether a dead letter was published as an event. */
function isForEvents({ subject }: WholeDeadLetter): boolean {
  return /\.events(\.|$)/.test(subject)
}

function About({ letter }: { letter: WholeDeadLetter }) {
  return (
    <div class="panel">
      <dl class="facts">
        <dt>Reason</dt><dd><code>{letter.reason}</code></dd>
        <dt>Detail</dt><dd>{letter.detail}</dd>
        <dt>Time</dt><dd><Clock at={letter.time} exact /></dd>
        <dt>Subject</dt><dd class="mono">{letter.subject}</dd>
        <dt>Size</dt><dd>{bytes(letter.size)}{letter.truncated && ', cut: the bytes below are not all'}</dd>
      </dl>
      {letter.headers.length > 0 && <details><summary>{plural(letter.headers.length, 'header')}</summary><dl class="facts">{letter.headers.map(([name, value]) => <><dt class="mono">{name}</dt><dd class="mono">{value}</dd></>)}</dl></details>}
    </div>
  )
}

/** The bytes of a dead letter in a field; "Try" shows what the corrected event would do, "Send" replays it. */
function Fix({ ns, letter, done }: { ns: string; letter: WholeDeadLetter; done: (answer: DeadLetterReplayed) => void }) {
  const [text, setText] = useState(() => shown(letter))
  const [tried, setTried] = useState<EventTried | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const [isSending, setSending] = useState(false)
  const path = inNamespace(ns, 'dlq', letter.id, 'replay')
  if (!letter.source && !isForEvents(letter)) return null
  if (letter.encoding === 'base64') return <p class="notes">The bytes are not text; in base64: <code>{letter.data.slice(0, 400)}{letter.data.length > 400 && '…'}</code> A correct event is given with <code><CommandText text={commandLine(ns, 'dlq', 'replay', letter.id, '-f', 'event.json')} /></code>.</p>
  if (letter.truncated) return <p class="notes">The bytes were cut, so the event cannot be fixed here. Send it again from its source, then delete this dead letter.</p>
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    setError(null)
    try {
      await work()
    } catch (failure) {
      setError(failure as Error)
    }
  }
  const tryIt = (event: Event): void => {
    event.preventDefault()
    void attempt(async () => setTried(await call<EventTried>('POST', inNamespace(ns, 'events', 'try'), { body: text, contentType: kEventType })))
  }
  const send = (): void => {
    setSending(true)
    announce('')
    void attempt(async () => {
      const answer = await call<DeadLetterReplayed>('POST', path, { body: text, contentType: kEventType })
      announce('The corrected event was sent')
      done(answer)
    }).then(() => setSending(false))
  }
  const mistake = mistakeOf(text)
  const change = (next: string): void => {
    setText(next)
    setTried(null)
  }
  const fix = (corrections: Corrections): void => {
    const value = parsed(text)
    if (value !== null) change(prettyJson({ ...(value as object), ...corrections }))
  }
  return (
    <div class="columns">
      <form class="panel" onSubmit={tryIt}>
        <h2>Fix and replay</h2>
        <label>The event<textarea rows={12} value={text} spellcheck={false} onInput={(event) => change(event.currentTarget.value)} /></label>
        {mistake && <p class="no">Not JSON: {mistake}</p>}
        <div class="buttons"><button type="submit" disabled={mistake !== null}>Try: nothing is sent</button><button type="button" class="primary" disabled={isSending || mistake !== null} onClick={send}>Send</button></div>
        <CopyAsCommand command={{ line: commandLine(ns, 'dlq', 'replay', letter.id, '-f', 'event.json'), http: httpCall('POST', path, {}, text, kEventType) }} />
      </form>
      <section aria-label="What it would do">
        {error && <Problem error={error} />}
        {tried ? <NearListeners ns={ns} answer={tried} fix={fix} isTrial /> : <p class="quiet">“Try” shows which starts and instances would take the corrected event. “Send” publishes it, and the dead letter goes when the stream has it.</p>}
      </section>
    </div>
  )
}

function shown(letter: WholeDeadLetter): string {
  const value = parsed(letter.data)
  return value === null ? letter.data : prettyJson(value)
}

function parsed(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return null
  }
}

/** Where a text is not JSON; null: it is. */
function mistakeOf(text: string): string | null {
  try {
    JSON.parse(text)
    return null
  } catch (error) {
    return (error as Error).message
  }
}

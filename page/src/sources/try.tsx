// What the newest messages of a stream would become, and what their events would start or wake; with
// other settings too, before they are applied. Nothing is published.
import { useEffect, useState } from 'preact/hooks'
import type { Source, SourceApplied, SourceTried } from '../api'
import { call, inNamespace } from '../core/client'
import { commandLine, httpCall } from '../core/commands'
import { prettyJson } from '../core/json'
import { href } from '../core/route'
import { Clock, count, Empty, Problem, Skeleton } from '../ui/basics'
import { ActionDialog, CopyAsCommand } from '../ui/dialog'
import { MadeEvent, text as textOf, useTrial } from './trial'

type Item = SourceTried['items'][number]

export function Try({ ns, source, changed }: { ns: string; source: Source; changed: () => void }) {
  const stored = prettyJson(source.settings ?? {})
  const [edited, setEdited] = useState<string | null>(null)
  const [isApplying, setApplying] = useState(false)
  const text = edited ?? stored
  const isChanged = text !== stored
  const path = inNamespace(ns, 'sources', source.name, 'try')
  // It asks as soon as it is shown.
  const trial = useTrial<SourceTried>(path, true)
  const { tried, error, isAsking } = trial
  const ask = (): Promise<void> => trial.ask(isChanged ? { body: text, contentType: 'application/json' } : {})
  useEffect(() => { void ask() }, [])
  const change = (value: string): void => { setEdited(value); trial.clear() }
  const flags = isChanged ? ['--settings', text] : []
  return (
    <div class="columns">
      <form class="panel" onSubmit={(event) => { event.preventDefault(); void ask() }} aria-label="Settings">
        <label>The settings of the source; other ones can be tried before they are applied<textarea rows={14} value={text} spellcheck={false} onInput={(event) => change(event.currentTarget.value)} /></label>
        <CopyAsCommand command={{ line: commandLine(ns, 'source', 'try', source.name, ...flags), http: httpCall('POST', path, {}, isChanged ? text : undefined) }} />
        <div class="buttons">
          {isChanged && <button type="button" onClick={() => { setEdited(null); trial.clear() }}>As they are stored</button>}
          <button type="button" disabled={!isChanged} onClick={() => setApplying(true)}>Apply…</button>
          <button type="submit" class="primary" disabled={isAsking}>{isAsking ? 'Working…' : 'Try: nothing is published'}</button>
        </div>
      </form>
      <section aria-labelledby="tried-title">
        <h2 id="tried-title">What the newest messages would become</h2>
        {error && <Problem error={error} />}
        {tried === null && !error && (isAsking ? <Skeleton /> : <p class="quiet">“Try” reads the newest messages of the stream with these settings.</p>)}
        {tried && <Messages ns={ns} source={source} tried={tried} />}
      </section>
      {isApplying && <ApplyDialog ns={ns} source={source} settings={text} close={() => setApplying(false)} done={() => { setEdited(null); changed() }} />}
    </div>
  )
}

function Messages({ ns, source, tried }: { ns: string; source: Source; tried: SourceTried }) {
  if (tried.items.length === 0) return <Empty><p>The newest 200 messages of the stream {tried.stream} have none that the source selects. When a program publishes one to its subjects, it is here with its event.</p></Empty>
  return (
    <>
      <p class="quiet">The newest first; at most ten of the newest 200 messages of the stream {tried.stream}. Nothing was published.</p>
      {tried.items.map((item) => <Message key={item.sequence} ns={ns} source={source} item={item} isStored={tried.stream === source.stream} />)}
    </>
  )
}

/** One message; `isStored`: the sequence is one of the stream that the stored source reads. */
function Message({ ns, source, item, isStored }: { ns: string; source: Source; item: Item; isStored: boolean }) {
  const { event, error } = item
  return (
    <article class="panel judged" data-sequence={item.sequence}>
      <div>message <b>{count(item.sequence)}</b> · <span class="mono">{item.subject}</span> <span class="quiet">· <Clock at={item.time} /></span></div>
      {error && <p><strong class="no">would become a dead letter</strong> <code>{error.code}</code> {error.msg}</p>}
      {event && <MadeEvent ns={ns} item={item} event={event} of={`message ${item.sequence}`} />}
      {isStored && <Became ns={ns} source={source} item={item} />}
    </article>
  )
}

/** What became of the message, as far as the source has read it. */
function Became({ ns, source, item }: { ns: string; source: Source; item: Item }) {
  if (item.sequence > source.highest) return <p class="quiet">Not applied yet: the source has applied messages up to {count(source.highest)}.</p>
  if (item.error) return <p><a href={href(ns, ['dead'], { reason: item.error.code })}>Dead letters with this reason</a></p>
  return <p><a href={href(ns, ['events'], { id: textOf(item.event?.id) })}>What became of it</a> <span class="quiet">if the source has read it</span></p>
}

function ApplyDialog({ ns, source, settings, close, done }: { ns: string; source: Source; settings: string; close: () => void; done: () => void }) {
  const { name } = source
  const path = inNamespace(ns, 'sources', name)
  const run = async (): Promise<string> => {
    const answer = await call<SourceApplied>('PUT', path, { body: settings, contentType: 'application/json' })
    done()
    const warnings = (answer.warnings ?? []).map((warning) => ` Warning: ${warning.path}: ${warning.message}`).join('')
    return `The source ${name} was applied; it ${answer.continues ? 'continues where it was' : 'reads from the place that its setting begin names'}.${warnings}`
  }
  return (
    <ActionDialog title={`Apply the settings of the source ${name}?`} label="Apply" close={close} run={run}
      command={{ line: commandLine(ns, 'source', 'apply', name, '--settings', settings), http: httpCall('PUT', path, {}, settings) }}>
      <p>They count from the next message on; events that are published stay as they are. With another <code>stream</code> or <code>begin</code>, the source reads from that place on.</p>
      {source.ownStream && <p>If the new settings name a <code>stream</code>, the stream {source.stream}, which millrace made for the source, is deleted, together with messages that were not read.</p>}
    </ActionDialog>
  )
}

// A test event: what it would do; nothing is sent until "Send".
import { useEffect, useState } from 'preact/hooks'
import type { EventTried, EventsAccepted, StoredEvent } from '../api'
import { useBusy } from '../core/busy'
import { ApiError, call, inNamespace } from '../core/client'
import { commandLine, httpCall, option } from '../core/commands'
import { parseJson, prettyJson } from '../core/json'
import { href, route } from '../core/route'
import { EventIdLink, EventLink, Page, Problem } from '../ui/basics'
import { announce, Commands, CopyAsCommand } from '../ui/dialog'
import { idMistake, kIdSize } from '../ui/filter_field'
import { Icon } from '../ui/icons'
import { NearListeners, type Corrections } from '../ui/judged'
import type { PageProps } from '.'

const kEventType = 'application/cloudevents+json'

/** An id for a test event; an id is no secret. */
function freshId(): string {
  return `page-${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`
}

export function TryEventPage({ ns }: PageProps) {
  const { query } = route.value
  const [text, setText] = useState(() => prettyJson({
    specversion: '1.0', id: freshId(), source: query.get('source') ?? 'page', type: query.get('type') ?? '', ...parsed(query.get('attributes') ?? '{}'), data: {},
  }))
  const [instance, setInstance] = useState(query.get('instance') ?? '')
  const [fault, setFault] = useState('')
  const [tried, setTried] = useState<EventTried | null>(null)
  const [sent, setSent] = useState<(EventsAccepted & { id: string }) | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const from = query.get('from')
  const [isReading, setReading] = useState(from !== null)
  useBusy(isReading)
  useEffect(() => {
    if (from === null) return
    call<StoredEvent>('GET', inNamespace(ns, 'events', from)).then(
      // A replay names the event that it was made from in the same way.
      (stored) => setText(prettyJson({ ...(stored.event as object), id: freshId(), replayof: stored.id })),
      (failure: Error) => setError(failure as ApiError),
    ).finally(() => setReading(false))
  }, [from])
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    setError(null)
    try {
      await work()
    } catch (failure) {
      setError(failure as Error)
    }
  }
  const path = inNamespace(ns, 'events', 'try')
  const tryIt = (event: Event): void => {
    event.preventDefault()
    setSent(null)
    setFault(idMistake(instance.trim()))
    if (idMistake(instance.trim())) return
    void attempt(async () => setTried(await call<EventTried>('POST', path, { query: { instance: instance.trim() }, body: text, contentType: kEventType })))
  }
  // What a listener asks for by a pattern is to be filled in.
  const value = parsed(text)
  const missing = Object.entries(parsed(query.get('patterns') ?? '{}')).filter(([name]) => !value[name])
  const send = (): void => void attempt(async () => {
    announce('')
    const answer = await call<EventsAccepted>('POST', inNamespace(ns, 'events'), { body: text, contentType: kEventType })
    setSent({ ...answer, id: idOf(text) })
    setTried(null)
    announce(answer.duplicates > 0 ? 'The broker has this event already' : 'The event was sent')
  })
  /** What was tried or sent was another text. */
  const change = (next: string): void => {
    setText(next)
    setTried(null)
    setSent(null)
  }
  const fix = (corrections: Corrections): void => change(prettyJson({ ...parsed(text), ...corrections }))
  return (
    <Page title="Try an event" back={{ href: href(ns, ['events']), label: 'Events' }}
      actions={<CopyAsCommand command={{ line: commandLine(ns, 'event', 'try', '-f', 'event.json', ...option('instance', instance.trim())), http: httpCall('POST', path, { instance: instance.trim() }, text, kEventType) }} />}>
      <div class="columns">
        <form class="panel" onSubmit={tryIt}>
          <label>A CloudEvent in JSON; context attributes are its members, with lower-case names<textarea rows={14} value={text} spellcheck={false} aria-invalid={missing.length > 0} onInput={(event) => change(event.currentTarget.value)} /></label>
          {from && <p class="notes">It is sent as a new event with an id of its own. Its attribute <code>replayof</code> names <EventLink ns={ns} sequence={Number(from)} />, whose page then shows what came of it, as long as the type or the source stays the same.</p>}
          {missing.map(([name, pattern]) => <p class="no"><Icon name="warning" /> Fill in <b>{name}</b>: it must match <code>{String(pattern)}</code>.</p>)}
          <label>The instance that you expected to be woken<input class="mono" size={kIdSize} value={instance} aria-invalid={fault !== ''} onInput={(event) => setInstance(event.currentTarget.value)} onChange={(event) => setFault(idMistake(event.currentTarget.value.trim()))} />{fault && <span class="no" role="alert">{fault}</span>}</label>
          <div class="buttons"><button type="submit" class="primary">Try: nothing is sent</button><button type="button" onClick={send}>Send</button></div>
          <details class="as-command"><summary>Copy “Send” as command</summary><Commands command={{ line: commandLine(ns, 'event', 'send', '-f', 'event.json'), http: httpCall('POST', inNamespace(ns, 'events'), {}, text, kEventType) }} /></details>
        </form>
        <section aria-label="What it would do">
          {error && <Problem error={error} />}
          {sent && <p role="status" class="ok">Sent{sent.duplicates > 0 ? ', and the broker took it for a duplicate: give it another id' : ''}. See what came of <EventIdLink ns={ns} id={sent.id} />.</p>}
          {tried === null && !error && !sent && <p class="quiet">“Try” shows which starts and instances would take this event, which nearly would, and what the limits would do with each start. “Send” publishes it.</p>}
          {tried?.duplicate && <p class="notes">An event with this source and id had an effect before: this one would be dropped as a duplicate.</p>}
          {tried && <NearListeners ns={ns} answer={tried} fix={fix} isTrial />}
        </section>
      </div>
    </Page>
  )
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value = parseJson(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function idOf(text: string): string {
  return String(parsed(text).id ?? '')
}

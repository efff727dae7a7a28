// One event: what came of it, and why it had no other effect.
import { useEffect, useState } from 'preact/hooks'
import type { EventWhy, StoredEvent } from '../api'
import { inNamespace } from '../core/client'
import { commandLine, httpCall, option } from '../core/commands'
import { parseJson, prettyJson } from '../core/json'
import { useGet } from '../core/resource'
import { href, route, setQuery } from '../core/route'
import { clockOffset } from '../core/time'
import { bytes, Clock, CommandText, CopyButton, EventLink, Loaded, Page } from '../ui/basics'
import { CopyAsCommand } from '../ui/dialog'
import { EventSource, messageOf } from '../ui/event_source'
import { AttributeField, ByAttribute, FilterField, FilterForm, idMistake, kIdSize, lacksAttribute } from '../ui/filter_field'
import { Icon } from '../ui/icons'
import { Effects, NearListeners, type Corrections } from '../ui/judged'
import { ReplayDialog } from '../ui/replay'
import type { PageProps } from '.'
import { targetOf } from './events'

export function EventPage({ ns, parts }: PageProps) {
  const sequence = Number(parts[1])
  const event = useGet<StoredEvent>(inNamespace(ns, 'events', parts[1] ?? ''))
  const [replay, setReplay] = useState<Corrections | null>(null)
  const { query } = route.value
  const path = inNamespace(ns, 'events', parts[1] ?? '', 'why')
  const expected = { instance: query.get('instance'), attribute: query.get('attribute'), value: query.get('value') }
  /** The error is above; no listener was asked. */
  const isUnreadable = event.data?.error !== undefined
  const why = useGet<EventWhy>(lacksAttribute() || idMistake(expected.instance ?? '') ? null : path, expected)
  const [sent, setSent] = useState<number | null>(null)
  const replays = why.data?.replays ?? []
  // What waited takes the replay when it is applied, which is after the answer.
  const isDue = sent !== null && !replays.some((one) => one.sequence === sent && one.applied)
  useEffect(() => {
    if (!isDue) return undefined
    const again = setInterval(why.reload, 400)
    const end = setTimeout(() => setSent(null), kLongestWait)
    return () => { clearInterval(again); clearTimeout(end) }
  }, [isDue, sent])
  const useful = replays.find((one) => one.effectCount > 0)
  const isSettled = useful !== undefined
  return (
    <Page title={`Event #${parts[1]}`} back={{ href: href(ns, ['events']), label: 'Events' }}
      heading={<><span class="mono">#{parts[1]}</span> {event.data?.type}</>}
      actions={<>
        {event.data?.event && <a class="button" href={href(ns, ['events', 'try'], { from: sequence })}>Fix by hand, and send…</a>}
        {!isUnreadable && <button type="button" title="Sends the same event again, as it is" onClick={() => setReplay({})} disabled={!event.data}>Replay unchanged…</button>}
        <CopyAsCommand command={{ line: commandLine(ns, 'event', 'why', String(sequence), ...option('instance', expected.instance), ...option('attribute', expected.attribute), ...option('value', expected.value)), http: httpCall('GET', path, expected) }} />
      </>}>
      <Loaded resource={event} ns={ns}>{(data) => <About ns={ns} event={data} replay={useful} />}</Loaded>
      {(event.data || !event.error) && <section aria-labelledby="why-title">
        <h2 id="why-title">Why</h2>
        {isUnreadable ? <Unreadable ns={ns} answer={why.data} /> : <>
          <FilterForm label="What was expected" apply="Ask" submit={why.reload}>
            <label>I expected the instance<FilterField size={kIdSize} value={query.get('instance') ?? ''} set={(text) => setQuery({ instance: text })} mistake={idMistake} /></label>
            <label>or those that ask for the attribute<AttributeField size={12} /></label>
            <label>with the value<FilterField size={12} value={query.get('value') ?? ''} set={(text) => setQuery({ value: text })} isExact /></label>
          </FilterForm>
          <ByAttribute attribute="those that ask for the attribute" value="with the value"><Loaded resource={why} ns={ns}>{(answer) => (
            <>
              {!answer.applied && <p class="notes"><Icon name="clock" /> Not applied yet: the engine has applied the events up to #{answer.asOf.cursor}.</p>}
              {answer.deadLetter && <p class="notes">It is the dead letter <a href={href(ns, ['dead', answer.deadLetter.id])}>{answer.deadLetter.id}</a>: <code>{answer.deadLetter.reason}</code> {answer.deadLetter.detail}</p>}
              {answer.error && <p class="notes">{answer.error.msg} <code>{answer.error.code}</code></p>}
              <Replays ns={ns} answer={answer} useful={useful} />
              {answer.effectCount > 0 ? <p><Effects ns={ns} effects={answer.effects} total={answer.effectCount} /></p> : !isSettled && <p>No listener took it.</p>}
              <ComparedWithNow ns={ns} answer={answer} readAt={why.readAt} />
              <NearListeners ns={ns} answer={answer} fix={setReplay} isSettled={isSettled} />
            </>
          )}</Loaded></ByAttribute>
        </>}
      </section>}
      {replay && <ReplayDialog ns={ns} sequence={sequence} corrections={replay} instance={query.get('instance') ?? ''} close={() => setReplay(null)} done={(replayed) => { setSent(replayed); why.reload() }} />}
    </Page>
  )
}

/** So long, in ms, what came of a replay is asked for. */
const kLongestWait = 15_000

/** An event that is older than this, in ms, may have come when others waited than now. */
const kOld = 10_000

/** The answer of the server compares the event with what waits now; the waits that are over are those of an instance that is named. */
function ComparedWithNow({ ns, answer, readAt }: { ns: string; answer: EventWhy; readAt: number }) {
  const at = readAt + clockOffset.value
  if (!answer.applied || answer.effectCount > 0 || answer.instance !== undefined || at - Date.parse(answer.event.time) < kOld) return null
  return (
    <p class="notes"><Icon name="clock" /> Compared with what waits now (<Clock at={new Date(at).toISOString()} />). When the event came (<Clock at={answer.event.time} />), other instances may have waited.
      {' '}An instance that is named above is judged with its waits that are over, as by <code><CommandText text={commandLine(ns, 'instance', 'why', 'ID', '--event', String(answer.event.sequence))} /></code>.</p>
  )
}

/** What to do about a message that is not an event. */
function Unreadable({ ns, answer }: { ns: string; answer: EventWhy | undefined }) {
  const letter = answer?.deadLetter
  return <p class="notes">The message is not an event, so no listener was asked. {letter ? <>Correct it in the dead letter <a href={href(ns, ['dead', letter.id])}>{letter.id}</a>, and send it from there.</> : 'Publish the corrected event.'}</p>
}

type Replayed = NonNullable<EventWhy['replays']>[number]

/** What came of the replays of the event; `useful`: the first that had an effect. */
function Replays({ ns, answer, useful }: { ns: string; answer: EventWhy; useful?: Replayed }) {
  return (
    <>
      {(answer.replays ?? []).map((replay) => (
        <p key={replay.sequence} class="notes">It was sent again as <EventLink ns={replay.namespace} sequence={replay.sequence} />{replay.namespace !== ns && ` of the namespace ${replay.namespace}`}: {replay.applied ? <Effects ns={replay.namespace} effects={replay.effects} total={replay.effectCount} /> : 'not applied yet'}{replay === useful && ', so no correction is proposed'}</p>
      ))}
    </>
  )
}

/** `replay`: the first that had an effect. */
function About({ ns, event, replay }: { ns: string; event: StoredEvent; replay?: Replayed }) {
  const message = messageOf(ns, event.source, event.id)
  const text = event.event ? prettyJson(event.event) : shownData(event)
  return (
    <div class="panel">
      <dl class="facts">
        <dt>Id</dt><dd class="mono">{event.id ?? 'none: it is not an event'}</dd>
        <dt>Source</dt><dd><EventSource ns={ns} source={event.source} /></dd>
        {message && <><dt>Message, by the id</dt><dd>{message.sequence} of the stream {message.stream}</dd></>}
        <dt>Time</dt><dd><Clock at={event.time} exact /></dd>
        <dt>Size</dt><dd>{bytes(event.size)}</dd>
        {event.to && <><dt>Target</dt><dd>{targetOf(event.to)}</dd></>}
        {Object.entries(event.attributes ?? {}).filter(([name]) => name !== 'millraceonly' || !event.to).map(([name, value]) => <><dt>{name}</dt><dd class="mono">{String(value)}</dd></>)}
        {event.error && <><dt>Error</dt><dd class="no"><code>{event.error.code}</code> {event.error.msg}</dd></>}
        <dt>What came of it</dt><dd>{replay && event.effectCount === 0 ? <span class="quiet">no effect itself; its replay <EventLink ns={replay.namespace} sequence={replay.sequence} /> had</span> : <Effects ns={ns} effects={event.effects} total={event.effectCount} />}</dd>
      </dl>
      <details><summary>The whole event</summary><pre class="data" tabIndex={0} aria-label="The whole event">{text}</pre><CopyButton text={text} /></details>
    </div>
  )
}

function shownData(event: StoredEvent): string {
  if (event.data === undefined) return ''
  if (event.encoding === 'base64') return event.data
  try {
    return prettyJson(parseJson(event.data))
  } catch {
    return event.data
  }
}

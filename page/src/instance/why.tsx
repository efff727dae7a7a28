// Why an instance has ended, or was not woken: the nearest of the newest events of the types that it waits for.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { AwaitedCall, Evaluations, HistoryRecord, Instance, InstanceWhy } from '../api'
import { inNamespace } from '../core/client'
import { commandLine, httpCall, option } from '../core/commands'
import { useGet, type Resource } from '../core/resource'
import { href, route, setQuery } from '../core/route'
import { dayIn, timeOf } from '../core/time'
import { Clock, count, Empty, EventLink, InstanceLink, Loaded, plural, Since, Status } from '../ui/basics'
import { Consequence } from '../ui/consequence'
import { CopyAsCommand } from '../ui/dialog'
import { FilterField, FilterForm } from '../ui/filter_field'
import { Effects, EventTitle, JudgedCard, type Corrections } from '../ui/judged'
import type { Again, Verb } from '../ui/instance_actions'
import { CallLimit, KeyOf, SlotOf, ThrottledBy } from '../ui/limits'
import { ReplayDialog } from '../ui/replay'
import { CompensationLeft, Ended } from './ended'
import { Cancelling, Context, tryHref, valuesOf } from './now'

export function WhyTab({ ns, instance, records, again, choose }: { ns: string; instance: Instance; records: HistoryRecord[]; again: Again; choose: (verb: Verb) => void }) {
  const get = (name: string): string | null => route.value.query.get(name)
  const event = get('event')
  // The API judges one event, or those of a window.
  const asked = event ? { event } : { since: get('since'), until: get('until'), cursor: get('cursor') }
  const path = inNamespace(ns, 'instances', instance.id, 'why')
  const why = useGet<InstanceWhy>(path, asked)
  useAgain(why, records.length === 0 ? '' : [instance.status, instance.state, instance.run, records.at(-1)?.number].join(' '))
  const [replay, setReplay] = useState<{ sequence: number; corrections: Corrections } | null>(null)
  return (
    <section aria-label="Why">
      {instance.endedAt && <Ended ns={ns} instance={instance} records={records} again={again} choose={choose} />}
      <FilterForm label="About which events" apply="Ask" submit={why.reload}>
        <label>Ask about the event with the sequence<FilterField size={10} isNumeric value={event ?? ''} set={(text) => setQuery({ event: text.replace(/\D/g, ''), since: null, until: null, cursor: null })} /></label>
        {(['since', 'until'] as const).map((name) => (
          <label>{name === 'since' ? 'Or about those since' : 'Until'}<FilterField size={26} placeholder="2h, or RFC 3339" value={get(name) ?? ''} set={(text) => setQuery({ [name]: timeOf(text, dayIn(name)), event: null, cursor: null })} /></label>
        ))}
      </FilterForm>
      <CopyAsCommand command={{ line: commandLine(ns, 'instance', 'why', instance.id, ...Object.entries(asked).flatMap(([name, value]) => option(name, value))), http: httpCall('GET', path, asked) }} />
      <Loaded resource={why} ns={ns}>{(answer) => (
        <>
          {!instance.endedAt && <Waits ns={ns} answer={answer} />}
          {instance.endedAt && answer.instance.waited && <p>It had waited for {answer.instance.waited.for === 'slot' ? 'a slot' : 'the throttle'} of its workflow{answer.instance.waited.key !== undefined && <> with the key <KeyOf value={answer.instance.waited.key} /></>} since <Clock at={answer.instance.waited.since} exact />.</p>}
          {event && <p class="quiet">This event:</p>}
          {!event && (listens(answer) || answer.events.length > 0) && <Looked answer={answer} since={get('since')} until={get('until')} isOlder={get('cursor') !== null} />}
          {!event && instance.endedAt && answer.events.length === 0 && <p class="quiet">An instance that has ended takes no event. Ask about one to see what its last wait asked for.</p>}
          {answer.events.length === 0 && typesOf(answer).length > 0 && <NoEvents ns={ns} instance={instance} answer={answer} />}
          {answer.events.map((item) => (
            <div key={item.sequence}>
              <JudgedCard title={<EventTitle ns={ns} sequence={item.sequence} type={item.type} source={item.source} time={item.time} />} judged={item}
                fix={(corrections) => setReplay({ sequence: item.sequence, corrections })}>
                {item.verdict === 'before' && !item.ended && <div class="buttons"><button type="button" onClick={() => setReplay({ sequence: item.sequence, corrections: {} })}>Send it again to this instance only…</button></div>}
                {(item.effectCount ?? 0) > 0 && <p class="quiet">It had effects: <Effects ns={ns} effects={item.effects ?? []} total={item.effectCount ?? 0} /></p>}
              </JudgedCard>
            </div>
          ))}
          <Elsewhere answer={answer} />
          {(answer.elsewhereEvents ?? []).map((item) => <p class="notes">The namespace <a href={href(item.namespace, ['events', item.sequence])}>{item.namespace}</a> got an event that fits: <EventLink ns={item.namespace} sequence={item.sequence} /> {item.type} <span class="quiet">from {item.source} · <Clock at={item.time} /></span>. A replay with this namespace sends it here.</p>)}
          {(answer.unknownNamespaces ?? []).map((item) => <p class="notes">An event {item.fits ? 'that fits' : 'of such a type'} (#{item.sequence}{item.id && `, id ${item.id}`}) came for the namespace {item.namespace}, which does not exist, and became <a href={href(item.namespace, ['dead'])}>{item.deadLetter ? `dead letter ${item.deadLetter}` : 'a dead letter'}</a>. Correct the namespace in its sender, and send it again to {ns}; or create the namespace, and replay the dead letter.</p>)}
        </>
      )}</Loaded>
      {replay && <ReplayDialog ns={ns} sequence={replay.sequence} corrections={replay.corrections} instance={instance.id} close={() => setReplay(null)} done={why.reload} />}
    </section>
  )
}

/** So long, in ms, after a change the answer is read again, with the changes that come in the meantime. */
const kSoon = 300

/** Reads again when `head`, what the page knows of the instance, is another one than that for which was read; empty: it knows nothing yet. */
function useAgain({ isLoading, reload }: Pick<Resource<unknown>, 'isLoading' | 'reload'>, head: string): void {
  const latest = useRef(head)
  latest.current = head
  const [readFor, setReadFor] = useState(head)
  if (readFor === '' && head !== '') setReadFor(head)
  const isOld = readFor !== '' && readFor !== head
  useEffect(() => {
    if (!isOld || isLoading) return undefined
    const timer = setTimeout(() => { setReadFor(latest.current); reload() }, kSoon)
    return () => clearTimeout(timer)
  }, [isOld, isLoading])
}

/** Whether the instance waits for events, or will. */
function listens(answer: InstanceWhy): boolean {
  return typesOf(answer).length > 0 || (answer.instance.entering ?? []).length > 0
}

/** The types of the events for which the instance waits. */
function typesOf(answer: InstanceWhy): string[] {
  return answer.instance.waits.flatMap((wait) => ('type' in wait ? [wait.type] : []))
}

const kAwaited: Record<AwaitedCall['for'], string> = {
  callback: 'its service has accepted it and answers later', subflow: 'its instance has not ended', answer: 'its service has not answered', worker: 'no worker has taken it', connection: 'it waits for a connection to its service', slot: 'it waits for a slot', throttle: 'it waits for the throttle of its service', service: 'its service is paused', attempt: 'it waits for its next attempt', others: 'it waits for other calls of the state', resume: 'it waits until the instance is resumed',
}

/** What the instance waits for besides events. */
function OtherWait({ ns, wait }: { ns: string; wait: InstanceWhy['instance']['waits'][number] }) {
  if ('until' in wait) return <p>It waits until <Clock at={wait.until} />, then <Consequence ns={ns} of={wait} />.</p>
  if (!('index' in wait)) return null
  return (
    <p>
      It waits for the call <b>{wait.function ?? wait.index}</b>: {kAwaited[wait.for]}.
      {wait.instance && <> <InstanceLink ns={ns} id={wait.instance} /></>}
      {wait.for === 'callback' && <> <a href={href(ns, ['calls'])}>Calls that wait for an answer</a></>}
      {wait.nextRetryAt && <> Next attempt: <Clock at={wait.nextRetryAt} />.</>}
      {wait.deadline && <> Until <Clock at={wait.deadline} /> at the latest.</>}
    </p>
  )
}

/** What the instance waits for, as the answer has it: limits, calls, events, and what it has left to undo. */
function Waits({ ns, answer }: { ns: string; answer: InstanceWhy }) {
  const { instance, asOf } = answer
  const entering = instance.entering ?? []
  return (
    <section class="panel" aria-labelledby="waits-title">
      <h2 id="waits-title">What it waits for</h2>
      <p><Status status={instance.status} />{instance.state && <> in <b>{instance.state}</b></>} <span class="quiet"><Since at={instance.since} /> · as of commit {count(asOf.commit)} and event #{asOf.cursor}</span></p>
      <Cancelling cancelling={instance.cancelling} />
      {instance.slot && <SlotOf ns={ns} workflow={instance.workflow} slot={instance.slot} />}
      {instance.throttled && <ThrottledBy ns={ns} workflow={instance.workflow} throttled={instance.throttled} />}
      <EndOfWait of={instance.slot ?? instance.throttled} />
      {(instance.waitingCalls ?? []).map((item) => <p key={item.index}>call {item.index} <CallLimit ns={ns} call={item} /></p>)}
      {instance.waits.map((wait) => 'type' in wait ? (
        <div>
          <p>waits for <b>{wait.type}</b><Lookback from={wait.lookbackFrom} /></p>
          <Context context={wait.context} />
        </div>
      ) : <OtherWait ns={ns} wait={wait} />)}
      {instance.arrived && instance.arrived.length > 0 && <p>has got {instance.arrived.map((type, index) => <>{index > 0 && ', '}<b>{type}</b></>)}</p>}
      {entering.length > 0 && <p class="notes">It does not listen yet; when it has entered its state, it will listen for {entering.map((item, index) => <>{index > 0 && ', '}<b>{item.type}</b><Lookback from={item.lookbackFrom} /></>)}.</p>}
      {!listens(answer) && !instance.step && <p class="quiet">It waits for no event now.</p>}
      {instance.step && <StepToMake evaluations={instance.step.evaluations} />}
      {instance.compensation && <CompensationLeft compensation={instance.compensation} />}
    </section>
  )
}

/** For what an instance waits whose next step is due. */
function StepToMake({ evaluations: { fast, slow } }: { evaluations: Evaluations }) {
  return <p>It has a step to make, and waits for its turn, for a jq evaluation, or for the search for early events. Evaluations of its namespace now: {count(fast.running + slow.running)} with a jq worker, {count(fast.waiting + slow.waiting)} that wait for one.</p>
}

/** When a wait to start ends with an error. */
function EndOfWait({ of }: { of: InstanceWhy['instance']['slot'] | InstanceWhy['instance']['throttled'] }) {
  if (!of?.until) return null
  return <p>If it still waits at <Clock at={of.until} />, it fails with <code>{of.error}</code>{of.paused && '; a pause holds it, and the time begins again at the resume'}.</p>
}

function Lookback({ from }: { from?: string }) {
  return from === undefined ? null : <span class="quiet">, also for events since <Clock at={from} exact /></span>
}

/** Among which messages the events were looked for, since when, and whether there are older ones. */
function Looked({ answer, since, until, isOlder }: { answer: InstanceWhy; since: string | null; until: string | null; isOlder: boolean }) {
  const { events, of, looked, lookedFrom, next } = answer
  return (
    <p class="quiet">
      The nearest {of === undefined ? plural(events.length, 'event') : `${events.length} of ${plural(of, 'event')}`} of its types, among the {isOlder ? 'next older' : since || until ? 'newest of this window:' : 'newest'} {plural(looked, 'message')} of the namespace
      {since && ` since ${since}`}{until && ` until ${until}`}.
      {lookedFrom && <> This looks back to <Clock at={lookedFrom} exact />.</>}
      {next
        ? <> There are older messages. <button type="button" class="small" onClick={() => setQuery({ cursor: next })}>Look further back</button></>
        : looked > 0 && ` ${since || until ? 'The window' : 'The namespace'} has no older ones.`}
      {!next && !answer.complete && ' A bound has ended the look: others may be missing.'}
    </p>
  )
}

/** The other namespaces that got events of the types, and how far they were looked at. */
function Elsewhere({ answer }: { answer: InstanceWhy }) {
  const fitting = new Set((answer.elsewhereEvents ?? []).map((item) => item.namespace))
  const others = (answer.elsewhere ?? []).filter((name) => !fitting.has(name))
  const { from, namespaces, unknown } = answer.elsewhereLook ?? {}
  return (
    <>
      {others.length > 0 && <p class="quiet">Other namespaces got events of these types{typesOf(answer).length > 0 && ', but none that fits'}: {others.join(', ')}.</p>}
      {namespaces && <p class="quiet">Of the other namespaces, only {namespaces.join(', ')} were looked at.</p>}
      {unknown && <p class="quiet">Of the names without a namespace, only {unknown.join(', ')} were looked at.</p>}
      {from && <p class="quiet">In other namespaces, events that are older than <Clock at={from} exact /> were not looked at.</p>}
    </>
  )
}

function NoEvents({ ns, instance, answer }: { ns: string; instance: Instance; answer: InstanceWhy }) {
  const types = typesOf(answer)
  const context = answer.instance.waits.flatMap((wait) => ('type' in wait ? [wait.context] : []))[0]
  const values = new Map(valuesOf(context).map(([name, value = name.toUpperCase()]) => [name, value]))
  const source = values.get('source') ?? 'SOURCE'
  const others = [...values].flatMap(([name, value]) => (name === 'source' ? [] : name === 'subject' ? ['--subject', value] : ['--attr', `${name}=${value}`]))
  return (
    <Empty command={commandLine(ns, 'event', 'send', '--type', types[0] ?? 'TYPE', '--source', source, ...others, '--data', '{}')}>
      <p>{answer.looked === 0 ? 'No message of the namespace was looked at.' : <>{answer.looked === 1 ? 'This message' : `None of these ${plural(answer.looked, 'message')}`} of the namespace has {answer.looked === 1 && 'not '}the type {types.join(' or ')}.</>} An event of this type is listed here with what it lacks; one with the attributes above wakes the instance.</p>
      <p><a href={tryHref(ns, types[0] ?? '', context, instance.id)}>Try one</a>, or send one:</p>
    </Empty>
  )
}

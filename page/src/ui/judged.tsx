// Why an event did, or did not, have an effect: verdicts with their predicates, as cards.
import type { ComponentChildren } from 'preact'
import type { EventEffect, JudgedListener, JudgedPredicate, PredictedStart } from '../api'
import { href, route } from '../core/route'
import { Clock, EventLink, InstanceLink, plural, Says, shortId, WorkflowLink } from './basics'
import { Icon } from './icons'

const kGood = new Set(['woke', 'started', 'filled', 'grouped', 'debounced', 'batched'])
const kHints: Record<string, string> = {
  case: 'they differ in case only', space: 'they differ in white space', zeros: 'they differ in leading zeros', data: 'the data has it, not the attributes',
  anchored: 'the pattern is anchored', attribute: 'another attribute fits', typo: 'a probable misspelling',
}

/** The verdicts whose names are no words. */
const kVerdicts: Record<string, string> = { predicate: 'does not fit', dead: 'dead letter', rateLimit: 'rate limit', unread: 'not read yet' }

/** The verdicts on an event that is only tried. */
const kWould: Record<string, string> = { woke: 'would wake', started: 'would start', filled: 'would be taken', grouped: 'would join a group', debounced: 'would be debounced', batched: 'would join a batch' }

/** Corrected attributes of an event, by name. */
export type Corrections = Record<string, string>

export function Verdict({ verdict, isTrial = false }: { verdict: string; isTrial?: boolean }) {
  const isGood = kGood.has(verdict)
  return <strong class={isGood ? 'ok' : 'no'}><Icon name={isGood ? 'check' : 'cross'} /> {(isTrial && kWould[verdict]) || (kVerdicts[verdict] ?? verdict)}</strong>
}

export function Predicates({ predicates }: { predicates: JudgedPredicate[] }) {
  return (
    <ul class="predicates">
      {predicates.map((predicate) => (
        <li class={predicate.holds ? 'ok' : 'no'}>
          <Icon name={predicate.holds ? 'check' : 'cross'} />
          <span class="hidden">{predicate.holds ? 'holds:' : 'does not hold:'}</span>
          <span class="predicate"><b>{predicate.attribute}</b> {predicate.kind === 'equals' ? 'is' : 'matches'} <code>{predicate.kind === 'equals' ? JSON.stringify(predicate.asks) : predicate.asks}</code>, {predicate.got === null ? 'the event lacks this attribute' : <>got <code>{JSON.stringify(predicate.got)}</code></>}</span>
          {predicate.hint && <> <span class="hint" title={kHints[predicate.hint]}>{predicate.says ?? kHints[predicate.hint]}</span></>}
          {!predicate.hint && predicate.says && <> {predicate.says}</>}
        </li>
      ))}
    </ul>
  )
}

/** The attributes for which the predicates of a listener would hold, if all of them are known. */
export function correctionsOf(predicates: JudgedPredicate[]): Corrections | null {
  const wrong = predicates.filter((predicate) => !predicate.holds)
  if (wrong.length === 0 || wrong.some((predicate) => predicate.fits === undefined)) return null
  return Object.fromEntries(wrong.map((predicate) => [predicate.attribute, predicate.fits ?? '']))
}

type Judged = Pick<JudgedListener, 'start' | 'verdict' | 'says' | 'predicates' | 'waitsFor' | 'nearGroups' | 'correlate' | 'moreGroups' | 'lookbackFrom' | 'leftPartner' | 'partners' | 'wouldFit' | 'corrections'>

/** One verdict: whose it is (`title`), what it says, its predicates, near groups, and what can be done, unless that is settled. */
export function JudgedCard({ title, judged, fix, isSettled = false, isTrial = false, children }: { title: ComponentChildren; judged: Judged; fix?: (corrections: Corrections) => void; isSettled?: boolean; isTrial?: boolean; children?: ComponentChildren }) {
  // A wait that is over takes no corrected event.
  const corrections = judged.wouldFit === undefined && !isSettled ? correctionsOf(judged.predicates) : null
  const wrong = judged.predicates.filter((predicate) => !predicate.holds).length
  return (
    <article class="panel judged" data-verdict={judged.verdict}>
      <div>{title} · <Verdict verdict={judged.verdict} isTrial={isTrial} />{judged.predicates.length > 0 && wrong > 0 && <span class="quiet"> {wrong} of {plural(judged.predicates.length, 'condition')} {wrong === 1 ? 'does' : 'do'} not hold</span>}</div>
      <p><Says text={judged.says} /></p>
      {judged.start && <Limits start={judged.start} />}
      <Predicates predicates={judged.predicates} />
      {judged.waitsFor && judged.waitsFor.length > 0 && <p>Still waits for: {judged.waitsFor.join(', ')}</p>}
      {judged.leftPartner && <p><EventLink ns={route.value.ns} sequence={judged.leftPartner.sequence} /> {judged.leftPartner.type} would have completed the group; it left at about <Clock at={judged.leftPartner.time} />.</p>}
      {judged.correlate && <p class="quiet">It is grouped by {entries(judged.correlate)}.</p>}
      <Partners judged={judged} />
      {(isSettled ? [] : judged.corrections ?? []).map((correction, at) => (
        <p class="notes">{at === 0 ? 'One correction is enough for a group. The best one: ' : 'Or, instead, which starts an instance of its own: '}
          <EventLink ns={correction.namespace} sequence={correction.sequence} /> <Says text={correction.says} />
          {fix && correction.own && correction.toNamespace === undefined && <> <button type="button" class="small" onClick={() => fix(correction.attributes)}>Fix with {entries(correction.attributes)}, and send…</button></>}</p>
      ))}
      {judged.lookbackFrom && <p class="quiet">The state looks back to <Clock at={judged.lookbackFrom} />.</p>}
      {judged.nearGroups && judged.nearGroups.length > 0 && (
        <ul>{judged.nearGroups.map((group) => (
          <li>A group with {entries(group.correlate)} has {group.has.join(', ')}{group.sequence !== undefined && <>, <EventLink ns={route.value.ns} sequence={group.sequence} /></>}{group.hint && <> <span class="hint">{kHints[group.hint]}</span></>}
          </li>
        ))}{judged.moreGroups && judged.moreGroups.count > 0 && <li>{judged.moreGroups.complete ? '' : 'at least '}{judged.moreGroups.count} other groups</li>}</ul>
      )}
      {fix && corrections && <div class="buttons"><button type="button" onClick={() => fix(corrections)}>Fix with {entries(corrections)}, and send…</button></div>}
      {children}
    </article>
  )
}

/** What the limits would do now with the start that an event would cause. */
export function Limits({ start }: { start: PredictedStart }) {
  const bounds = [
    ...(start.limit === undefined ? [] : [`limit ${start.limit}${start.period === undefined ? '' : ` in ${start.period}`}`]),
    ...(start.key === undefined ? [] : [`key ${JSON.stringify(start.key)}`]),
  ].join(', ')
  const limit = <><code>{start.reason}</code>{bounds !== '' && ` (${bounds})`}</>
  return (
    <p class="quiet" data-outcome={start.outcome}>
      Limits: {start.outcome === 'starts' && 'starts at once'}
      {start.outcome === 'waits' && <>waits for {limit}, {start.before === undefined ? 'more than 1000 starts' : `${start.before} ${start.before === 1 ? 'start' : 'starts'}`} before it{start.nextAt && <>, permitted from <Clock at={start.nextAt} /></>}</>}
      {start.outcome === 'replaces' && <>replaces instance {start.instance && <InstanceLink ns={route.value.ns} id={start.instance} />}, by {limit}</>}
      {start.outcome === 'debounced' && <>put off by {limit}{start.startsAt && <> until <Clock at={start.startsAt} /></>}</>}
      {start.outcome === 'batched' && <>added to {limit}, input {start.size}{start.startsAt && <>, starts at <Clock at={start.startsAt} /> at the latest</>}</>}
      {(start.outcome === 'skipped' || start.outcome === 'refused') && <>{start.outcome} by {limit}{start.error && <>: <code>{start.error.code}</code></>}</>}
    </p>
  )
}

/** The events that would have completed the group; those that a correction sends again stand there. */
function Partners({ judged }: { judged: Judged }) {
  const shown = (judged.partners ?? []).filter((partner) => !(judged.corrections ?? []).some((correction) => correction.sequence === partner.sequence))
  return <>{shown.map((partner) => <p class="quiet"><EventLink ns={partner.namespace ?? route.value.ns} sequence={partner.sequence} /> {partner.type}{partner.namespace && ` of the namespace ${partner.namespace}`} would have completed the group: its {partner.differs} differs.</p>)}</>
}

function entries(values: Record<string, unknown>): string {
  return Object.entries(values).map(([name, value]) => `${name}=${String(value)}`).join(', ')
}

/** Whether a listener waits for the type now: a start always does, an instance until the event has woken it, or another end of its wait. An event that is only tried wakes nothing. */
function waitsNow({ kind, ended, stateNow, wouldFit, verdict }: JudgedListener, isTrial: boolean): boolean {
  return kind === 'start' || !(ended || stateNow !== undefined || wouldFit !== undefined || (isTrial ? ['after'] : ['woke', 'filled', 'after']).includes(verdict))
}

export function ListenerTitle({ ns, listener, isTrial = false }: { ns: string; listener: JudgedListener; isTrial?: boolean }) {
  return (
    <>
      {listener.instance ? <InstanceLink ns={ns} id={listener.instance} /> : 'start of'} <WorkflowLink ns={ns} id={listener.workflow} />
      {listener.state && <> · <code>{listener.state}</code></>}{listener.since && <span class="quiet"> · {waitsNow(listener, isTrial) ? 'waits' : 'waited'} since <Clock at={listener.since} /></span>}
    </>
  )
}

interface Answer {
  event: { type?: string }
  /** The instance that was named: it is judged with its waits that are over. */
  instance?: unknown
  near: JudgedListener[]
  others: Array<{ count: number; what: string }>
  looked: number
  of?: number
  complete: boolean
  similarTypes?: string[]
  elsewhere?: string[]
}

/** The listeners that are shown at once, and the others: shown are those that take the event, and the nearest of the rest. */
function foldNear(near: JudgedListener[]): [JudgedListener[], JudgedListener[]] {
  const rest = near.filter((listener) => !kGood.has(listener.verdict))
  if (rest.length < 3) return [near, []]
  return [[...near.filter((listener) => kGood.has(listener.verdict)), ...rest.slice(0, 1)], rest.slice(1)]
}

/** The nearest listeners of an event, and those that were not near. `isSettled`: no correction is needed any more. `isTrial`: the event was not sent. */
export function NearListeners({ ns, answer, fix, isSettled, isTrial }: { ns: string; answer: Answer; fix?: (corrections: Corrections) => void; isSettled?: boolean; isTrial?: boolean }) {
  const [first, others] = foldNear(answer.near)
  // What took the event need not wait any more.
  const isOfNow = !isTrial && answer.instance === undefined && first.length > 0 && !answer.near.some((listener) => kGood.has(listener.verdict))
  const card = (listener: JudgedListener) => <JudgedCard key={`${listener.instance}${listener.workflow}`} title={<ListenerTitle ns={ns} listener={listener} isTrial={isTrial} />} judged={listener} fix={fix} isSettled={isSettled} isTrial={isTrial} />
  return (
    <>
      <p class="quiet">
        Looked at {answer.of === undefined ? plural(answer.looked, 'listener') : `${answer.looked} of ${plural(answer.of, 'listener')}`} for this type.{!answer.complete && ' There are more; name an instance, or an attribute and its value, to look at others.'}
      </p>
      {answer.near.length === 0 && <p>No listener for this type{answer.of === 0 || answer.of === undefined ? ': no start and no waiting instance asks for it now' : ' is near'}.</p>}
      {(answer.similarTypes ?? []).map((type) => (
        <p class="notes">{type.toLowerCase() === answer.event.type?.toLowerCase() ? <>A type that is waited for differs in upper and lower case only: </> : 'A similar type is waited for: '}<a href={href(ns, ['waiting'], { type })}>{type}</a>
          {fix && !isSettled && <> <button type="button" class="small" onClick={() => fix({ type })}>Fix with type={type}, and send…</button></>}</p>
      ))}
      {answer.elsewhere && answer.elsewhere.length > 0 && <p class="notes">Other namespaces have listeners for this type: {answer.elsewhere.join(', ')}</p>}
      {isOfNow && <h3>The nearest of what waits now</h3>}
      {first.map(card)}
      {others.length > 0 && <details><summary>{others.length} more that are no nearer</summary>{others.map(card)}</details>}
      {answer.others.length > 0 && <p class="quiet">The others, by what excludes them: {answer.others.map((other) => `${plural(other.count, 'listener')}: ${other.what}`).join(' · ')}</p>}
    </>
  )
}

/** What came of an event, in short. */
export function Effects({ ns, effects, total }: { ns: string; effects: EventEffect[]; total: number }) {
  if (total === 0) return <span class="quiet">no effect</span>
  return (
    <>
      {effects.slice(0, 3).map((effect, index) => (
        <>{index > 0 && ', '}{effect.what}{effect.workflow && <> <WorkflowLink ns={ns} id={effect.workflow} /></>}{effect.instance && <> <a class="mono" href={href(ns, ['instances', effect.instance, 'story'])} title={effect.instance}>{shortId(effect.instance)}</a></>}</>
      ))}
      {total > 3 && ` and ${total - 3} more`}
    </>
  )
}

/** The events that an instance was offered, as links. */
export function EventTitle({ ns, sequence, type, source, time }: { ns: string; sequence: number; type?: string; source?: string; time: string }) {
  return <><EventLink ns={ns} sequence={sequence} /> {type} <span class="quiet">from {source} · <Clock at={time} /></span></>
}

// Why an instance ended: in which state, when and with which error, the record that says so, and what can be done.
import type { HistoryRecord, Instance, InstanceWhy } from '../api'
import { href } from '../core/route'
import { duration } from '../core/time'
import { Clock, count, plural, Timed, wordOf } from '../ui/basics'
import { kAgain, kVerbs, type Again, type Verb, verbsFor } from '../ui/instance_actions'

/** The kinds of records that have the error with which an instance may end. */
const kCauses = ['raised', 'fixed', 'timedout', 'cancelled']

interface Detail {
  code?: string
  attempt?: number
}

/** The record that says why the instance ended: that of its error, or of its end. */
function causeOf({ error }: Instance, records: HistoryRecord[]): HistoryRecord | undefined {
  const end = records.findLast((record) => record.kind === 'ended')
  if (!error) return end
  return records.findLast((record) => kCauses.includes(record.kind) && (record.detail as Detail | undefined)?.code === error.code) ?? end
}

/** How often the failed state, or its call, was tried; 0: it has no attempts. */
function attemptsOf({ failedState, attempt }: Instance, records: HistoryRecord[]): number {
  const entered = records.findLastIndex((record) => record.kind === 'entered' && record.state === failedState)
  const calls = records.slice(Math.max(entered, 0)).filter((record) => record.kind === 'called' && record.state === failedState)
  const most = Math.max(attempt, ...calls.map((record) => (record.detail as Detail | undefined)?.attempt ?? 0))
  return calls.length > 0 || most > 1 ? most : 0
}

export function CompensationLeft({ compensation: { left, making, ends, error } }: { compensation: NonNullable<InstanceWhy['instance']['compensation']> }) {
  if (making) return <p>makes its compensations, {count(left)} left; then it ends as <b>{wordOf(ends)}</b></p>
  return <p>{plural(left, 'compensation')} left{error && <>: the newest one was not made, <code>{error.code}</code> {error.msg}</>}</p>
}

const kHow: Record<string, string> = { complete: 'It is complete', failed: 'It failed', timedout: 'It timed out', cancelled: 'It was cancelled' }

export function Ended({ ns, instance, records, again, choose }: { ns: string; instance: Instance; records: HistoryRecord[]; again: Again; choose: (verb: Verb) => void }) {
  const { error, endedAt = '', status } = instance
  const cause = causeOf(instance, records)
  const attempts = status === 'failed' || status === 'timedout' ? attemptsOf(instance, records) : 0
  return (
    <section class="panel" aria-labelledby="ended-title">
      <h2 id="ended-title">Why it ended</h2>
      <p>{kHow[status] ?? 'It ended'} in the state <b>{instance.failedState ?? instance.state}</b> at <Clock at={endedAt} exact />{error && <> with <code>{error.code}</code>{error.msg && <>: <Timed text={error.msg.replace(/\.$/, '')} /></>}</>}
        {attempts > 0 && `, after ${plural(attempts, 'attempt')}`}{status === 'complete' && `, ${duration(Date.parse(endedAt) - Date.parse(instance.startedAt))} after its start and after ${plural(instance.transitions, 'transition')}`}.
        {cause && <> See <a href={href(ns, ['instances', instance.id, 'story'], { at: cause.number })}>record {cause.number}</a> of the story.</>}</p>
      {again.raises && <p>The state <b>{again.raises}</b> is an Error state: the definition raises this error there.</p>}
      {instance.compensation && <CompensationLeft compensation={instance.compensation} />}
      <h3>What can be done</h3>
      <ul class="plain">
        {verbsFor(instance).filter((verb) => kAgain.includes(verb)).map((verb) => (
          <li><button type="button" class="small" onClick={() => choose(verb)}>{kVerbs[verb].name}…</button> {kVerbs[verb].says}{verb === 'retry' && again.raises && ' Here it raises the same error again.'}</li>
        ))}
      </ul>
    </section>
  )
}

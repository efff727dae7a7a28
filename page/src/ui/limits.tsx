// The limits for which starts and calls wait: their keys, slots, and who holds them.
import type { ComponentChildren } from 'preact'
import type { CallSlot, CallThrottled, Slot, Throttled } from '../api'
import { shortJson } from '../core/json'
import { href } from '../core/route'
import { Clock, count, InstanceLink, plural, Relative, Since } from './basics'
import { Icon } from './icons'

/** The value of the key of a limit; a limit without a key has none. */
export function KeyOf({ value }: { value: unknown }) {
  return value === undefined ? <span class="quiet">none</span> : <code>{shortJson(value, 512)}</code>
}

/** The service or image whose calls a limit counts. */
export function ServiceName({ ns, of }: { ns: string; of: { service?: string; image?: string; global?: true } }) {
  if (of.image !== undefined) return <>the image <span class="mono">{of.image}</span></>
  return <><a href={href(ns, ['functions'])}>{of.service}</a>{of.global && <span class="quiet"> of default</span>}</>
}

function WithKey({ value }: { value: unknown }) {
  return value === undefined ? null : <> with the key <KeyOf value={value} /></>
}

function QueueLink({ ns, workflow, children }: { ns: string; workflow?: string; children: ComponentChildren }) {
  return <a href={href(ns, ['queues'], { workflow })}>{children}</a>
}

/** "3 starts wait", as a link to the queue. */
function Waiting({ ns, workflow, number, noun }: { ns: string; workflow?: string; number: number; noun: string }) {
  return <QueueLink ns={ns} workflow={workflow}>{plural(number, noun)} {number === 1 ? 'waits' : 'wait'}</QueueLink>
}

/** The slot of its workflow that an instance holds or waits for, and the instances that have held theirs longest. */
export function SlotOf({ ns, workflow, slot }: { ns: string; workflow: string; slot: Slot }) {
  if (!slot.queued) return <p class="quiet">holds a slot of its workflow<WithKey value={slot.key} />: {count(slot.held)} held, <Waiting ns={ns} workflow={workflow} number={slot.waiting} noun="start" /></p>
  return (
    <div>
      <p><Icon name="wait" /> waits for a slot of its workflow (<code>concurrency</code>)<WithKey value={slot.key} />, with the priority {slot.priority}: {count(slot.held)}{slot.limit !== undefined && ` of ${count(slot.limit)}`} held, <Waiting ns={ns} workflow={workflow} number={slot.waiting} noun="start" />{slot.workflowPaused && '; its workflow is paused, and no start that waits begins'}</p>
      {slot.holders.length > 0 && (
        <ul class="plain">
          {slot.holders.map((holder) => <li>held by <InstanceLink ns={ns} id={holder.instance} /> <span class="quiet"><Since at={holder.since} /></span>{holder.paused && ', which is paused'}{holder.waitsFor && ', which waits for the throttle'}</li>)}
          {slot.held > slot.holders.length && <li class="quiet">and {count(slot.held - slot.holders.length)} more</li>}
        </ul>
      )}
      {slot.holdersPaused && <p>All that hold a slot are paused: none gets free before one of them is resumed.</p>}
    </div>
  )
}

/** What an instance that waits for the throttle of its workflow waits for. */
export function ThrottledBy({ ns, workflow, throttled }: { ns: string; workflow: string; throttled: Throttled }) {
  return (
    <p>
      <Icon name="wait" /> waits for the <code>throttle</code> of its workflow{throttled.limit !== undefined && ` (${count(throttled.limit)} in ${throttled.period ?? ''})`}<WithKey value={throttled.key} />, with the priority {throttled.priority}: <Waiting ns={ns} workflow={workflow} number={throttled.waiting} noun="start" />
      {throttled.nextAt && <>; the next of them may begin at <Clock at={throttled.nextAt} />, <Relative at={throttled.nextAt} /></>}
      {throttled.workflowPaused && '; its workflow is paused, and no start that waits begins'}
    </p>
  )
}

/** What a call may hold or wait for. */
export interface CallLimits {
  slot?: CallSlot
  throttled?: CallThrottled
}

/** Whether a call waits for a slot or the throttle of its service. */
export function waitsForLimit({ slot, throttled }: CallLimits): boolean {
  return slot?.queued === true || throttled !== undefined
}

/** The slot of its service that a call holds or waits for, or the throttle for which it waits. */
export function CallLimit({ ns, call: { slot, throttled } }: { ns: string; call: CallLimits }) {
  return (
    <>
      {throttled && <>waits for the <code>throttle</code> of <ServiceName ns={ns} of={throttled} /> ({count(throttled.limit)} in {throttled.period})<WithKey value={throttled.key} />, with the priority {throttled.priority}: <Waiting ns={ns} number={throttled.waiting} noun="call" />
        {throttled.nextAt && <>; the next of them may be made at <Clock at={throttled.nextAt} />, <Relative at={throttled.nextAt} /></>}
        {throttled.until && <>; it gives up at <Clock at={throttled.until} /></>}</>}
      {slot && !throttled && <>{slot.queued ? 'waits for' : 'holds'} a slot of <ServiceName ns={ns} of={slot} /><WithKey value={slot.key} />{slot.queued && `, with the priority ${slot.priority}`}: {count(slot.held)} of {count(slot.limit)} held, <Waiting ns={ns} number={slot.waiting} noun="call" />
        {slot.until && <>; it gives up at <Clock at={slot.until} /></>}</>}
      {(throttled ?? slot)?.paused && '; it waits until its instance is resumed'}
      {(throttled ?? slot)?.servicePaused && '; its service is paused, and no call that waits is made'}
    </>
  )
}

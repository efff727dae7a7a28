// The schedule of a workflow, and a tick by hand.
import { useState } from 'preact/hooks'
import type { InstanceStarted, Schedule as ScheduleAnswer } from '../api'
import { call, inNamespace } from '../core/client'
import { commandLine, httpCall } from '../core/commands'
import { useGet } from '../core/resource'
import { href, navigate } from '../core/route'
import { Clock, Loaded, Relative } from '../ui/basics'
import { ActionDialog } from '../ui/dialog'

export function Schedule({ ns, id }: { ns: string; id: string }) {
  const path = inNamespace(ns, 'schedules', id)
  const schedule = useGet<ScheduleAnswer>(path)
  const [isAsking, setAsking] = useState(false)
  return (
    <section class="panel" aria-labelledby="schedule">
      <h2 id="schedule">Schedule</h2>
      <Loaded resource={schedule} ns={ns}>{(data) => (
        <>
          <dl class="facts">
            <dt>Cron</dt><dd><code>{data.cron}</code> {data.zone}</dd>
            {data.nextTick && <><dt>Next tick</dt><dd><Clock at={data.nextTick} />, <Relative at={data.nextTick} /></dd></>}
            {data.lastTick && <><dt>Latest tick</dt><dd><Clock at={data.lastTick} /></dd></>}
            {data.upcoming && <><dt>Then</dt><dd>{data.upcoming.map((at) => <><Clock at={at} />; </>)}</dd></>}
          </dl>
          <div class="buttons"><button type="button" onClick={() => setAsking(true)}>Start one now…</button></div>
        </>
      )}</Loaded>
      {isAsking && (
        <ActionDialog title={`Start an instance of ${id} now?`} label="Start" close={() => setAsking(false)} command={{ line: commandLine(ns, 'schedule', 'trigger', id), http: httpCall('POST', `${path}/trigger`) }}
          run={async () => { const answer = await call<InstanceStarted>('POST', `${path}/trigger`); navigate(href(ns, ['instances', answer.id, 'story'])); return `Instance ${answer.id} was started` }}>
          <p>An instance starts as by a tick of the schedule; the next tick stays as it is.</p>
        </ActionDialog>
      )}
    </section>
  )
}

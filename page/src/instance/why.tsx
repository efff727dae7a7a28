// Why an instance was not woken: the nearest of the newest events of the types that it waits for.
import { useState } from 'preact/hooks'
import type { Instance, InstanceWhy } from '../api'
import { inNamespace } from '../core/client'
import { commandLine, httpCall, option } from '../core/commands'
import { useGet } from '../core/resource'
import { href, route, setQuery } from '../core/route'
import { Clock, Empty, EventLink, Loaded } from '../ui/basics'
import { CopyAsCommand } from '../ui/dialog'
import { Effects, EventTitle, JudgedCard, type Corrections } from '../ui/judged'
import { ReplayDialog } from '../ui/replay'

export function WhyTab({ ns, instance }: { ns: string; instance: Instance }) {
  const event = route.value.query.get('event')
  const cursor = event ? null : route.value.query.get('cursor')
  const path = inNamespace(ns, 'instances', instance.id, 'why')
  const why = useGet<InstanceWhy>(path, { event, cursor })
  const [replay, setReplay] = useState<{ sequence: number; corrections: Corrections } | null>(null)
  return (
    <section aria-label="Why">
      <form class="filters" onSubmit={(submit) => submit.preventDefault()}>
        <label>Ask about the event with the sequence<input size={10} inputMode="numeric" value={event ?? ''} onChange={(change) => setQuery({ event: change.currentTarget.value.replace(/\D/g, ''), cursor: '' })} /></label>
        <button type="button" onClick={why.reload}>Ask again</button>
        <CopyAsCommand command={{ line: commandLine(ns, 'instance', 'why', instance.id, ...option('event', event), ...option('cursor', cursor)), http: httpCall('GET', path, { event, cursor }) }} />
      </form>
      <Loaded resource={why} ns={ns}>{(answer) => (
        <>
          <p class="quiet">{event ? 'This event' : `The nearest ${answer.events.length}${answer.of === undefined ? '' : ` of ${answer.of}`} events of its types, among the ${cursor ? 'next' : 'newest'} ${answer.looked} messages of the namespace`}{answer.complete ? '' : '; a bound cut the look'}{!answer.complete && answer.lookedFrom && <>, which goes back to <Clock at={answer.lookedFrom} /></>}.{answer.next && <> <button type="button" class="small" onClick={() => setQuery({ cursor: answer.next ?? '' })}>Look at older events</button></>}</p>
          {answer.instance.entering && answer.instance.entering.length > 0 && <p class="notes">It is entering its state and does not listen yet; it will listen for {answer.instance.entering.map((item) => item.type).join(', ')}.</p>}
          {answer.events.length === 0 && <NoEvents ns={ns} instance={instance} answer={answer} />}
          {answer.events.map((item) => (
            <div key={item.sequence}>
              <JudgedCard title={<EventTitle ns={ns} sequence={item.sequence} type={item.type} source={item.source} time={item.time} />} judged={item}
                fix={(corrections) => setReplay({ sequence: item.sequence, corrections })}>
                {item.verdict === 'before' && !item.ended && <div class="buttons"><button type="button" onClick={() => setReplay({ sequence: item.sequence, corrections: {} })}>Send it again to this instance only…</button></div>}
                {(item.effectCount ?? 0) > 0 && <p class="quiet">It had effects: <Effects ns={ns} effects={item.effects ?? []} total={item.effectCount ?? 0} /></p>}
              </JudgedCard>
            </div>
          ))}
          {(answer.elsewhereEvents ?? []).map((item) => <p class="notes">The namespace <a href={href(item.namespace, ['events', item.sequence])}>{item.namespace}</a> got an event that fits: <EventLink ns={item.namespace} sequence={item.sequence} />. A replay with this namespace sends it here.</p>)}
        </>
      )}</Loaded>
      {replay && <ReplayDialog ns={ns} sequence={replay.sequence} corrections={replay.corrections} instance={instance.id} close={() => setReplay(null)} done={why.reload} />}
    </section>
  )
}

function NoEvents({ ns, instance, answer }: { ns: string; instance: Instance; answer: InstanceWhy }) {
  const types = answer.instance.waits.map((wait) => wait.type)
  if (types.length === 0) return <Empty><p>This instance waits for no event: its status is {instance.status}, in the state {instance.state}.</p></Empty>
  return (
    <Empty command={commandLine(ns, 'event', 'send', '--type', types[0] ?? 'TYPE', '--source', 'SOURCE', '--data', '{}')}>
      <p>None of the newest {answer.looked} messages of the namespace has the type {types.join(' or ')}. An event of this type, with the attributes above, would be here.</p>
      <p><a href={href(ns, ['events', 'try'], { instance: instance.id, type: types[0] })}>Try one</a>, or send one:</p>
    </Empty>
  )
}

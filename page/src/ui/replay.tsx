// Replay of one event: as it is or with corrected attributes, to all listeners or to one; the dry run first.
import { useState } from 'preact/hooks'
import type { EventReplayed, EventTried } from '../api'
import { call, inNamespace, type Query } from '../core/client'
import { commandLine, httpCall, option } from '../core/commands'
import { href } from '../core/route'
import { Problem } from './basics'
import { ActionDialog } from './dialog'
import { attributeMistake, idMistake } from './filter_field'
import { NearListeners, type Corrections } from './judged'

export function ReplayDialog({ ns, sequence, corrections = {}, instance = '', close, done }: {
  ns: string
  sequence: number
  corrections?: Corrections
  instance?: string
  close: () => void
  done: (sequence: number) => void
}) {
  const [attributes, setAttributes] = useState(Object.entries(corrections).map(([name, value]) => `${name}=${value}`).join('\n'))
  const [target, setTarget] = useState({ instance, workflow: '' })
  const [isSame, setSame] = useState(false)
  const [tried, setTried] = useState<EventTried | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const path = inNamespace(ns, 'events', sequence, 'replay')
  const isFix = Object.keys(corrections).length > 0
  const changes = isFix ? parseAttributes(attributes) : null
  const mistake = isFix ? mistakeOf(attributes) : ''
  const idFault = idMistake(target.instance)
  const query: Query = { id: isSame && !changes ? 'same' : null, instance: target.instance, workflow: target.workflow }
  const body = changes ? { attributes: changes } : undefined
  const dryRun = async (): Promise<void> => {
    setError(null)
    try {
      setTried(await call<EventTried>('POST', path, { query: { ...query, id: null }, body: { ...body, dryRun: true } }))
    } catch (failure) {
      setError(failure as Error)
    }
  }
  const run = async (): Promise<string> => {
    const answer = await call<EventReplayed>('POST', path, { query, body })
    done(answer.sequence)
    return `Event ${sequence} was sent again as ${answer.sequence}`
  }
  const words = [isSame && !changes && '--same-id', ...Object.entries(changes ?? {}).flatMap(([name, value]) => ['--attr', `${name}=${value}`]), ...option('to-instance', target.instance), ...option('to-workflow', target.workflow)]
  return (
    <ActionDialog title={isFix ? `Fix event ${sequence}, and send it?` : `Replay event ${sequence} unchanged?`} label="Send" isReady={mistake === '' && idFault === ''} close={close} run={run}
      command={{ line: commandLine(ns, 'event', 'replay', String(sequence), ...words), http: httpCall('POST', path, query, body) }}>
      <p>The event is published again{changes ? ' with the attributes below' : ' as it is'}, under {isSame && !changes ? 'its own id' : 'a new id, with the attribute replayof'}. {target.instance || target.workflow ? 'Only the target may take it.' : 'All listeners may take it.'}</p>
      {isFix
        ? <label>Attributes to set, one NAME=VALUE a line<textarea value={attributes} spellcheck={false} aria-invalid={mistake !== ''} onInput={(event) => { setAttributes(event.currentTarget.value); setTried(null) }} />{mistake && <span class="no" role="alert">{mistake}</span>}</label>
        : <p>To change it first, <a href={href(ns, ['events', 'try'], { from: sequence })}>fix it by hand</a>.</p>}
      <label>Only this instance<input class="mono" value={target.instance} aria-invalid={idFault !== ''} onInput={(event) => setTarget({ instance: event.currentTarget.value.trim(), workflow: '' })} />{idFault && <span class="no" role="alert">{idFault}</span>}</label>
      <label>Only this workflow<input value={target.workflow} onInput={(event) => setTarget({ workflow: event.currentTarget.value.trim(), instance: '' })} /></label>
      {!changes && <label><input type="checkbox" checked={isSame} onChange={(event) => setSame(event.currentTarget.checked)} /> Under its own id</label>}
      <button type="button" disabled={mistake !== '' || idFault !== ''} onClick={() => void dryRun()}>Try: what would it do?</button>
      {error && <Problem error={error} />}
      {tried && <div class="tried"><h3>It would do this; nothing was sent</h3><NearListeners ns={ns} answer={tried} isTrial /></div>}
      {isFix && <p><a href={href(ns, ['events', sequence])}>The event</a></p>}
    </ActionDialog>
  )
}

/** What is wrong with lines NAME=VALUE; empty: nothing. */
function mistakeOf(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) return 'no attribute is set: write at least one, such as orderid=o-7'
  const other = lines.find((line) => !/^\s*[^=\s]+\s*=/.test(line))
  return other === undefined ? lines.map((line) => attributeMistake(line.split('=')[0]?.trim() ?? '')).find(Boolean) ?? '' : `“${other}” is not NAME=VALUE, such as orderid=o-7`
}

/** The attributes of lines NAME=VALUE; null if there are none. */
function parseAttributes(text: string): Corrections | null {
  const pairs = text.split('\n').flatMap((line) => {
    const equals = line.indexOf('=')
    return equals > 0 ? [[line.slice(0, equals).trim(), line.slice(equals + 1)]] : []
  })
  return pairs.length > 0 ? (Object.fromEntries(pairs) as Corrections) : null
}

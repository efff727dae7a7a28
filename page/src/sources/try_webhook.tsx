// What a request for an inbound webhook would become: whether its signature fits, its event, and what that would start or wake.
import { useRef, useState } from 'preact/hooks'
import type { InboundTried } from '../api'
import { call, inNamespace } from '../core/client'
import { commandLine, httpCall } from '../core/commands'
import { prettyJson } from '../core/json'
import { Problem } from '../ui/basics'
import { CopyAsCommand } from '../ui/dialog'
import { Would } from './try'

/** The headers of lines `NAME: VALUE`, in their order; empty lines are left out, and a line without a name gives an error. */
function headerLines(text: string): Array<[string, string]> {
  return text.split('\n').filter((line) => line.trim() !== '').map((line) => {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0)).trim()
    if (name === '') throw new Error(`“${line.trim()}” is no header; write NAME: VALUE, such as X-GitHub-Event: push`)
    return [name, line.slice(colon + 1).trim()]
  })
}

/** The headers by name, each with all of its values. */
function byName(lines: Array<[string, string]>): Record<string, string[]> {
  const all = new Map<string, string[]>()
  for (const [name, value] of lines) all.set(name, [...(all.get(name) ?? []), value])
  return Object.fromEntries(all)
}

export function TryWebhook({ ns, name }: { ns: string; name: string }) {
  const [headers, setHeaders] = useState('')
  const [body, setBody] = useState('{}')
  const [tried, setTried] = useState<InboundTried | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const [isAsking, setAsking] = useState(false)
  const latest = useRef(0)
  const path = inNamespace(ns, 'hooks', name, 'try')
  let lines: Array<[string, string]> = []
  let mistake: Error | null = null
  try {
    lines = headerLines(headers)
  } catch (found) {
    mistake = found as Error
  }
  const request = JSON.stringify({ headers: byName(lines), body })
  const forget = (): void => { latest.current += 1; setTried(null); setError(null); setAsking(false) }
  const ask = async (): Promise<void> => {
    forget()
    if (mistake) { setError(mistake); return }
    const mine = latest.current
    setAsking(true)
    try {
      const answer = await call<InboundTried>('POST', path, { body: request, contentType: 'application/json' })
      if (mine === latest.current) setTried(answer)
    } catch (failure) {
      if (mine === latest.current) setError(failure as Error)
    }
    if (mine === latest.current) setAsking(false)
  }
  const flags = lines.flatMap(([header, value]) => ['--header', `${header}: ${value}`])
  return (
    <section aria-labelledby="try-title">
      <h2 id="try-title">Try a request</h2>
      <div class="columns">
        <form class="panel" onSubmit={(event) => { event.preventDefault(); void ask() }} aria-label="Request">
          <label>Headers, one NAME: VALUE in each line<textarea rows={4} value={headers} spellcheck={false} onInput={(event) => { forget(); setHeaders(event.currentTarget.value) }} /></label>
          <label>Body<textarea rows={8} value={body} spellcheck={false} onInput={(event) => { forget(); setBody(event.currentTarget.value) }} /></label>
          <CopyAsCommand command={{ line: commandLine(ns, 'webhook', 'try', name, '-f', 'body.json', ...flags), http: httpCall('POST', path, {}, request) }} />
          <div class="buttons"><button type="submit" class="primary" disabled={isAsking}>{isAsking ? 'Working…' : 'Try: nothing is published'}</button></div>
        </form>
        <div>
          {error && <Problem error={error} />}
          {tried === null && !error && <p class="quiet">“Try” checks the signature, and maps the request. The event is shown whether the signature fits or not, so a body alone is enough to try the mapping.</p>}
          {tried && <Tried ns={ns} tried={tried} />}
        </div>
      </div>
    </section>
  )
}

function Tried({ ns, tried }: { ns: string; tried: InboundTried }) {
  const { event, error, signature } = tried
  return (
    <article class="panel judged" aria-label="What the request would become">
      {signature.fits
        ? <p class="ok">The signature fits.</p>
        : <p><strong class="no">would be refused</strong> <code>{signature.code}</code> {signature.msg}. With a signature that fits:</p>}
      {tried.paused && <p class="notes">The inbound webhook is paused: the request is answered 503.</p>}
      {tried.challenge !== undefined && <p>No event: the answer is the challenge <code>{tried.challenge}</code>.</p>}
      {error && <p><strong class="no">would become no event</strong> <code>{error.code}</code> {error.msg}</p>}
      {event && (
        <>
          <p>event <b>{String(event.type)}</b> with the id <span class="mono">{String(event.id)}</span></p>
          <Would ns={ns} item={tried} event={event} />
          <details><summary>The event</summary>{tried.cut && <p class="quiet">The data of a large event is not shown.</p>}<pre class="data" tabIndex={0} aria-label="The event of the request">{prettyJson(event)}</pre></details>
        </>
      )}
    </article>
  )
}

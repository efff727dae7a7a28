// What a request for an inbound webhook would become: whether its signature fits, its event, and what that would start or wake.
import { useState } from 'preact/hooks'
import type { InboundTried } from '../api'
import { inNamespace } from '../core/client'
import { commandLine, httpCall } from '../core/commands'
import { Problem } from '../ui/basics'
import { CopyAsCommand } from '../ui/dialog'
import { MadeEvent, useTrial } from './trial'

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
  const path = inNamespace(ns, 'hooks', name, 'try')
  const { tried, error, isAsking, ask, forget, refuse } = useTrial<InboundTried>(path)
  let lines: Array<[string, string]> = []
  let mistake: Error | null = null
  try {
    lines = headerLines(headers)
  } catch (found) {
    mistake = found as Error
  }
  const request = JSON.stringify({ headers: byName(lines), body })
  const submit = (): void => {
    forget()
    if (mistake) refuse(mistake)
    else void ask({ body: request, contentType: 'application/json' })
  }
  const flags = lines.flatMap(([header, value]) => ['--header', `${header}: ${value}`])
  return (
    <section aria-labelledby="try-title">
      <h2 id="try-title">Try a request</h2>
      <div class="columns">
        <form class="panel" onSubmit={(event) => { event.preventDefault(); submit() }} aria-label="Request">
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
      {event && <MadeEvent ns={ns} item={tried} event={event} of="the request" />}
    </article>
  )
}

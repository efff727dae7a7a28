// "Go to": any id, name, sequence, event id, workflow or key.
import { useEffect, useState } from 'preact/hooks'
import type { Found } from '../api'
import { ApiError, call, inNamespace } from '../core/client'
import { href, navigate } from '../core/route'
import { Problem } from './basics'
import { Dialog } from './dialog'

type Item = Found['items'][number]

/** The address of what was found. */
function addressOf(ns: string, item: Item): string {
  switch (item.kind) {
    case 'workflow': return href(ns, ['workflows', item.id, 'graph'])
    case 'event': return href(ns, ['events', item.id])
    case 'deadLetter': return href(ns, ['dead', item.id])
    case 'group': return href(ns, ['groups'], { id: item.id })
    case 'task': return href(ns, ['instances', item.instance ?? '', 'calls'])
    case 'replay': return href(ns, ['events', 'replays'])
    case 'source': return href(ns, ['sources', item.id])
    case 'webhook': return href(ns, ['webhooks', item.id])
    case 'service': return href(ns, ['functions'])
    case 'pendingStart': return href(ns, ['queues'], { workflow: item.workflow })
    case 'instance':
    case 'key': return href(ns, ['instances', item.id, 'story'])
  }
}

const kNames: Record<Item['kind'], string> = { instance: 'instance', workflow: 'workflow', key: 'key', group: 'group', task: 'task', replay: 'replay', source: 'source', webhook: 'webhook', service: 'service', event: 'event', deadLetter: 'dead letter', pendingStart: 'pending start' }

/** The lists that know a text as a value: of the attribute that it names (NAME=VALUE), else as a subject or a correlation. */
function listsFor(ns: string, text: string): Array<[string, string]> {
  const [, name, value] = /^([a-z\d]+)\s*=\s*(.+)$/i.exec(text) ?? []
  if (name === undefined || value === undefined) return [[`Events with the subject ${text}`, href(ns, ['events'], { attribute: 'subject', value: text })], [`Instances with the correlation ${text}`, href(ns, ['instances'], { correlation: text })]]
  // Names of attributes are in lower case.
  const filter = { attribute: name.toLowerCase(), value }
  const words = `${filter.attribute} ${value}`
  return [[`Events with ${words}`, href(ns, ['events'], filter)], [`Instances that wait for ${words}`, href(ns, ['waiting'], { kind: 'instance', ...filter })], [`Groups with ${words}`, href(ns, ['groups'], filter)]]
}

export function GoTo({ ns, close }: { ns: string; close: () => void }) {
  const [text, setText] = useState('')
  const [found, setFound] = useState<Found | null>(null)
  const [isAsked, setAsked] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  // The page writes sequences as "#13".
  useEffect(() => {
    if (text.trim() === '') {
      setFound(null)
      return undefined
    }
    const control = new AbortController()
    const timer = setTimeout(() => {
      call<Found>('GET', inNamespace(ns, 'find'), { query: { q: text.trim().replace(/^#(?=\d+$)/, '') }, abort: control.signal }).then(
        (answer) => { setFound(answer); setError(null) },
        (failure: Error) => { if (failure.name !== 'AbortError') setError(failure as ApiError) },
      )
    }, 150)
    return () => { clearTimeout(timer); control.abort() }
  }, [text, ns])
  const open = (item: Item): void => {
    close()
    navigate(addressOf(ns, item))
  }
  const submit = (event: Event): void => {
    event.preventDefault()
    setAsked(true)
  }
  // What was found for an earlier text is not what this one names: the first hit is opened once it is there.
  const type = (typed: string): void => {
    setText(typed)
    setFound(null)
    setAsked(false)
  }
  useEffect(() => {
    const first = found?.items[0]
    if (isAsked && first) open(first)
  }, [isAsked, found])
  return (
    <Dialog title="Go to" close={close}>
      <form onSubmit={submit} class="form">
        <label>An id, a sequence, a workflow or a key<input value={text} autofocus autocomplete="off" spellcheck={false} onInput={(event) => type(event.currentTarget.value)} /></label>
        <div role="status">
          {error && <Problem error={error} />}
          {found && found.items.length === 0 && <p>Nothing has this name: looked for instances and workflows by the beginning of the id, keys, starts that were put off, groups, tasks, replays, sources, webhooks, services, events and dead letters. Lists that may have it as a value:</p>}
          {found && !found.complete && <p class="quiet">There may be more than these; write more of the name.</p>}
          {found?.notRead && <p class="quiet">The broker did not answer: {found.notRead.msg}</p>}
          {found && (
            <ul class="plain">
              {found.items.map((item) => (
                <li><a href={addressOf(ns, item)} onClick={close}>{kNames[item.kind]} <span class="mono">{item.id}</span></a> <span class="quiet">{item.label}</span></li>
              ))}
              {found.items.length === 0 && listsFor(ns, text.trim()).map(([label, address]) => <li><a href={address} onClick={close}>{label}</a></li>)}
            </ul>
          )}
        </div>
        <div class="buttons"><button type="button" onClick={close}>Close</button><button type="submit" class="primary" disabled={text.trim() === '' || found?.items.length === 0}>Open the first</button></div>
      </form>
    </Dialog>
  )
}

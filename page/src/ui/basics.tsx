// Small parts that every page uses: statuses, times, errors, empty lists.
import type { ComponentChildren } from 'preact'
import { Component } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import type { InstanceHead } from '../api'
import { ApiError } from '../core/client'
import { useBusy } from '../core/busy'
import { absolute, clock, duration, now, relative } from '../core/time'
import type { Pages, Resource } from '../core/resource'
import { overlay } from '../core/overlay'
import { href, kServer } from '../core/route'
import { Icon, type IconName } from './icons'

export type StatusName = InstanceHead['status']

const kStatusIcons: Record<StatusName, IconName> = {
  pending: 'dot', running: 'play', waiting: 'wait', paused: 'pause', complete: 'check', failed: 'cross', timedout: 'clock', cancelled: 'ban', damaged: 'damage',
}

/** The statuses that a filter can name, live ones first. */
export const kStatuses: StatusName[] = ['pending', 'running', 'waiting', 'paused', 'complete', 'failed', 'timedout', 'cancelled']

export function Status({ status }: { status: string }) {
  const icon = kStatusIcons[status as StatusName] ?? 'dot'
  return <span class={`status status-${status}`}><Icon name={icon} />{status}</span>
}

/** A time of day whose title is the absolute time. */
export function Clock({ at, exact = false }: { at: string; exact?: boolean }) {
  return <time dateTime={at} title={absolute(at)}>{clock(at, exact)}</time>
}

/** A time relative to now; it changes with the clock. */
export function Relative({ at }: { at: string }) {
  return <time dateTime={at} title={absolute(at)}>{relative(at, now.value)}</time>
}

/** "since 14:46:10 (5 m)"; the length grows. */
export function Since({ at }: { at: string }) {
  const seconds = Math.floor((now.value - Date.parse(at)) / 1000)
  return <>since <Clock at={at} />{seconds > 0 && ` (${duration(seconds * 1000)})`}</>
}

/** The word of a status in a sentence. */
export function wordOf(status: string | undefined): string | undefined {
  return status === 'timedout' ? 'timed out' : status
}

/** An id, short enough for a row; its title is the whole id. */
export function shortId(id: string): string {
  return id.length > 16 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id
}

export function InstanceLink({ ns, id, isWhole = false }: { ns: string; id: string; isWhole?: boolean }) {
  return <a class={isWhole ? 'mono' : 'mono nowrap'} href={href(ns, ['instances', id, 'story'])} title={id}>{isWhole ? id : shortId(id)}</a>
}

export function WorkflowLink({ ns, id, revision }: { ns: string; id: string; revision?: number }) {
  return <a href={href(ns, ['workflows', id, 'graph'], { revision })}>{id}{revision === undefined ? '' : `·${revision}`}</a>
}

export function EventLink({ ns, sequence }: { ns: string; sequence: number }) {
  return <a class="mono" href={href(ns, ['events', sequence])}>#{sequence}</a>
}

/** An event by its id; the history names events by their ids, not by their sequences. */
export function EventIdLink({ ns, id }: { ns: string; id: string }) {
  return <a class="mono" href={href(ns, ['events'], { id })}>{id}</a>
}

/** A number with thin spaces between its groups of digits. */
export function count(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f')
}

/** The plain form of a number and a noun: "1 instance", "3 instances". */
export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** Bytes in the unit that fits. */
export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let size = value
  let unit = 0
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024
    unit += 1
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`
}

/** A page: its heading gets the focus when the page is shown, and the title of the tab names it. */
export function Page({ title, heading, actions, children, back }: {
  title: string
  heading?: ComponentChildren
  actions?: ComponentChildren
  back?: { href: string; label: string }
  children: ComponentChildren
}) {
  // Layout effects: the title is set before a screen reader speaks the heading, and the heading has the focus before any control can be used.
  useLayoutEffect(() => {
    document.title = `${title} – millrace`
  }, [title])
  useLayoutEffect(() => {
    document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: false })
  }, [])
  return (
    <>
      <div class="heading">
        {back && <a class="back" href={back.href}><Icon name="back" />{back.label}</a>}
        <h1 tabIndex={-1}>{heading ?? title}</h1>
        {actions && <div class="actions">{actions}</div>}
      </div>
      {children}
    </>
  )
}

const kTime = /(\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/

/** A text of the server, in which times are in UTC; they are written as all others of the page. */
export function Timed({ text }: { text: string }) {
  return <>{text.split(kTime).map((part, index) => (index % 2 === 1 && Date.parse(part) ? <Clock at={part} exact /> : part))}</>
}

/** A sentence of the API; what stands in backticks is code. `isExact`: its times stay as they are, because they are examples of what the API takes. */
export function Says({ text, isExact = false }: { text: string; isExact?: boolean }) {
  return <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code><CommandText text={part} /></code> : isExact ? part : <Timed text={part} />))}</>
}

/** The name of an option, such as `--data-binary`; what is longer may come from outside, and must not make the page wide. */
const kOption = /((?<![\w-])--?[A-Za-z][\w-]{0,23}(?![\w-]))/

/** A command, whose lines break anywhere but in the name of an option: browsers break after each dash. */
export function CommandText({ text }: { text: string }) {
  return <>{text.split(kOption).map((part, index) => (index % 2 === 1 ? <span class="nowrap">{part}</span> : part))}</>
}

/** Opens "Go to", as the key does, which not every device has. */
export function GoToButton() {
  return <button type="button" class="small" onClick={() => { overlay.value = 'goto' }}>Look for it</button>
}

/** What an error says, in the words of the API, and what can be done. */
export function Problem({ error, retry, ns }: { error: Error; retry?: () => void; ns?: string }) {
  if (!(error instanceof ApiError)) return <div class="problem" role="alert"><p><Icon name="warning" /> The page has an error: {error.message}</p></div>
  return (
    <div class="problem" role="alert">
      <p><Icon name="warning" /> <Says text={error.detail} isExact={error.status >= 400 && error.status < 500} /></p>
      {error.mistakes.length > 0 && (
        <ul>{error.mistakes.map((mistake) => <li><code>{mistake.line ? `${mistake.line}:${mistake.column} ` : ''}{mistake.path}</code> {mistake.message}</li>)}</ul>
      )}
      <p class="quiet"><code>{error.code}</code>{error.status > 0 && `, status ${error.status}`}, {error.call}</p>
      {error.status === 403 && <p>The token of this session does not permit this call.</p>}
      {error.code === 'namespace.not_found' && <p>It was deleted, or has another name. See <a href={kServer}>the namespaces of the server</a>.</p>}
      {error.status === 404 && error.code !== 'namespace.not_found' && ns && <p>It was deleted, or belongs to another namespace. <GoToButton />, or see <a href={href(ns)}>the overview</a>.</p>}
      {error.retryAfter !== null && retry && <Countdown key={error} seconds={error.retryAfter} done={retry} />}
      {retry && <button type="button" onClick={retry}>Try again</button>}
    </div>
  )
}

/** Counts down once; the next answer with `Retry-After` is another error, with a countdown of its own. */
function Countdown({ seconds, done }: { seconds: number; done: () => void }) {
  const [left, setLeft] = useState(seconds)
  useEffect(() => {
    const timer = setTimeout(() => (left <= 1 ? done() : setLeft(left - 1)), 1000)
    return () => clearTimeout(timer)
  }, [left])
  return <p>Temporary: tries again in {left} s. <a href="readyz" target="_blank" rel="noreferrer">/readyz</a> says what is waited for.</p>
}

/** A list without items: why it is empty, and how items get here. */
export function Empty({ children, command }: { children: ComponentChildren; command?: string }) {
  return (
    <div class="empty">
      {children}
      {command && <pre><code><CommandText text={command} /></code></pre>}
    </div>
  )
}

/** What a resource shows: a skeleton, the error unless it is that of `shown`, or the children; old content stays, dimmed, while it is read again. */
export function Loaded<T>({ resource, ns, shown, children }: { resource: Resource<T>; ns?: string; shown?: Pick<Resource<unknown>, 'error'>; children: (data: T) => ComponentChildren }) {
  const { data, error, isLoading, reload } = resource
  return (
    <>
      {error && error.message !== shown?.error?.message && <Problem error={error} retry={reload} ns={ns} />}
      {data === undefined ? (!error && <Skeleton />) : <div class={isLoading ? 'loaded is-stale' : 'loaded'} aria-busy={isLoading}>{children(data)}</div>}
    </>
  )
}

/** A still picture of what comes, after 200 ms. */
export function Skeleton() {
  useBusy(true)
  return <div class="skeleton" aria-busy="true" role="status"><span class="hidden">Loading</span><i /><i /><i /></div>
}

/** A part of the page whose error leaves the rest as it is. */
export class Boundary extends Component<{ children: ComponentChildren; name: string }, { error: Error | null }> {
  override state = { error: null }

  static override getDerivedStateFromError(error: Error) {
    return { error }
  }

  override render() {
    const error = this.state.error as Error | null
    if (error === null) return this.props.children
    const text = `${this.props.name}: ${error.message}\n${location.href}\n${error.stack ?? ''}`
    return (
      <div class="problem" role="alert">
        <p>This part of the page has an error: {error.message}</p>
        <pre>{text}</pre>
        <CopyButton text={text} />
        <button type="button" onClick={() => this.setState({ error: null })}>Show it again</button>
      </div>
    )
  }
}

/** Puts a text on the clipboard; without a secure context, where the newer interface is missing, by a field. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text)
    return
  }
  const field = document.createElement('textarea')
  field.value = text
  const host = document.querySelector('dialog[open]') ?? document.body
  host.append(field)
  field.select()
  document.execCommand('copy')
  field.remove()
}

/** A button that puts a text on the clipboard. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [isDone, setDone] = useState(false)
  const copy = async (): Promise<void> => {
    await copyText(text)
    setDone(true)
    setTimeout(() => setDone(false), 2000)
  }
  return <button type="button" class="small copy" onClick={() => void copy()}><Icon name="copy" />{isDone ? 'Copied' : label}</button>
}

/** "100 shown [Older]" below a list, where a bound of the server cut it, and how many of its first rows the list has given up. */
export function More({ list }: { list: Pages }) {
  const { data, isLoadingOlder, older, reload } = list
  if (data === undefined) return null
  const { items, next, looked, complete = true, dropped = 0 } = data
  // A bound of the server has probably ended a page before it was full.
  const isSparse = next !== null && (looked ?? 0) > 2 * (items.length + dropped) + 100
  const end = complete ? ', that is all' : '; others may be missing'
  return (
    <p class="more">
      <span>{count(items.length)} shown{dropped > 0 && `, without the first ${count(dropped)}`}{next === null ? end : ''}</span>
      {(isSparse || !complete) && looked !== undefined && <span> · the server looked at {count(looked)}{next === null ? '' : '; go on'}</span>}
      {dropped > 0 && <button type="button" onClick={reload}>Back to the first</button>}
      {next !== null && <button type="button" disabled={isLoadingOlder} onClick={() => void older()}>{isLoadingOlder ? 'Loading…' : isSparse ? 'Go on' : 'Older'}</button>}
    </p>
  )
}

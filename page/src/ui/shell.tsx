// What every page has: the bar with the namespace and the pages, "Go to", the live switch, theme and
// time zone, the notices, and the sign-in form over the same address.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { DeadLetters, Namespaces } from '../api'
import { isBusy } from '../core/busy'
import { call, inNamespace, needsSignIn, readAgain } from '../core/client'
import { connection, lostSince, useLive } from '../core/live'
import { overlay } from '../core/overlay'
import { useGet } from '../core/resource'
import { href, kServer, lastNamespace, navigate, route } from '../core/route'
import { isLive, isUtc, nextTheme, theme } from '../core/settings'
import { clock, clockOffset, duration, now } from '../core/time'
import { pageOf } from '../pages'
import { barPageOf, kPages } from '../pages/places'
import { Boundary, count } from './basics'
import { announce, announcement } from './dialog'
import { GoTo } from './go_to'
import { Help } from './help'
import { Icon } from './icons'
import { useKeys } from './keys'
import { SignIn } from './sign_in'

export function Shell() {
  const setOverlay = (shown: typeof overlay.value): void => { overlay.value = shown }
  useKeys({ help: () => setOverlay('help'), goTo: () => setOverlay('goto') })
  const ns = lastNamespace.value
  const isLost = connection.value === 'lost'
  return (
    <div class={isLost ? 'is-lost' : ''}>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.querySelector<HTMLElement>('h1')?.focus() }}>Skip to the content</a>
      {needsSignIn.value ? <SignIn /> : (
        <>
          <Bar ns={ns} openGoTo={() => setOverlay('goto')} openHelp={() => setOverlay('help')} />
          <Notices />
          <Toast />
          <Main><Current /></Main>
        </>
      )}
      {overlay.value === 'help' && <Help close={() => setOverlay(null)} />}
      {overlay.value === 'goto' && <GoTo ns={ns} close={() => setOverlay(null)} />}
      <div class="hidden" role="status" aria-live="polite">{announcement.value.text}</div>
    </div>
  )
}

/** What the last action did. */
function Toast() {
  const { text, links = [] } = announcement.value
  return text === '' ? null : <div class="toast"><span>{text}{links.map((link) => <> <a href={link.href}>{link.label}</a></>)}</span><button type="button" class="small" onClick={() => announce('')}>Close</button></div>
}

/** The region of the page; `aria-busy` until it has got what the address shows first. */
function Main({ children }: { children: ComponentChildren }) {
  return <main id="main" aria-busy={isBusy.value}>{children}</main>
}

/** The page of the address; another address of the same page keeps its state. */
function Current() {
  const { ns, parts } = route.value
  const { key, Component } = pageOf({ ns, parts })
  const name = `${ns}/${key}`
  return <Boundary key={name} name={name}><Component key={name} ns={ns} parts={parts} /></Boundary>
}

function Bar({ ns, openGoTo, openHelp }: { ns: string; openGoTo: () => void; openHelp: () => void }) {
  const [dead, setDead] = useState(0)
  const page = route.value.ns === '' ? 'server' : barPageOf(route.value.parts[0])
  useLive({ ns, topics: ['dead'] }, { dead: (message) => setDead(message.count) })
  // The stream has the number when it changes, and only some seconds after it was opened.
  useEffect(() => {
    const control = new AbortController()
    setDead(0)
    call<DeadLetters>('GET', inNamespace(ns, 'dlq'), { query: { limit: 1 }, abort: control.signal }).then(({ reasons }) => setDead(reasons.reduce((sum, reason) => sum + reason.count, 0)), () => undefined)
    return () => control.abort()
  }, [ns])
  return (
    <header class="bar">
      <a class="name" href={href(ns)}>millrace</a>
      <NamespaceChoice ns={ns} />
      <nav aria-label="Pages">
        <ul>
          {kPages.map((entry) => (
            <li><a href={entry.path === 'server' ? kServer : href(ns, entry.path ? [entry.path] : [])} aria-current={page === entry.path ? 'page' : undefined}>
              {entry.name}{entry.path === 'dead' && dead > 0 && <> <span class="badge">{count(dead)}</span></>}
            </a></li>
          ))}
        </ul>
      </nav>
      <div class="tools">
        <button type="button" class="small" onClick={openGoTo}><Icon name="search" />Go to <kbd aria-hidden="true">/</kbd></button>
        <LiveSwitch />
        <button type="button" class="small" onClick={() => { isUtc.value = !isUtc.value }}>{isUtc.value ? 'UTC' : 'Local'}<span class="hidden"> time</span></button>
        <button type="button" class="small" onClick={nextTheme} aria-label={`Theme: ${theme.value}`} title={`Theme: ${theme.value}`}><Icon name="theme" /></button>
        <button type="button" class="small" onClick={openHelp} aria-label="Keys and help">?</button>
      </div>
    </header>
  )
}

function LiveSwitch() {
  const words = { off: 'not live', connecting: 'connecting', live: 'live', lost: 'lost' }
  return (
    <button type="button" class="small" aria-pressed={isLive.value} onClick={() => { isLive.value = !isLive.value }} title="Follow changes">
      <Icon name={isLive.value ? 'live' : 'pause'} />{isLive.value ? words[connection.value] : 'not live'}
    </button>
  )
}

/** The choice of the namespace. It has the first thousand; the last option leads to the page that lists all. */
function NamespaceChoice({ ns }: { ns: string }) {
  const list = useGet<Namespaces>('/v1/ns', { limit: 1000 })
  const { items = [], next = null } = list.data ?? {}
  const names = new Set([ns, ...items.map((item) => item.name)])
  const choose = (name: string): void => navigate(name === '' ? kServer : href(name, route.value.ns === '' ? [] : route.value.parts.slice(0, 1)))
  return (
    <select aria-label="Namespace" value={ns} onChange={(event) => { choose(event.currentTarget.value); event.currentTarget.value = ns }}>
      {[...names].sort().map((name) => <option value={name}>{name}</option>)}
      {next !== null && <option value="">others than the first {count(items.length)}…</option>}
    </select>
  )
}

/** A lost connection, and clocks that differ. */
function Notices() {
  const since = lostSince.value
  const [isClosed, setClosed] = useState(false)
  return (
    <>
      {connection.value === 'lost' && since !== null && (
        <div class="notice" role="region" aria-label="Connection">
          <span role="status">Not connected since {clock(new Date(since + clockOffset.value).toISOString())}</span><span aria-hidden="true">, for {duration(Math.max(1000, Math.floor((now.value - clockOffset.value - since) / 1000) * 1000))}</span>.
          What is shown may be old; it is read again when the server answers. <button type="button" class="small" onClick={readAgain}>Read again</button>
        </div>
      )}
      {!isClosed && Math.abs(clockOffset.value) > 2000 && (
        <div class="notice" role="region" aria-label="Clock">The clock of this browser is {duration(clockOffset.value)} {clockOffset.value > 0 ? 'behind' : 'ahead of'} the server's. Times are shown by the server's clock. <button type="button" class="small" onClick={() => setClosed(true)}>Close</button></div>
      )}
    </>
  )
}

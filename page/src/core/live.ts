// One stream of server-sent events a tab. The parts of the page that are shown name the topics they
// need; a change of the topics is another request. A hidden tab closes its stream after 10 s.
import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { DeadLetter, HistoryRecord, InstanceHead, Overview, StoredEventHead } from '../api'
import { ApiError, errorOf, inNamespace, pathWithQuery, readAgain, urlOf } from './client'
import { isLive } from './settings'
import { noteServerTime } from './time'

/** What the server did in a second, since the message before. */
export type WorkRates = Record<'events' | 'started' | 'woken' | 'ended' | 'failed' | 'published' | 'timers' | 'deadLetters', number>

export interface LiveMessages {
  hello: { boot: string; now: string; version: string; applied?: number }
  counts: { changed: Array<[string, string, number]> }
  instances: { items: InstanceHead[]; more: number }
  history: { instance: string; items: Array<HistoryRecord & { cut?: true }> }
  events: { items: StoredEventHead[]; more: number }
  dead: { count: number; last: string | null; items: DeadLetter[]; more: number }
  levels: Overview['levels'] & { rates?: WorkRates }
  reset: { why: 'restart' | 'overrun' | 'deleted' | 'stopping' }
}

export interface Topics {
  ns: string
  topics: string[]
  workflow?: string | null
  status?: string | null
  type?: string | null
  after?: number | null
}

type Handlers = { [Name in keyof LiveMessages]?: (data: LiveMessages[Name]) => void }
interface Subscription {
  topics: Topics
  handlers: { current: Handlers }
}

const kFirstRetry = 1000
const kLastRetry = 30_000
/** The server sends a comment every 15 s. */
const kSilence = 20_000
const kHiddenGrace = 10_000

/** What the stream does; `lost` since `lostSince`. */
export const connection = signal<'off' | 'connecting' | 'live' | 'lost'>('off')
export const lostSince = signal<number | null>(null)
/** The version of the server, from its `hello`. */
export const serverVersion = signal('')

const subscriptions = new Set<Subscription>()
let currentKey = ''
let lastId = ''
let abort: AbortController | null = null
/** When the browser asked for the stream, by its own clock. */
let askedAt = 0
let retry = kFirstRetry
let retryTimer: ReturnType<typeof setTimeout> | undefined
let hiddenTimer: ReturnType<typeof setTimeout> | undefined
let isScheduled = false

/** Follows topics while the component is shown. `null`: follows nothing. */
export function useLive(topics: Topics | null, handlers: Handlers): void {
  const latest = useRef(handlers)
  latest.current = handlers
  const key = JSON.stringify(topics)
  useEffect(() => {
    if (topics === null) return undefined
    const subscription = { topics, handlers: latest }
    subscriptions.add(subscription)
    schedule()
    return () => {
      subscriptions.delete(subscription)
      schedule()
    }
  }, [key])
}

/** The request for all subscriptions; empty: none is needed. */
function wanted(): string {
  const all = [...subscriptions].map((subscription) => subscription.topics)
  const ns = all[0]?.ns
  if (ns === undefined || !isLive.value) return ''
  const pick = (name: 'workflow' | 'status' | 'type' | 'after') => all.map((item) => item[name]).find((value) => value !== undefined && value !== null)
  const topics = [...new Set(all.filter((item) => item.ns === ns).flatMap((item) => item.topics))].sort()
  return pathWithQuery(inNamespace(ns, 'stream'), {
    topics: topics.join(','), workflow: pick('workflow'), status: pick('status'), type: pick('type'), after: pick('after'),
  })
}

/** Connects again, once all changes of this moment are known, if another request is needed. */
function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setTimeout(() => {
    isScheduled = false
    const key = wanted()
    if (key === currentKey) return
    currentKey = key
    lastId = ''
    reconnect()
  })
}

function reconnect(): void {
  clearTimeout(retryTimer)
  abort?.abort()
  abort = null
  if (currentKey === '') {
    connection.value = 'off'
    return
  }
  if (document.hidden && connection.value === 'off') return
  void follow(currentKey)
}

async function follow(key: string): Promise<void> {
  const control = new AbortController()
  abort = control
  if (connection.value !== 'lost') connection.value = 'connecting'
  let watchdog: ReturnType<typeof setTimeout> | undefined
  const heard = (): void => {
    clearTimeout(watchdog)
    watchdog = setTimeout(() => control.abort('silence'), kSilence)
  }
  try {
    heard()
    askedAt = Date.now()
    const headers: Record<string, string> = lastId ? { 'Last-Event-ID': lastId } : {}
    const response = await fetch(urlOf(key), { headers, signal: control.signal, cache: 'no-store', credentials: 'same-origin' })
    if (!response.ok || !response.body) {
      const body: unknown = await response.json().catch(() => null)
      throw errorOf(response, body, 'stream')
    }
    opened()
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    let buffer = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      heard()
      buffer = deliverAll(buffer + value)
    }
  } catch (error) {
    // The stream is tried again below, unless another request replaces it.
    if (abort === control && error instanceof ApiError && error.status >= 400 && error.status < 500) {
      clearTimeout(watchdog)
      refused()
      return
    }
  }
  clearTimeout(watchdog)
  if (abort === control) lost()
}

function opened(): void {
  retry = kFirstRetry
  if (connection.value === 'lost') readAgain()
  connection.value = 'live'
  lostSince.value = null
}

/** The server answers, but not with a stream: the namespace does not exist, or the token does not permit it. */
function refused(): void {
  abort = null
  connection.value = 'off'
  lostSince.value = null
  retryTimer = setTimeout(() => void follow(currentKey), kLastRetry)
}

function lost(): void {
  abort = null
  if (document.hidden && hiddenTimer === undefined) {
    connection.value = 'off'
    return
  }
  connection.value = 'lost'
  lostSince.value ??= Date.now()
  retryTimer = setTimeout(() => void follow(currentKey), retry)
  retry = Math.min(retry * 2, kLastRetry)
}

/** Delivers the complete messages of a text, and returns the rest. */
function deliverAll(text: string): string {
  const messages = text.split('\n\n')
  for (const message of messages.slice(0, -1)) deliver(message)
  return messages.at(-1) ?? ''
}

function deliver(message: string): void {
  let name = ''
  let data = ''
  for (const line of message.split('\n')) {
    if (line.startsWith('event: ')) name = line.slice(7)
    else if (line.startsWith('data: ')) data += line.slice(6)
    else if (line.startsWith('id: ')) lastId = line.slice(4)
  }
  if (name === '' || data === '') return
  const value = JSON.parse(data) as never
  if (name === 'hello') noteHello(value)
  if (name === 'reset') {
    lastId = ''
    readAgain()
  }
  for (const subscription of subscriptions) subscription.handlers.current[name as keyof LiveMessages]?.(value)
}

function noteHello(hello: LiveMessages['hello']): void {
  noteServerTime(hello.now, askedAt)
  serverVersion.value = hello.version
}

document.addEventListener('visibilitychange', () => {
  clearTimeout(hiddenTimer)
  hiddenTimer = undefined
  if (document.hidden) {
    hiddenTimer = setTimeout(() => {
      hiddenTimer = undefined
      clearTimeout(retryTimer)
      const control = abort
      abort = null
      control?.abort()
      connection.value = 'off'
    }, kHiddenGrace)
  } else if (abort === null && currentKey !== '') {
    if (connection.value === 'off') readAgain()
    clearTimeout(retryTimer)
    connection.value = 'connecting'
    void follow(currentKey)
  }
})

isLive.subscribe(() => schedule())

// What a part of the page reads: the value, the error, and whether it is being read.
import { useEffect, useRef, useState } from 'preact/hooks'
import { useBusy } from './busy'
import { isLive } from './settings'
import { ApiError, call, generation, pathWithQuery, type Query } from './client'

export interface Resource<T> {
  data: T | undefined
  error: ApiError | Error | undefined
  isLoading: boolean
  /** When the value was read, in milliseconds since 1970. */
  readAt: number
  reload: () => void
  /** Changes the value that is shown, for what the stream brings. */
  update: (change: (value: T) => T) => void
}

/** Reads a path with GET now, when it changes, and when everything is read again. `null`: reads nothing. */
export function useGet<T>(path: string | null, query: Query = {}): Resource<T> {
  const key = path === null ? null : pathWithQuery(path, query)
  const round = generation.value
  const [attempt, setAttempt] = useState(0)
  const [state, setState] = useState<{ data?: T; error?: Error; isLoading: boolean; readAt: number; key: string | null }>({ isLoading: false, readAt: 0, key: null })
  const pending = useRef(false)
  useBusy(key !== null && state.data === undefined && state.error === undefined)
  useEffect(() => {
    if (key === null) return undefined
    const control = new AbortController()
    setState((before) => ({ ...before, isLoading: true }))
    pending.current = true
    call<T>('GET', key, { abort: control.signal }).then(
      (data) => setState({ data, isLoading: false, readAt: Date.now(), key }),
      (error: Error) => {
        // What was read for another path is not that of this one.
        if (error.name !== 'AbortError') setState((before) => ({ ...before, data: before.key === key ? before.data : undefined, error, isLoading: false, key }))
      },
    ).finally(() => {
      pending.current = false
    })
    return () => control.abort()
  }, [key, attempt, round])
  return {
    data: state.data,
    error: state.error,
    // What is shown for another path is old from the first moment on.
    isLoading: key !== null && (state.isLoading || state.key !== key),
    readAt: state.readAt,
    reload: () => {
      if (!pending.current) setAttempt((count) => count + 1)
    },
    update: (change) => setState((before) => (before.data === undefined ? before : { ...before, data: change(before.data) })),
  }
}

export interface Page<Item> {
  items: Item[]
  next: string | null
  /** How much the server has read for the items. */
  looked?: number
  /** false: a bound of the server has left something out that no page has. */
  complete?: boolean
  /** So many of the first items were given up for later ones. */
  dropped?: number
}

/** A list that is read page by page; `older` reads the next page and appends it. */
export interface PagedResource<Item, Answer extends Page<Item>> extends Resource<Answer> {
  older: () => Promise<void>
  isLoadingOlder: boolean
}

/** A list without what its items are. */
export type Pages = Pick<PagedResource<unknown, Page<unknown>>, 'data' | 'older' | 'isLoadingOlder' | 'reload'>

/** Reads a list; at most `kRows` of its items are kept. */
export function useList<Item, Answer extends Page<Item> = Page<Item>>(path: string | null, query: Query = {}): PagedResource<Item, Answer> {
  const first = useGet<Answer>(path, query)
  const [isLoadingOlder, setLoadingOlder] = useState(false)
  const [olderError, setOlderError] = useState<Error | undefined>()
  const older = async (): Promise<void> => {
    if (path === null || !first.data?.next || isLoadingOlder) return
    setLoadingOlder(true)
    setOlderError(undefined)
    try {
      const page = await call<Answer>('GET', path, { query: { ...query, cursor: first.data.next } })
      first.update((before) => {
        const items = [...before.items, ...page.items]
        return {
          ...before, ...page, items: items.slice(-kRows), dropped: (before.dropped ?? 0) + Math.max(0, items.length - kRows),
          ...(page.looked === undefined ? {} : { looked: (before.looked ?? 0) + page.looked }),
        }
      })
    } catch (error) {
      setOlderError(error as Error)
    } finally {
      setLoadingOlder(false)
    }
  }
  return { ...first, error: first.error ?? olderError, older, isLoadingOlder }
}

/** So many rows of a list are in the document at most. */
export const kRows = 2000

/** Calls `work` each `interval` milliseconds while the page is seen and `isOn`. */
export function useInterval(work: () => void, interval: number, isOn = true): void {
  const latest = useRef(work)
  latest.current = work
  useEffect(() => {
    if (!isOn) return undefined
    const timer = setInterval(() => { if (!document.hidden && isLive.value) latest.current() }, interval)
    return () => clearInterval(timer)
  }, [interval, isOn])
}

/** Calls `work` at most once in `interval` milliseconds, the last time after the last request. */
export function useThrottle(work: () => void, interval: number): () => void {
  const latest = useRef(work)
  latest.current = work
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  return () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      latest.current()
    }, interval)
  }
}

// The URL is the state: "#/{namespace}/{parts…}?{query}". Every page, filter, tab and record is in it.
//
// "#/server" alone is the page of the server, and the only address without a namespace. A namespace may have any name, also "server": the
// overview of each has the address "#/{namespace}/overview", and "#/{namespace}" for short if the namespace is not named "server".
import { signal } from '@preact/signals'

export interface Route {
  /** The namespace; empty on the page of the server. */
  ns: string
  /** The parts behind the namespace; none: the overview, or the page of the server. */
  parts: string[]
  query: URLSearchParams
}

/** The name that stands for the server where a namespace stands otherwise. */
const kServerName = 'server'
/** The part that names the overview of a namespace. */
const kOverview = 'overview'
/** The address of the page of the server. */
export const kServer = `#/${kServerName}`

function parse(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s)
  const [ns = 'default', ...parts] = path.split('/').filter((part) => part !== '').map(decode)
  const isOverview = parts.length === 1 && parts[0] === kOverview
  if (ns === kServerName && parts.length === 0) return { ns: '', parts: [], query: new URLSearchParams(query) }
  return { ns, parts: isOverview ? [] : parts, query: new URLSearchParams(query) }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** What the address shows now. */
export const route = signal<Route>(parse(location.hash))
/** The namespace that was shown last; the page of the server has none of its own. */
export const lastNamespace = signal(route.value.ns || 'default')

addEventListener('hashchange', () => {
  route.value = parse(location.hash)
  if (route.value.ns) lastNamespace.value = route.value.ns
})

export type Parameters = Record<string, string | number | null | undefined>

/** The address of a page: of the overview if no parts are given. */
export function href(ns: string, parts: Array<string | number> = [], query: Parameters | URLSearchParams = {}): string {
  const path = [ns, ...(ns === kServerName && parts.length === 0 ? [kOverview] : parts)].map((part) => encodeURIComponent(part)).join('/')
  const text = query instanceof URLSearchParams ? textOf(query) : textOfParameters(query)
  return `#/${path}${text ? `?${text}` : ''}`
}

function textOfParameters(query: Parameters): string {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '')
  // Most links have no parameter, or a number; a list has hundreds of them.
  if (given.every(([, value]) => Number.isSafeInteger(value))) return given.map(([name, value]) => `${name}=${value}`).join('&')
  return textOf(new URLSearchParams(given.map(([name, value]) => [name, String(value)])))
}

function textOf(parameters: URLSearchParams): string {
  return parameters.toString().replaceAll('%2C', ',').replaceAll('%3A', ':')
}

/** Shows another page; `replace` leaves no step in the history of the browser. */
export function navigate(address: string, replace = false): void {
  if (replace) {
    history.replaceState(null, '', address)
    route.value = parse(address)
  } else {
    location.hash = address
  }
}

/** Changes parameters of the address of this page; null removes one. */
export function setQuery(changes: Parameters, replace = false): void {
  const { ns, parts, query } = route.value
  const next = new URLSearchParams(query)
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === '') next.delete(name)
    else next.set(name, String(value))
  }
  const address = ns === '' ? `${kServer}${next.size ? `?${next}` : ''}` : href(ns, parts, next)
  if (address !== location.hash) navigate(address, replace)
}

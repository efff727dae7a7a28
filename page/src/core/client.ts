// The only place that calls the API. Each error is an ApiError with the words of the API; 401 asks for
// a sign-in; a change carries the header that no form and no other site can send.
import { signal } from '@preact/signals'
import type { Mistake, Problem } from '../api'
import { parseJson } from './json'

/** The address under which the page and the API stand, without a name and a password; it ends with a slash. */
export const kBase = new URL('./', location.origin + location.pathname)

/** True while the API refuses calls because this browser has no session. */
export const needsSignIn = signal(false)
/** Whether this browser had a session when the API refused its call. */
export const hadSession = signal(false)
/** Grows when all that is shown is to be read again: after a sign-in, a reset of the stream, a lost connection. */
export const generation = signal(0)

export type Query = Record<string, string | number | boolean | null | undefined>

export interface CallOptions {
  query?: Query
  /** An object becomes JSON; a text is sent as it is, with `contentType`. */
  body?: unknown
  contentType?: string
  headers?: Record<string, string>
  abort?: AbortSignal
}

/** A call that the API refused, or that did not reach it (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly call: string,
    readonly mistakes: Mistake[] = [],
    readonly retryAfter: number | null = null,
  ) {
    super(detail)
  }
}

/** The path of a call and its query; parameters that are null, undefined, false or empty are left out. */
export function pathWithQuery(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === false || value === '') continue
    parameters.set(name, value === true ? '1' : String(value))
  }
  const text = parameters.toString().replaceAll('%2C', ',').replaceAll('%3A', ':')
  return text ? `${path}?${text}` : path
}

/** The path of something in a namespace; each part is escaped. */
export function inNamespace(ns: string, ...parts: Array<string | number>): string {
  return ['/v1/ns', ...[ns, ...parts].map((part) => encodeURIComponent(part))].join('/')
}

/** The URL of a path of the API. */
export function urlOf(path: string): string {
  return new URL(path.replace(/^\//, ''), kBase).href
}

/** Calls the API and returns the value of its JSON answer; of other answers the text. Throws ApiError. */
export async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
  const { response, text } = await fetchText(method, path, options)
  const type = response.headers.get('content-type') ?? ''
  const body = type.includes('json') && text !== '' ? parseJson(text) : text
  if (!response.ok) throw errorOf(response, body, `${method} ${path}`)
  needsSignIn.value = false
  hadSession.value = true
  return body as T
}

async function fetchText(method: string, path: string, options: CallOptions): Promise<{ response: Response; text: string }> {
  const url = urlOf(pathWithQuery(path, options.query))
  try {
    const response = await fetch(url, {
      method,
      headers: headersOf(method, options),
      body: bodyOf(options),
      credentials: 'same-origin',
      cache: 'no-store',
      signal: options.abort,
    })
    return { response, text: await response.text() }
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error
    throw new ApiError(0, 'page.unreachable', 'the server is not reachable', `${method} ${path}`)
  }
}

function headersOf(method: string, options: CallOptions): Record<string, string> {
  const headers: Record<string, string> = { accept: 'application/json', ...options.headers }
  if (method !== 'GET') headers['Millrace-Page'] = '1'
  if (options.body !== undefined) headers['content-type'] = options.contentType ?? 'application/json'
  return headers
}

function bodyOf(options: CallOptions): string | undefined {
  if (options.body === undefined) return undefined
  return typeof options.body === 'string' && options.contentType ? options.body : JSON.stringify(options.body)
}

/** The error that an answer describes; it notes that a sign-in is needed. */
export function errorOf(response: Response, body: unknown, name: string): ApiError {
  const problem = (typeof body === 'object' && body !== null ? body : {}) as Partial<Problem>
  // Without a token the server has no sessions; that one is missing is no reason to ask for a token.
  if (response.status === 401 && !name.endsWith('/v1/session')) needsSignIn.value = true
  const seconds = Number(response.headers.get('retry-after'))
  return new ApiError(
    response.status,
    problem.code ?? `http.${response.status}`,
    problem.detail ?? response.statusText,
    name,
    problem.errors ?? [],
    Number.isFinite(seconds) && seconds > 0 ? seconds : null,
  )
}

/** Reads everything that is shown again. */
export function readAgain(): void {
  generation.value += 1
}

// Each action as a command line and as an HTTP call, so that what the page does can be repeated.
import { kBase, pathWithQuery, type Query } from './client'

export interface Command {
  /** The command of `millrace`; null if there is none for it. */
  line: string | null
  http: string
  /** What is to be done first. */
  first?: string
}

/** A text as one word of a POSIX shell. */
export function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** The server that `millrace` calls unless it is named. */
const kDefaultUrl = 'http://127.0.0.1:8780'
/** The server of the page. */
const kUrl = kBase.href.slice(0, -1)

/** A command of `millrace` in a namespace, for the server of the page; arguments that are null or false are left out. */
export function commandLine(ns: string, ...words: Array<string | null | false | undefined>): string {
  const start = ns === 'default' || ns === '' ? ['millrace'] : ['millrace', '-n', ns]
  const given = words.filter((word): word is string => typeof word === 'string' && word !== '')
  return [...start, ...given, ...option('url', kUrl === kDefaultUrl ? null : kUrl)].map(quote).join(' ')
}

/** `--name value` as two words, or none if the value is empty. */
export function option(name: string, value: string | null | undefined): string[] {
  return value ? [`--${name}`, value] : []
}

/** The call of `curl` that does the same as the page. */
export function httpCall(method: string, path: string, query: Query = {}, body?: unknown, contentType = 'application/json'): string {
  const url = new URL(pathWithQuery(path, query).replace(/^\//, ''), kBase).href
  const words = ['curl', ...(method === 'GET' ? [] : method === 'POST' && body !== undefined ? [] : ['-X', method]), quote(url)]
  if (body !== undefined) {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    words.push('-H', quote(`content-type: ${contentType}`), '--data-binary', quote(text))
  }
  return words.join(' ')
}

/** A command for each of some ids: itself for one, a loop of a shell for several. */
export function forEach(ids: string[], command: (id: string) => string): string {
  if (ids.length === 1) return command(ids[0] ?? '')
  // A word in quotes gets those in which the shell puts the value.
  const text = command('each-id').replace(/'([^' ]*)each-id([^' ]*)'/, '"$1$$id$2"').replace('each-id', '$id')
  return `for id in ${ids.join(' ')}; do ${text}; done`
}

/** A command of a shell with the text that it reads from standard input. */
export function withInput(command: string, text: string): string {
  let end = 'EOF'
  while (text.split('\n').includes(end)) end += '_'
  return `${command} <<'${end}'\n${text}${text.endsWith('\n') ? '' : '\n'}${end}`
}

// Serves dist/ and passes all other requests on to a server, for work on the page without building the program:
//   node dev-server.mjs --server http://127.0.0.1:8780 [--listen 127.0.0.1:8790] [--dist dist] [--prefix /x/]
// All calls are answered by the server itself, also those of sessions.
import { createServer, request } from 'node:http'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const here = dirname(fileURLToPath(import.meta.url))

/**
 * Listens on `listen` ("address:port", port 0: any) and returns the server of node's http module.
 * `server` is the URL of millrace. `dist` is the folder of a build, whose files get the headers that
 * the server gives to its own page; null: the page is the server's, too. `prefix` is the path under
 * which all of it stands. `rewritesHost`: the server gets its own address as Host, not that of this proxy.
 */
export function startDevServer({ server, listen = '127.0.0.1:0', dist = join(here, 'dist'), prefix = '/', rewritesHost = false }) {
  const upstream = new URL(server)
  const folder = dist === null ? null : resolve(dist)

  /** The file of a path; read for each request, so that a build shows without a restart. */
  function entryOf(path) {
    if (folder === null) return undefined
    return JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')).find((entry) => entry.path === path)
  }

  /** Answers with a file and with the headers of the server's page, such as its content security policy. */
  async function answerFile(response, entry) {
    const { headers } = await fetch(upstream)
    const kept = ['content-security-policy', 'x-content-type-options', 'referrer-policy', 'cross-origin-opener-policy', 'cross-origin-resource-policy']
    for (const name of kept) if (headers.has(name)) response.setHeader(name, headers.get(name))
    response.writeHead(200, { 'content-type': entry.type, 'cache-control': 'no-cache' })
    response.end(readFileSync(join(folder, entry.file)))
  }

  function pass(incoming, response, path) {
    const headers = rewritesHost ? { ...incoming.headers, host: upstream.host } : incoming.headers
    const outgoing = request({ host: upstream.hostname, port: upstream.port, path, method: incoming.method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers)
      answer.pipe(response)
      answer.on('error', () => response.destroy())
    })
    outgoing.on('error', () => response.destroy())
    response.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  }

  const http = createServer((incoming, response) => {
    const url = new URL(incoming.url, 'http://page')
    if (!url.pathname.startsWith(prefix)) return response.writeHead(404).end()
    const path = `/${url.pathname.slice(prefix.length)}`
    const entry = entryOf(path)
    if (entry) return answerFile(response, entry).catch(() => response.destroy())
    return pass(incoming, response, path + url.search)
  })
  const colon = listen.lastIndexOf(':')
  http.listen(Number(listen.slice(colon + 1)), listen.slice(0, colon))
  return http
}

if (process.argv[1] && fileURLToPath(import.meta.url) === resolve(process.argv[1]) && existsSync(process.argv[1])) {
  const { values } = parseArgs({
    options: { server: { type: 'string' }, listen: { type: 'string' }, dist: { type: 'string' }, prefix: { type: 'string' } },
  })
  const http = startDevServer({ server: 'http://127.0.0.1:8780', listen: '127.0.0.1:8790', ...values })
  http.on('listening', () => console.log(`the page is at http://${http.address().address}:${http.address().port}${values.prefix ?? '/'}`))
}

// Serves dist/ and passes all other requests on to a server, for work on the page and its tests:
//   node dev-server.mjs --server http://127.0.0.1:8780 [--listen 127.0.0.1:8790] [--dist dist] [--prefix /x/]
// It answers as the server's side does: the same headers, deep links with index.html, and, if the server
// has no /v1/session, sessions of its own, which are good for tests only.
import { createServer, request } from 'node:http'
import { existsSync, readFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const here = dirname(fileURLToPath(import.meta.url))
export const kPolicy = [
  "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'", "worker-src 'self'",
  "form-action 'none'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'", 'trusted-types millrace',
].join('; ')
const kHeaders = {
  'content-security-policy': kPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/**
 * Listens on `listen` ("address:port", port 0: any) and returns the server of node's http module.
 * `server` is the URL of millrace; `prefix` is the path under which the page and the API stand.
 */
export function startDevServer({ server, listen = '127.0.0.1:0', dist = join(here, 'dist'), prefix = '/' }) {
  const folder = resolve(dist)
  // Read for each request, so that a build shows without a restart.
  const entryOf = (path) => JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')).find((entry) => entry.path === path)
  const sessions = new Map()
  const upstream = new URL(server)

  function answerFile(response, entry) {
    response.writeHead(200, {
      ...kHeaders, 'content-type': entry.type, 'cache-control': entry.immutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    })
    response.end(readFileSync(join(folder, entry.file)))
  }

  function problem(response, status, code, detail) {
    response.writeHead(status, { 'content-type': 'application/problem+json' })
    response.end(JSON.stringify({ type: 'about:blank', title: '', status, code, detail }))
  }

  /** Passes a request on; `token` replaces the session's cookie. */
  function pass(incoming, response, path, token) {
    const headers = { ...incoming.headers, host: upstream.host }
    for (const name of ['cookie', 'origin', 'referer']) delete headers[name]
    for (const name of Object.keys(headers)) if (name.startsWith('sec-')) delete headers[name]
    if (token) headers.authorization = `Bearer ${token}`
    const outgoing = request({ host: upstream.hostname, port: upstream.port, path, method: incoming.method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers)
      answer.pipe(response)
    })
    outgoing.on('error', (error) => {
      if (response.headersSent) response.destroy()
      else problem(response, 502, 'dev.unreachable', `the server at ${server} is not reachable: ${error.message}`)
    })
    response.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  }

  const cookieOf = (incoming) => /millrace-\d+=([0-9a-f]+)/.exec(incoming.headers.cookie ?? '')?.[1]

  /** Sessions of the development server: /v1/session as the server has it. */
  function answerSession(incoming, response, port) {
    const name = `millrace-${port}`
    if (incoming.method === 'POST') {
      const token = /^Bearer (.+)$/.exec(incoming.headers.authorization ?? '')?.[1]
      const probe = request(new URL('/v1/ns?limit=1', upstream), { headers: token ? { authorization: `Bearer ${token}` } : {} }, (answer) => {
        answer.resume()
        if (answer.statusCode === 401 || !token) return problem(response, 401, 'token.wrong', 'the token is missing or wrong')
        const id = randomBytes(32).toString('hex')
        sessions.set(id, token)
        response.writeHead(204, { 'set-cookie': `${name}=${id}; HttpOnly; SameSite=Strict; Path=/` })
        response.end()
      })
      probe.on('error', () => problem(response, 502, 'dev.unreachable', 'the server is not reachable'))
      probe.end()
    } else if (incoming.method === 'DELETE') {
      sessions.delete(cookieOf(incoming))
      response.writeHead(204, { 'set-cookie': `${name}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0` })
      response.end()
    } else if (sessions.has(cookieOf(incoming))) {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ scopes: ['admin'], namespaces: ['*'], until: new Date(Date.now() + 43_200_000).toISOString() }))
    } else {
      problem(response, 401, 'token.missing', 'this address has no session')
    }
  }

  const http = createServer((incoming, response) => {
    const url = new URL(incoming.url, 'http://page')
    if (!url.pathname.startsWith(prefix)) return problem(response, 404, 'dev.prefix', `the page is at ${prefix}`)
    const path = `/${url.pathname.slice(prefix.length)}`
    const port = http.address().port
    const asset = entryOf(path)
    if (asset) return answerFile(response, asset)
    const session = sessions.get(cookieOf(incoming))
    if (session && !['GET', 'HEAD'].includes(incoming.method) && incoming.headers['millrace-page'] !== '1') {
      return problem(response, 403, 'request.page', 'a call with a session needs the header Millrace-Page: 1')
    }
    if (path === '/v1/session') return answerSession(incoming, response, port)
    if (path.startsWith('/v1/') || ['/livez', '/readyz', '/activez', '/metrics'].includes(path)) {
      return pass(incoming, response, path + url.search, session)
    }
    return answerFile(response, entryOf('/'))
  })
  const [address, port] = [listen.slice(0, listen.lastIndexOf(':')), Number(listen.slice(listen.lastIndexOf(':') + 1))]
  http.listen(port, address)
  return http
}

if (process.argv[1] && fileURLToPath(import.meta.url) === resolve(process.argv[1]) && existsSync(process.argv[1])) {
  const { values } = parseArgs({
    options: { server: { type: 'string' }, listen: { type: 'string' }, dist: { type: 'string' }, prefix: { type: 'string' } },
  })
  const http = startDevServer({ server: 'http://127.0.0.1:8780', listen: '127.0.0.1:8790', ...values })
  http.on('listening', () => console.log(`the page is at http://${http.address().address}:${http.address().port}${values.prefix ?? '/'}`))
}

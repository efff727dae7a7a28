// What the tests of the page need: a server with its own broker and the page in it, a browser that
// reports each violation of the content security policy, each request to another origin, each error of
// a script, and each answer that does not fit the OpenAPI document.
// MILLRACE names the program, CHROMIUM the browser. With PAGE_DIST, the page is that of a folder and not
// the one in the program, for work on the page.
import Ajv from 'ajv/dist/2020.js'
import { chromium } from 'playwright-core'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startDevServer } from '../dev-server.mjs'

const here = dirname(fileURLToPath(import.meta.url))
export const kProgram = process.env.MILLRACE ?? resolve(here, '../../build/dev/app/millrace')
const kBrowser = process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell'

/** `millrace dev` on free ports, with a folder of its own that goes when it is stopped. */
export class Server {
  /** `flows` is the folder of the workflows, `options` are further options of `millrace dev`. */
  constructor({ flows = join(here, 'flows'), token, options = [] } = {}) {
    this.flows = flows
    this.options = options
    this.folder = mkdtempSync(join(tmpdir(), 'millrace-page-'))
    this.tokenFile = token ? join(this.folder, 'token') : null
    if (token) writeFileSync(this.tokenFile, `${token}\n`, { mode: 0o600 })
    this.token = token
    this.listen = '127.0.0.1:0'
  }

  /** Starts the process, and waits until it says where it listens. */
  async start() {
    const words = ['dev', this.flows, '--keep', join(this.folder, 'data'), '--listen', this.listen, '--nats-port', String(this.natsPort ?? (await freePort())), ...this.options]
    if (this.tokenFile) words.push('--token-file', this.tokenFile)
    this.process = spawn(kProgram, words, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, MILLRACE_URL: '' } })
    let log = ''
    const address = new Promise((done, fail) => {
      const read = (chunk) => {
        log += chunk
        const match = /HTTP at (http:\/\/[^,\s]+), NATS at nats:\/\/[^:]+:(\d+)/.exec(log)
        if (match) done(match)
      }
      this.process.stdout.on('data', read)
      this.process.stderr.on('data', read)
      this.process.on('error', fail)
      this.process.on('exit', (code) => fail(new Error(`millrace dev ended with ${code}:\n${log}`)))
    })
    address.catch(() => undefined)
    const [, url, port] = await address
    this.url = url
    this.listen = new URL(url).host
    this.natsPort = Number(port)
  }

  /** Ends the process by a signal, and waits for its end. */
  async end(signal = 'SIGTERM') {
    const ended = once(this.process, 'exit')
    this.process.kill(signal)
    await ended
  }

  async stop() {
    if (this.process?.exitCode === null && this.process.signalCode === null) await this.end()
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** Calls the API, and returns the JSON answer; throws if the status is not 2xx. */
  async call(method, path, body, headers = {}) {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const authorization = this.token ? { authorization: `Bearer ${this.token}` } : {}
    const response = await fetch(this.url + path, { method, body: text, headers: { 'content-type': 'application/json', ...authorization, ...headers } })
    const answer = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${answer}`)
    return answer === '' ? null : JSON.parse(answer)
  }

  get(path) {
    return this.call('GET', `/v1/ns/default${path}`)
  }

  /** Starts an instance of a workflow, and returns its id. */
  async run(workflow, input = {}) {
    return (await this.call('POST', `/v1/ns/default/workflows/${workflow}/start`, input)).id
  }

  /** Starts an instance of a workflow `fails`, which fails with `card.declined`, and returns its id. */
  async runFailing() {
    await this.call('PUT', '/v1/ns/default/workflows/fails', 'id: fails\nstates:\n- {id: stop, type: error, error: card.declined, message: no}\n', { 'content-type': 'application/yaml' })
    return this.run('fails')
  }

  /** Publishes an event over HTTP, and returns it as it is stored, once it is applied. */
  async send(event) {
    const whole = { specversion: '1.0', id: `e-${Math.random().toString(36).slice(2)}`, source: 'bookings.web', ...event }
    await this.call('POST', '/v1/ns/default/events', whole, { 'content-type': 'application/cloudevents+json' })
    return until(async () => (await this.get(`/events?id=${whole.id}`)).items.find((item) => item.applied))
  }

  /** Publishes a text, or several, on a subject of NATS. */
  async publish(subject, texts) {
    const socket = connect(this.natsPort, '127.0.0.1')
    const messages = [texts].flat().map((text) => `PUB ${subject} ${Buffer.byteLength(text)}\r\n${text}\r\n`)
    socket.write(`CONNECT {"verbose":false}\r\n${messages.join('')}PING\r\n`)
    await new Promise((done) => {
      let answer = ''
      socket.on('data', (chunk) => { answer += chunk; if (answer.includes('PONG')) done() })
    })
    socket.destroy()
  }

  /** Sends a request with a JSON value on NATS, and returns the JSON value of the answer. */
  async request(subject, value) {
    const socket = connect(this.natsPort, '127.0.0.1')
    const text = JSON.stringify(value)
    const inbox = `_INBOX.page.${Math.random().toString(36).slice(2)}`
    socket.write(`CONNECT {"verbose":false}\r\nSUB ${inbox} 1\r\nPUB ${subject} ${inbox} ${Buffer.byteLength(text)}\r\n${text}\r\n`)
    const answer = await new Promise((done, fail) => {
      let bytes = Buffer.alloc(0)
      socket.on('error', fail)
      socket.on('data', (chunk) => {
        bytes = Buffer.concat([bytes, chunk])
        const head = /MSG _INBOX\S+ 1 (\d+)\r\n/.exec(bytes.toString('latin1'))
        if (!head) return
        const begin = head.index + head[0].length
        const end = begin + Number(head[1])
        if (bytes.length >= end) done(bytes.subarray(begin, end).toString())
      })
    })
    socket.destroy()
    return JSON.parse(answer)
  }

  /** Makes a stream of another program, unless there is one. */
  async makeStream(name, subjects) {
    const answer = await this.request(`$JS.API.STREAM.CREATE.${name}`, { name, subjects, retention: 'limits', storage: 'memory', num_replicas: 1 })
    if (answer.error) throw new Error(`stream ${name}: ${JSON.stringify(answer.error)}`)
  }

  /** Applies a source of the namespace `default`. */
  applySource(name, settings) {
    return this.call('PUT', `/v1/ns/default/sources/${name}`, settings)
  }

  /** Gives the namespace `default` one inbound webhook, `git`, whose requests are signed with `key` in the form of GitHub. */
  async setWebhook(key) {
    await this.call('PUT', '/v1/ns/default/secrets/git-key', key, { 'content-type': 'application/octet-stream' })
    await this.call('PUT', '/v1/ns/default', { hooks: { git: { verify: { form: 'github', secrets: ['git-key'] }, mapping: { type: 'order.placed', subject: 'jq(.data.repository)' } } } })
  }

  instance(id) {
    return this.get(`/instances/${id}`)
  }

  /** Waits until an instance has a status. */
  async reaches(id, status) {
    return until(async () => { const instance = await this.instance(id); return instance.status === status ? instance : null }, `${id} is ${status}`)
  }
}

/** `millrace serve` with a nats-server: it has options that `millrace dev` has not, and reads its token again on SIGHUP. */
export class ServeServer extends Server {
  async start() {
    this.natsPort ??= await freePort()
    this.port ??= await freePort()
    this.url = `http://127.0.0.1:${this.port}`
    const options = { stdio: 'ignore', env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin`, MILLRACE_URL: '' } }
    this.broker ??= spawn('nats-server', ['-a', '127.0.0.1', '-p', String(this.natsPort), '-js', '-sd', join(this.folder, 'nats')], options)
    const words = ['serve', '--data', join(this.folder, 'data'), '--nats', `nats://127.0.0.1:${this.natsPort}`, '--listen', `127.0.0.1:${this.port}`]
    if (this.tokenFile) words.push('--token-file', this.tokenFile)
    await until(() => canConnect(this.natsPort), 'the nats-server')
    this.process = spawn(kProgram, [...words, ...this.options], options)
    await until(async () => {
      if (this.process.exitCode !== null) throw new Error(`millrace serve ended with ${this.process.exitCode}`)
      return fetch(`${this.url}/readyz`).then((answer) => answer.ok, () => false)
    }, 'millrace serve is ready')
  }

  /** Writes another token into its file; the server reads it on SIGHUP. */
  changeToken(token) {
    writeFileSync(this.tokenFile, `${token}\n`)
    this.token = token
    this.process.kill('SIGHUP')
  }

  async stop() {
    if (this.process?.exitCode === null && this.process.signalCode === null) await this.end()
    this.broker?.kill()
    if (this.broker) await once(this.broker, 'exit')
    await super.stop()
  }
}

function canConnect(port) {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => { socket.destroy(); done(true) })
    socket.on('error', () => done(false))
  })
}

export async function freePort() {
  const { createServer } = await import('node:net')
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}

/** How long a test waits at most for what must come, in ms: long, because other parts of ./dev check run beside. */
const kMostWait = 180_000

/** Asks again until `ask` answers something; fails after three minutes. */
export async function until(ask, what = 'what is waited for') {
  const end = Date.now() + kMostWait
  for (;;) {
    const answer = await ask()
    if (answer) return answer
    if (Date.now() > end) throw new Error(`not seen within three minutes: ${what}`)
    await new Promise((done) => setTimeout(done, 50))
  }
}

/**
 * A server with the page, and a browser. `options` are those of Server, or a `server`; `prefix` is the
 * path of a proxy. `stop` ends all three and fails if a page had a fault.
 */
export class Console {
  constructor(options = {}) {
    this.options = options
    this.server = options.server ?? new Server(options)
    this.faults = []
    this.answers = 0
  }

  async start() {
    await this.server.start()
    await this.checkPage()
    this.base = await this.address()
    this.browser = await chromium.launch({ executablePath: kBrowser, args: ['--no-sandbox'] })
    this.document = await (await fetch(`${this.server.url}/v1/openapi.json`)).json()
    this.schemas = new Ajv({ strict: false, validateFormats: false })
    this.schemas.addSchema(this.document, 'openapi')
    this.checks = new Map()
  }

  /** Fails at once if the program was built without the page: no test would see anything. */
  async checkPage() {
    if (process.env.PAGE_DIST) return
    const answer = await fetch(`${this.server.url}/`)
    if (!answer.ok) throw new Error(`${kProgram} answers GET / with ${answer.status}: ${await answer.text()}`)
  }

  /** The address of the page: the server's own, or that of a proxy if there is a prefix or a folder to serve. */
  async address() {
    const dist = process.env.PAGE_DIST ?? null
    const prefix = this.options.prefix ?? '/'
    if (dist === null && prefix === '/') return `${this.server.url}/`
    this.http = startDevServer({ server: this.server.url, prefix, dist })
    await once(this.http, 'listening')
    return `http://127.0.0.1:${this.http.address().port}${prefix}`
  }

  async stop() {
    await this.browser?.close()
    this.http?.closeAllConnections()
    this.http?.close()
    await this.server.stop()
    if (this.faults.length > 0) throw new Error(`faults of the page:\n${[...new Set(this.faults)].join('\n')}`)
  }

  /** A context of the browser whose pages wait as long as a test does. */
  async newContext(options) {
    const context = await this.browser.newContext(options)
    context.setDefaultTimeout(kMostWait)
    return context
  }

  /** A page at an address behind `#`; `width` and `scheme` are those of the window. */
  async open(address, { width = 1280, height = 900, scheme = 'light', context } = {}) {
    const holder = context ?? (await this.newContext({ viewport: { width, height }, colorScheme: scheme, acceptDownloads: true }))
    const page = await holder.newPage()
    await page.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (event) => console.error(`VIOLATION ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`))
    })
    page.on('pageerror', (error) => this.faults.push(`error: ${error.message}`))
    page.on('console', (message) => {
      if (/VIOLATION|Content Security Policy|TrustedHTML|TrustedScript/.test(message.text())) this.faults.push(message.text())
    })
    page.on('request', (request) => {
      if (!request.url().startsWith(this.base) && !request.url().startsWith('data:')) this.faults.push(`a request to ${request.url()}`)
    })
    page.on('response', (response) => void this.checkAnswer(response))
    await page.goto(`${this.base}${address}`)
    return page
  }

  /** Opens a route in a page that is open, and waits until it has got what it shows. */
  async show(page, route) {
    // The page listens before the test does, and draws the route before the next task of the browser.
    await page.evaluate(async (hash) => {
      if (location.hash === hash) return
      const isChanged = new Promise((done) => addEventListener('hashchange', done, { once: true }))
      location.hash = hash
      await isChanged
    }, `#/${route}`)
    await settled(page)
  }

  /** Holds an answer against its schema. */
  async checkAnswer(response) {
    const url = new URL(response.url())
    const type = response.headers()['content-type'] ?? ''
    if (!type.includes('json') || !url.pathname.includes('/v1/')) return
    const path = url.pathname.slice(url.pathname.indexOf('/v1/'))
    if (path === '/v1/openapi.json' || response.status() === 502) return
    const body = await response.json().catch(() => undefined)
    if (body === undefined) return
    const fault = this.misfit(response.request().method(), path, response.status(), body)
    this.answers += 1
    if (fault) this.faults.push(fault)
  }

  /** How an answer differs from the OpenAPI document; null: it fits. */
  misfit(method, path, status, body) {
    const template = templateOf(this.document, path, method.toLowerCase())
    if (!template) return `${method} ${path} is not in the OpenAPI document`
    const operation = this.document.paths[template][method.toLowerCase()]
    const found = operation.responses[String(status)] ? String(status) : 'default'
    const place = `paths/${escape(template)}/${method.toLowerCase()}/responses/${found}`
    const response = operation.responses[found]
    if (!response) return `${method} ${template} answers ${status}, which the OpenAPI document does not have`
    const pointer = response.$ref ? `${response.$ref.slice(2)}/content` : `${place}/content`
    const content = response.$ref ? this.document.components.responses[response.$ref.split('/').pop()].content : response.content
    const type = Object.keys(content ?? {})[0]
    if (!type?.includes('json')) return null
    const key = `openapi#/${pointer}/${escape(type)}/schema`
    if (!this.checks.has(key)) this.checks.set(key, this.schemas.compile({ $ref: key }))
    const check = this.checks.get(key)
    return check(body) ? null : `${method} ${template} ${status}: ${this.schemas.errorsText(check.errors)}`
  }
}

function escape(text) {
  return encodeURIComponent(text.replaceAll('~', '~0').replaceAll('/', '~1'))
}

/** The path of the document that a path fits; a literal wins over a placeholder. */
function templateOf(document, path, method) {
  const parts = path.split('/')
  const fits = Object.keys(document.paths).filter((template) => {
    const words = template.split('/')
    return document.paths[template][method] && words.length === parts.length && words.every((word, index) => word.startsWith('{') || word === parts[index])
  })
  return fits.sort((a, b) => a.split('{').length - b.split('{').length)[0]
}

/** Prints a time in milliseconds; no test fails because of it. */
export function printTime(name, milliseconds) {
  console.log(`time ${name} ${milliseconds.toFixed(0)}`)
}

/**
 * Runs a text of a shell in which `millrace` is the program of the tests, with a token or none, and returns what it prints. The environment
 * names no server. It does not block this process, which may be the proxy that is called.
 */
export function runShell(text, token = '') {
  const env = { ...process.env, MILLRACE: kProgram, MILLRACE_URL: '', MILLRACE_TOKEN: token }
  return new Promise((done, fail) => {
    execFile('sh', ['-c', `millrace() { "$MILLRACE" "$@"; }\n${text}\n`], { env }, (error, output) => (error ? fail(error) : done(output)))
  })
}

/** Waits until a page has got what its route shows: code that is loaded when it is needed, data, drawings. */
export async function settled(page) {
  await page.locator('h1').waitFor()
  await page.locator('main[aria-busy="true"], main [aria-busy="true"]').first().waitFor({ state: 'detached' })
}

/** Waits until a text is seen in a part of a page. */
export async function sees(scope, text) {
  await scope.getByText(text).first().waitFor()
}

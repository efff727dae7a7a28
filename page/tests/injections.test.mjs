// Acceptance check 20: content from outside is text in every field that is shown. Thirty texts that would
// act if they were put into the document as markup, a style, an address or a template.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, before, test } from 'node:test'
import { Console, settled, until } from './harness.mjs'

const kInjections = [
  '<img src=x onerror="hit=1">', '<script>hit=1</script>', '"><script>hit=1</script>', "'><img src=x onerror=hit=1>", '<svg onload=hit=1>', '<svg><script>hit=1</script></svg>',
  '<iframe src="javascript:parent.hit=1"></iframe>', '<iframe srcdoc="<script>parent.hit=1</script>"></iframe>', '<body onload=hit=1>', '<input autofocus onfocus=hit=1>',
  '<details open ontoggle=hit=1>', '<video src=x onerror=hit=1>', '<a href="javascript:hit=1">a</a>', 'javascript:hit=1', 'data:text/html,<script>hit=1</script>', '<style>*{display:none}</style>',
  '<link rel=stylesheet href=//elsewhere.example/a.css>', '<base href=//elsewhere.example/>', '<meta http-equiv=refresh content="0;url=//elsewhere.example/">', '<form action=//elsewhere.example/><button>b</button></form>',
  '<object data="javascript:hit=1"></object>', '<math><mtext></table><img src=x onerror=hit=1></mtext></math>', '</textarea><img src=x onerror=hit=1>', '</title><img src=x onerror=hit=1>', '<!--><img src=x onerror=hit=1>',
  '{{constructor.constructor("hit=1")()}}', '${hit=1}', '#/default/dead?x="onclick="hit=1', '\u202e<img src=x onerror=hit=1>', '__proto__',
]
const kEcho = `id: echo
description: ${JSON.stringify(kInjections.slice(0, 12).join(' '))}
states:
- id: say
  type: noop
  log: jq(.texts)
  transition: wait
- id: wait
  type: consumeEvent
  event: {type: echo.go, context: {note: 'jq(.texts[0])'}}
  timeout: PT1S
  transition: stop
  catch:
  - {error: direktiv.stateTimeout, transition: stop}
- id: stop
  type: error
  error: echo.failed
  message: 'jq(.texts | join(" "))'
`
const console_ = new Console()
const { server } = console_
before(() => console_.start())
after(() => console_.stop())

/** Fails if a text acted, or became an element. */
async function assertIsText(page, place) {
  const found = await page.evaluate(() => ({
    hit: 'hit' in window,
    elements: [...document.querySelectorAll('img, iframe, object, video, base, style, meta[http-equiv], svg script, body script, math, form[action], [onerror], [onload], a[href^="javascript:"], a[href^="data:"]')].map((one) => one.outerHTML),
  }))
  assert.deepEqual(found, { hit: false, elements: [] }, place)
}

/** The injections of which a page does not have the text, as it is or as in JSON. */
async function missing(page, injections) {
  const text = await page.evaluate(() => document.body.textContent + [...document.querySelectorAll('textarea, input')].map((one) => one.value).join('\n'))
  return injections.filter((one) => !text.includes(one) && !text.includes(JSON.stringify(one).slice(1, -1)))
}

/** Opens the places of a namespace, each with the texts that it shows, and fails if one of them is not text there. */
async function assertAreText(ns, places) {
  for (const [place, injections, prepare] of places) {
    const page = await console_.open(`#/${ns}/${place}`)
    await settled(page)
    await prepare?.(page)
    if (injections.length > 0) await until(async () => (await missing(page, injections)).length === 0, `the texts in ${ns}/${place}: ${await missing(page, injections)}`)
    await assertIsText(page, place)
    await page.context().close()
  }
}

/** The content type of a variable with a text, as far as it fits into a header of HTTP. */
function typeWith(one) {
  return `text/plain; a="${one.replace(/[^\x20-\x7e]/g, '').replace(/["\\]/g, '\\$&')}"`
}

test('20 CSP: thirty injections in every field that is shown are text', async () => {
  assert.equal(kInjections.length, 30)
  await server.call('PUT', '/v1/ns/default/workflows/echo', kEcho, { 'content-type': 'application/yaml' })
  const named = Object.fromEntries(kInjections.map((one) => [one, one]))
  const id = await server.run('echo', { texts: kInjections, named })
  const attributes = Object.fromEntries(kInjections.map((one, index) => [`note${index}`, one]))
  const all = await server.send({ type: 'echo.all', ...attributes, data: { texts: kInjections, named } })
  for (const [index, one] of kInjections.entries()) {
    const event = { specversion: '1.0', id: `${index} ${one}`, source: 'outside', subject: one, type: 'echo.go', note: one, data: one }
    await server.call('POST', '/v1/ns/default/events', event, { 'content-type': 'application/cloudevents+json' })
    await server.publish('millrace.events.default.echo', [{ note: one, data: one }, { source: 'outside', [one]: one }].map((more) => JSON.stringify({ specversion: '1.0', id: one, type: 'echo', ...more })))
    await server.call('PUT', `/v1/ns/default/variables/text-${index}`, one, { 'content-type': typeWith(one) })
  }
  await server.publish('millrace.events.default.echo', kInjections.join('\n'))
  await server.reaches(id, 'failed')
  await server.reaches(await server.run('fails'), 'failed')
  const letters = await until(async () => { const { items } = await server.get('/dlq?limit=100'); return items.length === 61 && items })
  const whole = letters.find((letter) => letter.reason === 'event.malformed_json')
  const places = [
    [`instances/${id}/story`, kInjections], [`instances/${id}/data`, kInjections], ['instances?status=failed', ['<img src=x onerror="document.title=1"> no funds']], [`instances/${id}/why`, kInjections], [`events/${all.sequence}`, kInjections],
    ['events', kInjections], ['events?type=echo.go', kInjections], ['dead', kInjections], [`dead/${whole.id}`, kInjections], ['values', kInjections.map(typeWith)],
    ['workflows', []], ['workflows/echo/graph', kInjections.slice(0, 12)], ['workflows/echo/text', kInjections.slice(0, 12)], ['', []],
    ...letters.filter((letter) => letter !== whole).slice(0, 8).map((letter) => [`dead/${letter.id}`, [JSON.parse(letter.data).id]]),
  ]
  await assertAreText('default', places)
})

/** The texts that fit into a header of HTTP. */
const kHeaders = kInjections.filter((one) => /^[\x20-\x7e]+$/.test(one))

/** A service that accepts tasks (`callbacks` has their URLs) or fails, with the texts as code and message of the error. */
function startService(callbacks) {
  let failures = 0
  const http = createServer((request, response) => {
    request.resume()
    if (request.url === '/accept') {
      callbacks.push(request.headers['millrace-callback'])
      response.writeHead(200, { 'Millrace-Answer': 'accepted', connection: 'close' })
    } else {
      response.writeHead(500, { 'Direktiv-ErrorCode': 'echo.refused', 'Direktiv-ErrorMessage': kHeaders[failures % kHeaders.length], connection: 'close' })
      failures += 1
    }
    response.end()
  }).listen(0, '127.0.0.1')
  http.unref()
  return http
}

const kCalls = `id: calls
functions:
  - {id: accept, type: service, service: accept}
states:
  - {id: ask, type: foreach, array: jq(.items), action: {function: accept, input: {}}}
`
const kFails = `id: refused
functions:
  - {id: refuse, type: service, service: refuse}
states:
  - {id: ask, type: action, action: {function: refuse, input: {}}}
`
const kTurns = `id: turns
concurrency: {limit: 1, key: jq(.key)}
states:
  - {id: hold, type: consumeEvent, event: {type: turns.go}}
`
const kPairs = `id: pairs
start: {type: eventsAnd, events: [{type: pair.one}, {type: pair.two}], correlate: [note]}
states:
  - {id: done, type: noop}
`
const kListens = `id: listens
states:
  - {id: hold, type: consumeEvent, event: {type: listens.go, context: {note: 'jq(.note)'}}}
`

/** A workflow whose name, texts of conditions and codes of errors are the texts. */
const kNamed = JSON.stringify({
  id: 'named',
  name: kInjections[0],
  description: kInjections.join(' '),
  states: [
    { id: 'choose', type: 'switch', conditions: kInjections.map((one) => ({ condition: `jq(.a == ${JSON.stringify(one)})`, transition: 'end' })), defaultTransition: 'end' },
    { id: 'end', type: 'noop', log: kInjections.join(' ') },
  ],
})

/** One of the texts, without quotes: it is not escaped within a program of jq in JSON. */
const kPlain = kInjections[4]

async function fillOutside(callbacks) {
  const http = startService(callbacks)
  await once(http, 'listening')
  const url = `http://127.0.0.1:${http.address().port}`
  const mapping = { type: 'made', subject: 'jq(.data.texts[0])', attributes: { note: `jq(${JSON.stringify(kPlain)})` } }
  await server.call('PUT', '/v1/ns/outside')
  await server.call('PUT', '/v1/ns/outside/secrets/key', 'key', { 'content-type': 'application/octet-stream' })
  await server.call('PUT', '/v1/ns/outside', { services: { accept: { url: `${url}/accept` }, refuse: { url: `${url}/refuse` } }, hooks: { git: { verify: { form: 'github', secrets: ['key'] }, mapping } } })
  for (const [id, text] of Object.entries({ calls: kCalls, refused: kFails, turns: kTurns, pairs: kPairs, listens: kListens, named: kNamed })) {
    await server.call('PUT', `/v1/ns/outside/workflows/${id}`, text, { 'content-type': 'application/yaml' })
  }
  await server.call('PUT', '/v1/ns/outside/workflows/named', `${kNamed}\n# ${kInjections.join(' ')}\n`, { 'content-type': 'application/yaml' })
}

/** Calls the API in the namespace `outside`. */
const outside = (method, path, body, headers) => server.call(method, `/v1/ns/outside${path}`, body, headers)
const start = async (workflow, input, headers) => (await outside('POST', `/workflows/${workflow}/start`, input, headers)).id
const kEvent = { 'content-type': 'application/cloudevents+json' }

test('20 CSP: keys, correlations, progress, answers of services, names and settings are text', async () => {
  const callbacks = []
  await fillOutside(callbacks)
  // Instances with the texts as keys of the start, of their queue, as what they wait for, and as errors of their calls.
  for (const one of kInjections) for (let index = 0; index < 2; index += 1) await start('turns', { key: one })
  const waits = await start('turns', { key: kInjections[0] })
  const listens = []
  for (const [index, one] of kInjections.entries()) listens.push(await start('listens', { note: one }, index < kHeaders.length ? { 'idempotency-key': kHeaders[index] } : {}))
  const calls = await start('calls', { items: [0, 1, 2] })
  await until(() => callbacks.length === 3, 'the service has accepted three tasks')
  for (const [index, url] of callbacks.entries()) {
    const body = JSON.stringify({ progress: { texts: kInjections.slice(index * 10, index * 10 + 10) } })
    await until(async () => (await fetch(`${url}/heartbeat`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).ok, 'the heartbeat is taken')
  }
  const refused = []
  for (let index = 0; index < kHeaders.length; index += 1) refused.push(await start('refused', {}))
  for (const id of refused) await until(async () => (await outside('GET', `/instances/${id}`)).status === 'failed', `${id} is failed`)
  // Events with the texts as correlation, and one that nearly wakes each of those that wait.
  for (const [index, one] of kInjections.entries()) await outside('POST', '/events', { specversion: '1.0', id: `pair-${index}`, source: 'outside', type: 'pair.one', note: one }, kEvent)
  await outside('POST', '/events', { specversion: '1.0', id: 'near', source: 'outside', type: 'listens.go', note: kInjections[1] + kInjections[2] }, kEvent)
  const near = await until(async () => (await outside('GET', '/events?id=near')).items.find((item) => item.applied), 'the event is applied')
  // Messages of another stream, a source that maps them, and a request of an inbound webhook.
  await server.makeStream('OUTSIDE', ['outside.*'])
  for (const one of kInjections) await server.publish('outside.a', JSON.stringify({ texts: [one] }))
  await outside('PUT', '/sources/texts', { stream: 'OUTSIDE', begin: 'all', mapping: { type: 'made', subject: 'jq(.data.texts[0])', attributes: { note: `jq(${JSON.stringify(kPlain)})` } } })
  await until(async () => (await outside('GET', '/sources/texts')).position === kInjections.length, 'the source has read all')
  const request = JSON.stringify({ texts: kInjections })
  await outside('POST', '/hooks/git', request, { 'x-hub-signature-256': `sha256=${createHmac('sha256', 'key').update(request).digest('hex')}` })
  for (const [index, one] of kInjections.entries()) await outside('PUT', `/variables/text-${index}`, one, { 'content-type': typeWith(one) })
  const first = kInjections.slice(0, 1)
  await assertAreText('outside', [
    ['queues', kInjections], [`instances/${waits}`, first], ['groups', kInjections], ['waiting', kInjections],
    ['calls', kInjections], [`instances/${calls}/calls`, kInjections], [`instances/${calls}`, []],
    ['instances?workflow=listens', kInjections], [`instances/${listens[0]}`, [kHeaders[0]]], [`instances/${listens[3]}/why`, [kInjections[3]]], [`events/${near.sequence}`, [kInjections[1] + kInjections[2]]],
    ['instances?workflow=refused', kHeaders], ['functions', kHeaders.slice(-1)], [`instances/${refused[4]}`, [kHeaders[4]]], [`instances/${refused[5]}/why`, [kHeaders[5]]], ['', []],
    ['workflows', first], ['workflows/named/graph', kInjections], ['workflows/named/text', []], ['workflows/named/revisions', kInjections],
    ['sources/texts', [kPlain]], ['sources/texts/try', kInjections.slice(-1)], ['events?type=made', [kPlain]], ['webhooks/git', [kPlain]], ['sources', []], ['values', kInjections.map(typeWith)], ['next', []],
  ])
})

/** The schema of an input whose titles, descriptions, choices and names of members are the texts. */
const kAsks = JSON.stringify({
  id: 'asks',
  states: [{
    id: 'check',
    type: 'validate',
    schema: {
      type: 'object',
      title: kInjections[0],
      description: kInjections.join(' '),
      required: [kInjections[1]],
      properties: {
        ...Object.fromEntries(kInjections.map((one, index) => [one, { type: 'string', title: one, description: kInjections[(index + 7) % kInjections.length] }])),
        choice: { type: 'string', enum: kInjections },
      },
    },
  }],
})

test('20 CSP: sources of events, and the schema of an input in the form that is made of it, are text', async () => {
  await server.call('PUT', '/v1/ns/shaped')
  await server.call('PUT', '/v1/ns/shaped/workflows/asks', kAsks, { 'content-type': 'application/yaml' })
  await server.call('PUT', '/v1/ns/shaped/workflows/hears', `id: hears\nstates:\n- {id: hold, type: consumeEvent, event: {type: shaped, context: {source: never}}}\n`, { 'content-type': 'application/yaml' })
  await server.call('POST', '/v1/ns/shaped/workflows/hears/start', {})
  // A source is a URI reference, so most of the texts are escaped in it.
  const sources = ['javascript:hit=1', '__proto__', '//elsewhere.example/a.js', ...kInjections.map(encodeURIComponent)]
  for (const [index, source] of sources.entries()) await server.call('POST', '/v1/ns/shaped/events', { specversion: '1.0', id: `shaped-${index}`, source, type: 'shaped' }, kEvent)
  const events = await until(async () => { const { items } = await server.call('GET', '/v1/ns/shaped/events?limit=100'); return items.length === sources.length && items.every((item) => item.applied) && items })
  const sent = (source) => events.find((item) => item.source === source).sequence
  await assertAreText('shaped', [
    ['events', sources], [`events/${sent(sources[0])}`, [sources[0]]], [`events/${sent(sources[3])}`, [sources[3]]], [`events/try?from=${sent(sources[0])}`, [sources[0]]],
    ['workflows/asks/run', kInjections], ['workflows/asks/text', []], ['workflows/asks/graph', []],
  ])
  // What the server says of an input that does not fit names members, too.
  const page = await console_.open('#/shaped/workflows/asks/run')
  await settled(page)
  await page.getByLabel('As JSON').check()
  await page.getByLabel('Input (JSON)').fill(JSON.stringify(Object.fromEntries(kInjections.map((one) => [one, 1]))))
  await page.getByRole('alert').first().waitFor()
  await assertIsText(page, 'the mistakes of an input')
  await page.context().close()
})

test('20 CSP: texts in an address are text', async () => {
  const page = await console_.open('#/default')
  const shown = async (place) => { await settled(page); await assertIsText(page, place) }
  for (const one of kInjections.filter((_, index) => index % 3 === 0)) {
    const text = encodeURIComponent(one)
    for (const place of [`${text}/instances`, `default/${text}`, `default/instances/${text}`, `default/instances/${text}/${text}`, `default/workflows/${text}`, `default/events/${text}`, `default/dead/${text}`, `default/sources/${text}`, `default/webhooks/${text}`]) {
      await console_.show(page, place)
      await shown(place)
    }
    for (const place of ['instances?state=', 'instances?error=', 'instances?workflow=', 'waiting?type=', 'events?type=', 'groups?workflow=', 'queues?workflow=', 'calls?instance=', 'values?workflow=', 'next?until=', 'dead?reason=', 'events/try?type=', 'events/replays?type=']) {
      await console_.show(page, `default/${place}${text}`)
      await shown(place + text)
    }
    await console_.show(page, `server?namespace=${text}`)
    await shown(`server?namespace=${text}`)
  }
  await page.context().close()
})

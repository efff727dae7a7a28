// Acceptance check 20: content from outside is text in every field that is shown. Thirty texts that would
// act if they were put into the document as markup, a style, an address or a template.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, until } from './harness.mjs'

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
    await server.publish('millrace.events.default.echo', JSON.stringify({ specversion: '1.0', id: one, type: 'echo', note: one, data: one }))
    await server.call('PUT', `/v1/ns/default/variables/text-${index}`, { text: one })
  }
  await server.publish('millrace.events.default.echo', kInjections.join('\n'))
  await server.reaches(id, 'failed')
  const letters = await until(async () => { const { items } = await server.get('/dlq?limit=100'); return items.length === 31 && items })
  const places = [
    [`instances/${id}/story`, kInjections], [`instances/${id}/data`, kInjections], ['instances?status=failed', []], [`instances/${id}/why`, []], [`events/${all.sequence}`, kInjections],
    ['events', []], ['events?limit=100&type=echo.go', []], ['dead', []], [`dead/${letters.find((letter) => letter.id)?.id}`, []], ['values', []], ['workflows', []], ['workflows/echo/graph', []], ['workflows/echo/text', []], ['waiting', []], ['', []],
    ...letters.slice(0, 8).map((letter) => [`dead/${letter.id}`, []]),
  ]
  for (const [place, injections] of places) {
    const page = await console_.open(`#/default/${place}`)
    await page.locator('h1').waitFor()
    await page.locator('.skeleton').first().waitFor({ state: 'detached' })
    if (injections.length > 0) await until(async () => (await missing(page, injections)).length === 0, `the texts in ${place}: ${await missing(page, injections)}`)
    await assertIsText(page, place)
    await page.close()
  }
})

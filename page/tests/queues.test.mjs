// Queues: the starts and calls that wait for a limit, what holds the slots, and how the instances that wait say so.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, sees, settled, until } from './harness.mjs'
import { fillQueues, setLimits, start } from './limits.mjs'

const console_ = new Console()
const { server } = console_
/** The instances of the namespace `limits`, by their workflow, in the order of their starts. */
let known
before(async () => {
  await console_.start()
  await setLimits(server, 'limits')
  known = await fillQueues(server, 'limits')
})
after(() => console_.stop())

const queueOf = (page, name) => page.getByRole('region', { name: 'Queues' }).locator('tbody tr', { hasText: name })
const cancel = (ns, id) => server.call('POST', `/v1/ns/${ns}/instances/${id}/cancel`)
/** The id of the instance to which the link in a column of a row leads; the first column is 0. */
const linkedIn = (row, column) => row.locator('th, td').nth(column).getByRole('link').first().getAttribute('title')

test('queues: each key for which starts or calls wait is listed, with its limit, the next one and the holder', async () => {
  const page = await console_.open('#/limits/queues')
  await settled(page)
  assert.equal(await page.locator('tbody tr').count(), 3)
  assert.equal(await page.getByRole('navigation', { name: 'Pages' }).locator('[aria-current="page"]').textContent(), 'Queues')
  const ship = queueOf(page, 'ship')
  assert.match(await ship.textContent(), /^starts of ship"Ada"a slot21 of 1 held.*priority 7.*when a slot is free/)
  // The one with the higher priority is next, although it came last.
  assert.equal(await linkedIn(ship, 5), known.ship[2])
  assert.equal(await linkedIn(ship, 7), known.ship[0])
  const notify = queueOf(page, 'notify')
  assert.match(await notify.textContent(), /^starts of notifynonethe throttle11 in PT1H/)
  assert.equal(await linkedIn(notify, 5), known.notify[1])
  const at = Date.parse(await notify.locator('td').nth(5).locator('time').first().getAttribute('datetime'))
  const { startedAt } = await server.call('GET', `/v1/ns/limits/instances/${known.notify[0]}`)
  assert.ok(Math.abs(at - Date.parse(startedAt) - 3_600_000) < 60_000, new Date(at).toISOString())
  const settle = queueOf(page, 'approvals')
  assert.match(await settle.textContent(), /^calls of approvals"Ada"a slot11 of 1 held.*priority 2/)
  assert.equal(await linkedIn(settle, 5), known.settle[1])
  assert.equal(await linkedIn(settle, 7), known.settle[0])
  await page.getByText('Copy as command').click()
  await sees(page, 'millrace -n limits queue list')
  await sees(page, '/v1/ns/limits/queues')
})

test('queues: the filter is in the address, and selects the starts of one workflow', async () => {
  const page = await console_.open('#/limits/queues')
  await settled(page)
  await page.getByRole('textbox', { name: 'Workflow' }).fill('notify')
  await page.getByRole('textbox', { name: 'Workflow' }).press('Tab')
  await page.waitForURL(/queues\?workflow=notify$/)
  await until(async () => (await page.locator('tbody tr').count()) === 1, 'one key')
  await queueOf(page, 'notify').waitFor()
  await page.goto(`${console_.base}#/limits/queues?workflow=settle`)
  await sees(page, 'No start of settle waits for a slot or a throttle')
  await page.getByRole('button', { name: 'Clear' }).click()
  await queueOf(page, 'approvals').waitFor()
})

test('queues: without any the page says what would be here; a key comes and goes as starts wait and end', async () => {
  await setLimits(server, 'changing')
  const page = await console_.open('#/changing/queues')
  await sees(page, 'Nothing waits for a limit')
  await sees(page, 'docs/language.md')
  const first = await start(server, 'changing', 'ship', { customer: 'Bo' })
  const second = await start(server, 'changing', 'ship', { customer: 'Bo' })
  await until(async () => (await queueOf(page, 'ship').count()) === 1 && (await linkedIn(queueOf(page, 'ship'), 5)) === second, 'the start that waits')
  await cancel('changing', first)
  await sees(page, 'Nothing waits for a limit')
  assert.notEqual((await server.call('GET', `/v1/ns/changing/instances/${second}`)).status, 'pending')
})

test('queues: a start that was put off is listed, fires next, and can be cancelled', async () => {
  await setLimits(server, 'later')
  const id = await start(server, 'later', 'gather', { n: 1 })
  await start(server, 'later', 'gather', { n: 2 })
  const next = await console_.open('#/later/next')
  const firing = next.getByRole('region', { name: 'What will fire' }).locator('tbody tr', { hasText: 'start put off by debounce or batch' })
  assert.match(await firing.textContent(), /gather.*an instance starts/)
  await firing.getByRole('link', { name: id }).click()
  await next.waitForURL(/queues\?workflow=gather$/)
  const row = queueOf(next, 'gather')
  assert.match(await row.textContent(), /the end of the batch.*2 of 9 inputs so far/)
  await row.getByRole('button', { name: 'Cancel' }).click()
  const dialog = next.getByRole('dialog')
  await sees(dialog, 'The instance has not started: the start is dropped with 2 inputs')
  await dialog.getByText('Copy as command').click()
  await sees(dialog, `millrace -n later instance cancel ${id}`)
  await dialog.getByRole('button', { name: 'Cancel', exact: true }).last().click()
  await sees(next, 'No start of gather waits')
  assert.deepEqual((await server.call('GET', '/v1/ns/later/queues')).items, [])
})

test('queues: all holders of a key are listed, with what else is on the page', async () => {
  await server.call('PUT', '/v1/ns/held', {})
  await server.call('PUT', '/v1/ns/held/workflows/pack', `id: pack
concurrency: {limit: 2, key: jq(.customer), timeout: PT9H}
states:
  - {id: wait, type: consumeEvent, event: {type: packed}}
`, { 'content-type': 'application/yaml' })
  const ids = []
  for (let index = 0; index < 3; index += 1) ids.push(await start(server, 'held', 'pack', { customer: 'Ada' }))
  await start(server, 'held', 'pack', { customer: 'Bo' })
  const page = await console_.open('#/held/queues')
  await queueOf(page, 'pack').getByRole('link', { name: '1 more' }).click()
  const held = page.getByRole('region', { name: 'What holds the slots of pack with the key "Ada"' })
  const rows = held.locator('tbody tr')
  await until(async () => (await rows.count()) === 2, 'the holders of the key')
  assert.deepEqual(await rows.getByRole('link').evaluateAll((links) => links.map((link) => link.title)), ids.slice(0, 2))
  assert.match(await rows.first().textContent(), /"Ada"/)
  await held.getByText('Copy as command').click()
  await sees(page, `millrace -n held queue holders --workflow pack --key '"Ada"'`)
  await cancel('held', ids[0])
  await until(async () => (await rows.getByRole('link').last().getAttribute('title')) === ids[2], 'the next holder')
  await held.getByRole('button', { name: 'Close' }).click()
  await held.waitFor({ state: 'detached' })
})

test('queues: the turn of a throttle is among what comes next', async () => {
  const page = await console_.open('#/limits/next?kind=throttle')
  const row = page.getByRole('region', { name: 'What will fire' }).locator('tbody tr')
  await until(async () => (await row.count()) === 1, 'one turn')
  assert.match(await row.textContent(), /turn of a throttle, 1 waits.*notify.*an instance starts/)
  assert.equal(await row.getByRole('link').first().getAttribute('title'), known.notify[1])
})

test('queues: the list of instances says for which limit a start waits', async () => {
  const page = await console_.open('#/limits/instances?status=pending')
  await sees(page, 'slot "Ada"')
  await sees(page, 'throttle')
})

test('queues: a start that was put off is found by the id of its instance', async () => {
  await setLimits(server, 'found')
  const id = await start(server, 'found', 'gather', { n: 1 })
  const page = await console_.open('#/found')
  await settled(page)
  await page.keyboard.press('/')
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox').fill(id)
  await sees(dialog, 'gather, put off by batch')
  await dialog.getByRole('link', { name: `pending start ${id}` }).click()
  await page.waitForURL(/queues\?workflow=gather$/)
})

test('queues: what is typed into the filter stays when the list is read again', async () => {
  const page = await console_.open('#/limits/queues')
  await settled(page)
  const field = page.getByRole('textbox', { name: 'Workflow' })
  const read = () => page.waitForResponse((response) => response.url().endsWith('/queues?limit=100'))
  const first = read()
  await field.fill('noti')
  await (await first).finished()
  const second = read()
  await field.pressSequentially('fy')
  await (await second).finished()
  assert.equal(await field.inputValue(), 'notify')
  await field.press('Enter')
  await page.waitForURL(/queues\?workflow=notify$/)
})

test('queues: the key g q opens the page', async () => {
  const page = await console_.open('#/limits')
  await settled(page)
  await page.keyboard.press('g')
  await page.keyboard.press('q')
  await page.waitForURL(/#\/limits\/queues$/)
  await queueOf(page, 'ship').waitFor()
})

const nowOf = (page) => page.getByRole('region', { name: 'Now' })
const waitsOf = (page) => page.getByRole('region', { name: 'What it waits for' })

test('queues: an instance that waits for a slot says so, names who holds it, and links to the queue', async () => {
  const page = await console_.open(`#/limits/instances/${known.ship[1]}/story`)
  const text = 'waits for a slot of its workflow (concurrency) with the key "Ada", with the priority 0: 1 of 1 held, 2 starts wait'
  await sees(nowOf(page), text)
  assert.equal(await nowOf(page).locator('li', { hasText: 'held by' }).getByRole('link').getAttribute('title'), known.ship[0])
  await sees(nowOf(page), 'gives up the wait for a slot')
  await page.getByRole('group', { name: 'Show' }).getByRole('button', { name: 'waits' }).click()
  await sees(page.locator('.story'), 'waits for a slot')
  await page.getByRole('link', { name: 'Why' }).click()
  await sees(waitsOf(page), text)
  await sees(waitsOf(page), /If it still waits at .*, it fails with millrace.concurrency.timeout/)
  await sees(waitsOf(page), 'It does not listen yet; when it has entered its state, it will listen for packed')
  await nowOf(page).getByRole('link', { name: '2 starts wait' }).click()
  await page.waitForURL(/queues\?workflow=ship$/)
  await queueOf(page, 'ship').waitFor()
  const holder = await console_.open(`#/limits/instances/${known.ship[0]}/story`)
  await sees(nowOf(holder), 'holds a slot of its workflow with the key "Ada": 1 held, 2 starts wait')
})

test('queues: an instance that waits for the throttle says so, and when the next one may begin', async () => {
  const page = await console_.open(`#/limits/instances/${known.notify[1]}/why`)
  for (const part of [nowOf(page), waitsOf(page)]) await sees(part, /waits for the throttle of its workflow \(1 in PT1H\), with the priority 0: 1 start waits; the next of them may begin at .*, in (\d+ m|1 h)/)
})

test('queues: a call that waits for a slot of its service says so, on each part of the page of its instance', async () => {
  const page = await console_.open(`#/limits/instances/${known.settle[1]}/calls`)
  const text = 'waits for a slot of approvals with the key "Ada", with the priority 2: 1 of 1 held, 1 call waits'
  await sees(nowOf(page), `call 0 ${text}`)
  await sees(page.getByRole('region', { name: 'Calls of the state' }), text)
  await page.getByRole('link', { name: 'Why' }).click()
  await sees(waitsOf(page), `call 0 ${text}`)
})

/** One call in an hour; the service accepts it. */
const kSlowly = `id: slowly
functions:
  - {id: transfer, type: service, service: approvals, throttle: {limit: 1, period: PT1H, timeout: PT9H}}
states:
  - {id: pay, type: action, action: {function: transfer, input: {}}}
`

test('queues: a call that waits for the throttle of its service is listed, and its instance says so', async () => {
  await setLimits(server, 'slow')
  await server.call('PUT', '/v1/ns/slow/workflows/slowly', kSlowly, { 'content-type': 'application/yaml' })
  await start(server, 'slow', 'slowly', {})
  await until(async () => (await server.call('GET', '/v1/ns/slow/calls')).items.length === 1, 'the service has accepted the first call')
  const second = await start(server, 'slow', 'slowly', {})
  const page = await console_.open('#/slow/queues')
  const row = queueOf(page, 'approvals')
  assert.match(await row.textContent(), /^calls of approvalsnonethe throttle11 in PT1H/)
  assert.equal(await linkedIn(row, 5), second)
  await page.goto(`${console_.base}#/slow/instances/${second}/calls`)
  const text = /waits for the throttle of approvals \(1 in PT1H\), with the priority 0: 1 call waits; the next of them may be made at .*, in (59 m|1 h).*; it gives up at/
  await sees(nowOf(page), text)
  await sees(page.getByRole('region', { name: 'Calls of the state' }), text)
  await page.getByRole('link', { name: 'Why' }).click()
  await sees(waitsOf(page), text)
})

test('queues: what an instance waits for changes on its page when others give back their slots', async () => {
  await setLimits(server, 'moving')
  const ids = []
  for (let index = 0; index < 3; index += 1) ids.push(await start(server, 'moving', 'ship', { customer: 'Cy' }))
  const page = await console_.open(`#/moving/instances/${ids[2]}/story`)
  await sees(nowOf(page), /1 held, 2 starts wait/)
  await cancel('moving', ids[0])
  await sees(nowOf(page), /1 held, 1 start waits/)
  await cancel('moving', ids[1])
  await sees(nowOf(page), /holds a slot of its workflow with the key "Cy": 1 held, 0 starts wait/)
})

test('queues: the page of a workflow has its limits in short, and leads to what waits for them', async () => {
  const page = await console_.open('#/limits/workflows/ship/graph')
  const part = page.getByRole('region', { name: 'Limits' })
  await part.waitFor()
  assert.equal(await part.locator('dl').textContent(), 'startsconcurrency limit 1, key jq(.customer), timeout PT9H line 2startspriority jq(.rank // 0) line 3')
  await part.getByRole('link', { name: 'The starts that wait for them' }).click()
  await page.waitForURL(/queues\?workflow=ship$/)
  await queueOf(page, 'ship').waitFor()
  const other = await console_.open('#/limits/workflows/settle/graph')
  await sees(other.getByRole('region', { name: 'Limits' }), 'calls of transfer')
  await sees(other.getByRole('region', { name: 'Limits' }), 'concurrency limit 1, key jq(.customer) line 3')
})

test('queues: starts that debounce or batch has put off are listed one by one, with when they begin', async () => {
  const states = 'states:\n- {id: done, type: noop}\n'
  await server.call('PUT', '/v1/ns/put-off', {})
  await server.call('PUT', '/v1/ns/put-off/workflows/calm', `id: calm\ndebounce: {period: PT1H, key: jq(.customer)}\n${states}`, { 'content-type': 'application/yaml' })
  await server.call('PUT', '/v1/ns/put-off/workflows/parcel', `id: parcel\nbatch: {maxSize: 9, timeout: PT1H}\n${states}`, { 'content-type': 'application/yaml' })
  const id = await start(server, 'put-off', 'calm', { customer: 'Ada' })
  for (const order of [1, 2]) await start(server, 'put-off', 'parcel', { order })
  const page = await console_.open('#/put-off/queues')
  await settled(page)
  const calm = queueOf(page, 'calm')
  assert.match(await calm.textContent(), new RegExp(`^starts of calm"Ada"the end of the debounce1–${id} waits since .*, in (1 h|59 m)`))
  assert.match(await queueOf(page, 'parcel').textContent(), /^starts of parcelnonethe end of the batch12 of 9 inputs so far/)
  await page.context().close()
})

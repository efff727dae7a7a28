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

test('queues: the key g q opens the page', async () => {
  const page = await console_.open('#/limits')
  await settled(page)
  await page.keyboard.press('g')
  await page.keyboard.press('q')
  await page.waitForURL(/#\/limits\/queues$/)
  await queueOf(page, 'ship').waitFor()
})

// Acceptance checks 8, 9 and 22: rows change in place, a restart is seen, and hidden tabs close their streams.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, printTime, sees, until } from './harness.mjs'

const console_ = new Console()
const { server } = console_
before(() => console_.start())
after(() => console_.stop())

test('8 live: an event from NATS changes the row in place, and new instances wait behind a button', async () => {
  const id = await server.run('booking', { customerId: 'c-80' })
  const other = await server.run('booking', { customerId: 'other' })
  const page = await console_.open('#/default/instances')
  const row = page.locator(`tr[data-row="${id}"]`)
  await sees(row, 'waiting')
  await page.getByRole('button', { name: 'live', exact: true }).waitFor()
  const places = () => page.locator('tbody tr').evaluateAll((rows) => rows.map((one) => [one.dataset.row, one.getBoundingClientRect().top + scrollY]))
  const before = await places()
  await server.publish('millrace.events.default.guestbooking', JSON.stringify({ specversion: '1.0', id: 'live-1', source: 'bookings.nats', type: 'guestbooking', customerid: 'c-80' }))
  const published = performance.now()
  await sees(row, 'complete')
  printTime('live_row_ms', performance.now() - published)
  assert.deepEqual(await places(), before)
  for (let index = 0; index < 20; index += 1) await server.run('booking', { customerId: `n-${index}` })
  await sees(page, '20 newer: show them')
  assert.deepEqual(await places(), before)
  await page.getByRole('button', { name: '20 newer' }).click()
  await until(async () => (await page.locator('tbody tr').count()) === before.length + 20)
  await sees(page.locator(`tr[data-row="${other}"]`), 'waiting')
})

test('an instance that begins to fit a filter is announced, also if others that are shown are newer', async () => {
  const early = []
  for (const name of ['c-82', 'c-83']) early.push(await server.run('booking', { customerId: name }))
  const late = await server.run('fails')
  await server.reaches(late, 'failed')
  for (const [index, filter] of ['status=failed,cancelled', 'endedSince=1h'].entries()) {
    const page = await console_.open(`#/default/instances?workflow=&${filter}`)
    await page.locator(`tr[data-row="${late}"]`).waitFor()
    await page.getByRole('button', { name: 'live', exact: true }).waitFor()
    await server.call('POST', `/v1/ns/default/instances/${early[index]}/cancel`)
    await page.getByRole('button', { name: '1 more: show them' }).click()
    await page.locator(`tr[data-row="${early[index]}"]`).waitFor()
    await page.getByRole('button', { name: ': show them' }).waitFor({ state: 'detached' })
    await page.context().close()
  }
})

test('an instance that is deleted is marked in the list, and cannot be selected', async () => {
  const id = await server.run('fails')
  await server.reaches(id, 'failed')
  const page = await console_.open('#/default/instances')
  const row = page.locator(`tr[data-row="${id}"]`)
  await row.getByRole('checkbox').check()
  await page.getByRole('button', { name: 'live', exact: true }).waitFor()
  await server.call('DELETE', `/v1/ns/default/instances/${id}`)
  await sees(row, 'no longer in this list')
  assert.ok(await row.getByRole('checkbox').isDisabled())
  await sees(page, '0 selected')
  await page.context().close()
})

test('the overview shows what the server does in a second', async () => {
  const page = await console_.open('#/default')
  await sees(page.locator('section[aria-labelledby="state"]'), 'In a second')
  await sees(page.locator('section[aria-labelledby="state"]'), ' failures')
})

test('the story of an open instance grows without a reload', async () => {
  const id = await server.run('booking', { customerId: 'c-81' })
  const page = await console_.open(`#/default/instances/${id}/story`)
  await page.locator('[data-record="2"]').waitFor()
  await page.getByRole('button', { name: 'live', exact: true }).waitFor()
  await server.send({ type: 'guestbooking', customerid: 'c-81', data: { room: '204' } })
  await sees(page.locator('.story'), 'woken by an event')
  await sees(page.getByLabel('Output'), '204')
})

test('9 restart: the bar comes and goes, and the numbers are those of the API', async () => {
  await server.reaches(await server.run('fails'), 'failed')
  const page = await console_.open('#/default')
  await page.getByRole('button', { name: 'live', exact: true }).waitFor()
  await server.end('SIGKILL')
  await sees(page, 'Not connected since')
  await server.start()
  await page.getByText('Not connected since').waitFor({ state: 'detached' })
  // An instance that is started now shows that the numbers are those after the restart.
  await server.reaches(await server.run('booking', { customerId: 'c-90' }), 'waiting')
  const { items } = await server.get('/instances/count?by=workflow,status')
  assert.ok(items.length >= 2, JSON.stringify(items))
  const expected = items.map((item) => `${item.count} ${item.status} of ${item.workflow}`).sort()
  const shown = () => page.locator('section[aria-labelledby="counts"]').getByRole('link', { name: /^\d+ \w+ of \S+$/ }).evaluateAll((links) => links.map((one) => one.getAttribute('aria-label')).sort())
  let seen = []
  await until(async () => { seen = await shown(); return JSON.stringify(seen) === JSON.stringify(expected) }, 'the numbers of the API').catch(() => assert.deepEqual(seen, expected))
  assert.equal(await page.getByLabel('Token').count(), 0)
})

test('9 restart: a page that was not loaded before says that the server does not answer, and comes with the connection', async () => {
  const page = await console_.open('#/default')
  await page.getByRole('button', { name: 'live', exact: true }).waitFor()
  await server.end('SIGKILL')
  await sees(page, 'Not connected since')
  await page.getByRole('link', { name: 'Next', exact: true }).click()
  await sees(page.getByRole('alert'), 'The server does not answer')
  assert.equal(await page.getByText('may have been updated').count(), 0)
  await server.start()
  await page.getByRole('heading', { level: 1, name: 'Next' }).waitFor()
  await sees(page, 'Everything that will fire')
  await page.context().close()
})

test('a part of the page that the server does not have is called missing', async () => {
  const page = await console_.open('#/default')
  await page.getByRole('heading', { level: 1, name: 'default' }).waitFor()
  await page.route(/\/assets\/lists-/, (route) => route.fulfill({ status: 404, body: '' }))
  await page.getByRole('link', { name: 'Next', exact: true }).click()
  await sees(page.getByRole('alert'), 'may have been updated')
  await page.context().close()
})

test('22 ten tabs: nine that are hidden close their streams, and all stay answered', async () => {
  const context = await console_.newContext()
  const pages = []
  for (const half of ['instances', 'workflows']) {
    const opened = []
    for (let index = 0; index < 5; index += 1) opened.push(await console_.open(`#/default/${half}`, { context }))
    await Promise.all(opened.map((page) => page.locator('tbody tr').first().waitFor()))
    await Promise.all(opened.map((page) => page.getByRole('button', { name: 'live', exact: true }).waitFor()))
    pages.push(...opened)
    const hidden = half === 'instances' ? opened : opened.slice(0, 4)
    await Promise.all(hidden.map(hide))
    // A hidden page closes its stream after 10 s.
    await Promise.all(hidden.map((page) => page.getByRole('button', { name: 'not live' }).waitFor()))
  }
  await Promise.all(pages.map((page) => page.evaluate(() => { location.hash = '#/default/events' })))
  await Promise.all(pages.map((page) => page.getByRole('heading', { name: 'Events', exact: true }).waitFor()))
  await pages.at(-1).getByRole('button', { name: 'live', exact: true }).waitFor()
  await context.close()
})

/** Headless pages all count as seen: the page is set hidden. */
async function hide(page) {
  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', { value: true, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  })
}

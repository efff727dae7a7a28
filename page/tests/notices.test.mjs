// Notices: what an action did, and what is said beside it, ends with the next action or with a button.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, sees, settled } from './harness.mjs'

const console_ = new Console()
const { server } = console_
before(() => console_.start())
after(() => console_.stop())

test('notices: what an action did is not said any more while the next one fails', async () => {
  const id = await server.run('booking', { customerId: 'n-1' })
  const page = await console_.open(`#/default/instances/${id}/story`)
  const act = async (name) => {
    await page.locator('.heading').getByRole('button', { name: `${name}…` }).click()
    await page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
  }
  await act('Pause')
  await sees(page.locator('.toast'), 'paused')
  await page.route('**/resume*', (route) => route.fulfill({ status: 409, contentType: 'application/problem+json', json: { type: 'about:blank', title: 'Conflict', status: 409, code: 'instance.ended', detail: 'it has ended' } }))
  await act('Resume')
  await sees(page.getByRole('dialog').getByRole('alert'), 'it has ended')
  assert.equal(await page.locator('.toast').count(), 0)
  await page.context().close()
})

/** The controls of a page that what an action did covers, in a window that is scrolled as it is. */
const covered = (page) => page.evaluate(() => {
  const toast = document.querySelector('.toast').getBoundingClientRect()
  const isOver = ({ left, right, top, bottom, width }) => width > 0 && left < toast.right && right > toast.left && top < toast.bottom && bottom > toast.top
  return [...document.querySelectorAll(':is(header, main) :is(a, button, input, select, summary)')].filter((one) => isOver(one.getBoundingClientRect())).map((one) => one.outerHTML.slice(0, 200))
})

/** Moves the focus through the controls of the main region, from the last one to the first, and names those that are covered while they have it. */
const coveredWithFocus = (page) => page.evaluate(() => {
  const found = []
  for (const one of [...document.querySelectorAll('main :is(a, button, input, select, summary)')].reverse()) {
    one.focus()
    const [box, toast] = [one, document.querySelector('.toast')].map((element) => element.getBoundingClientRect())
    if (document.activeElement === one && box.width > 0 && box.left < toast.right && box.right > toast.left && box.top < toast.bottom && box.bottom > toast.top) found.push(one.outerHTML.slice(0, 200))
  }
  return found
})

test('notices: what an action did covers no action, at two widths', async () => {
  const ids = []
  for (let index = 0; index < 20; index += 1) ids.push(await server.run('booking', { customerId: `n-${index}` }))
  for (const [width, verb] of [[1280, 'Pause'], [320, 'Resume']]) {
    const page = await console_.open(`#/default/instances/${ids[0]}/story`, { width })
    await page.locator('.heading').getByRole('button', { name: `${verb}…` }).click()
    await page.getByRole('dialog').getByRole('button', { name: verb, exact: true }).click()
    await page.locator('.toast').waitFor()
    assert.deepEqual(await coveredWithFocus(page), [])
    await page.evaluate(() => scrollTo(0, 0))
    assert.deepEqual(await covered(page), [])
    // On the list, the bar of actions stays free, wherever the page is scrolled to.
    await console_.show(page, 'default/instances')
    for (const id of ids.slice(-2)) await page.getByLabel(`Select ${id}`).check()
    assert.deepEqual(await coveredWithFocus(page), [])
    const [bar, toast] = await Promise.all([page.getByRole('group', { name: 'Actions on several instances' }).boundingBox(), page.locator('.toast').boundingBox()])
    assert.ok(toast.y >= 0 && toast.y + toast.height < bar.y, JSON.stringify({ bar, toast }))
    assert.ok(toast.x >= 0 && toast.x + toast.width <= width, JSON.stringify(toast))
    await page.context().close()
  }
})

test('notices: that the clocks differ can be closed', async () => {
  const page = await console_.open('#/default')
  await settled(page)
  const notice = page.getByRole('region', { name: 'Clock' })
  assert.equal(await notice.count(), 0)
  const context = await console_.newContext()
  await context.addInitScript(() => {
    const clock = Date.now
    Date.now = () => clock() - 60_000
  })
  const other = await console_.open('#/default', { context })
  const late = other.getByRole('region', { name: 'Clock' })
  await sees(late, /The clock of this browser is .* behind the server's/)
  await late.getByRole('button', { name: 'Close' }).click()
  await late.waitFor({ state: 'detached' })
  await console_.show(other, 'default/events')
  assert.equal(await late.count(), 0)
  await context.close()
  await page.context().close()
})

test('notices: that an event was sent ends when its text is changed, and the link names the event that was sent', async () => {
  const page = await console_.open('#/default/events/try?type=order.placed')
  const field = page.getByLabel(/A CloudEvent in JSON/)
  const { id } = JSON.parse(await field.inputValue())
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  const sent = page.getByRole('link', { name: id })
  assert.equal(new URLSearchParams((await sent.getAttribute('href')).split('?')[1]).get('id'), id)
  await field.fill((await field.inputValue()).replace(id, 'another'))
  await sent.waitFor({ state: 'detached' })
  await page.context().close()
})

test('notices: what Try said of a dead letter ends when a correction changes the event', async () => {
  await server.run('booking', { customerId: 'n-2' })
  await server.publish('millrace.events.default.guestbooking', JSON.stringify({ specversion: '1.0', id: 'n-2', type: 'guestbooking', customerid: 'N-2' }))
  const page = await console_.open('#/default/dead')
  await page.locator('tbody tr').first().getByRole('link').first().click()
  const field = page.getByLabel('The event')
  await field.fill(JSON.stringify({ ...JSON.parse(await field.inputValue()), source: 'bookings.web' }))
  await page.getByRole('button', { name: 'Try: nothing is sent' }).click()
  await page.getByRole('button', { name: /^Fix with customerid=n-2/ }).click()
  await page.locator('.judged').first().waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Try: nothing is sent' }).click()
  await sees(page.locator('.judged[data-verdict="woke"]'), 'would wake')
  await page.context().close()
})

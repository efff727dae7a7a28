// Addresses: those that name no page say so and lead on; those of namespaces that are named like a page.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, sees, settled } from './harness.mjs'

const console_ = new Console()
const { server } = console_
before(() => console_.start())
after(() => console_.stop())

test('an address that names no page says so, in each place, and shows no other page', async () => {
  const id = await server.run('booking', { customerId: 'c-90' })
  const { sequence } = await server.send({ type: 'guestbooking', customerid: 'other' })
  await server.makeStream('ORDERS', ['shop.orders.*'])
  await server.applySource('orders', { stream: 'ORDERS', mapping: { type: 'order.seen' } })
  const page = await console_.open('#/default')
  for (const address of [
    `instances/${id}/nonsense`, `instances/${id}/story/nonsense`, 'workflows/booking/nonsense', 'workflows/booking/graph/nonsense', 'sources/orders/nonsense', 'sources/orders/try/nonsense',
    `events/${sequence}/nonsense`, 'events/try/nonsense', 'events/replays/nonsense', 'waiting/nonsense', 'values/nonsense', 'nonsense', 'constructor', '__proto__', 'server', 'server/nonsense', 'events%2Ftry',
  ]) {
    await console_.show(page, `default/${address}`)
    await page.getByRole('heading', { level: 1, name: 'No such page' }).waitFor()
    await sees(page.getByRole('main'), decodeURIComponent(address))
    assert.equal(await page.title(), 'No such page – millrace', address)
    assert.equal(await page.locator('main').getByRole('heading').count(), 1, address)
  }
  await page.context().close()
})

test('an address that names no page leads to those that there are', async () => {
  const id = await server.run('booking', { customerId: 'c-91' })
  const page = await console_.open(`#/default/instances/${id}/nonsense`)
  const main = page.getByRole('main')
  assert.deepEqual(await main.locator('p', { hasText: 'Pages below' }).getByRole('link').allTextContents(), ['story', 'data', 'why', 'calls', 'children', 'variables'])
  await main.getByRole('link', { name: 'data', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: id }).waitFor()
  await page.locator('.tabs a[aria-current="page"]', { hasText: 'Data' }).waitFor()
  await page.goBack()
  await main.getByRole('link', { name: 'Instances', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Instances' }).waitFor()
  await console_.show(page, 'default/workflows/booking/nonsense')
  assert.deepEqual(await main.locator('p', { hasText: 'Pages below' }).getByRole('link').allTextContents(), ['graph', 'text', 'revisions', 'run'])
  await console_.show(page, 'default/nonsense')
  await main.getByRole('link', { name: 'the overview' }).click()
  await page.getByRole('heading', { level: 1, name: 'Overview of default' }).waitFor()
  await page.context().close()
})

test('an address without a part shows the first one', async () => {
  const id = await server.run('booking', { customerId: 'c-92' })
  const page = await console_.open(`#/default/instances/${id}`)
  await page.locator('[data-record="1"]').waitFor()
  await console_.show(page, 'default/workflows/booking')
  await page.getByRole('heading', { name: /^Graph of revision/ }).waitFor()
  await settled(page)
  await page.context().close()
})

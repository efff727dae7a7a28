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

test('a namespace that is named server has its pages, and the server has its own', async () => {
  await server.call('PUT', '/v1/ns/server')
  const page = await console_.open('#/server')
  await page.getByRole('heading', { level: 1, name: 'Server', exact: true }).waitFor()
  await settled(page)
  const bar = page.getByRole('navigation', { name: 'Pages' })
  assert.equal(await bar.locator('a[aria-current="page"]').textContent(), 'Server')
  await page.getByLabel('Namespace', { exact: true }).selectOption('server')
  await page.waitForURL(/#\/server\/overview$/)
  await page.getByRole('heading', { level: 1, name: 'Overview of server' }).waitFor()
  assert.equal(await bar.locator('a[aria-current="page"]').textContent(), 'Overview')
  await bar.getByRole('link', { name: 'Instances', exact: true }).click()
  await page.waitForURL(/#\/server\/instances$/)
  await bar.getByRole('link', { name: 'Overview', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Overview of server' }).waitFor()
  await bar.getByRole('link', { name: 'Server', exact: true }).click()
  await page.waitForURL(/#\/server$/)
  // From the list of namespaces, too; and what the page of the server keeps in the address stays there.
  const row = page.getByRole('region', { name: 'Namespaces of the server' }).locator('tbody tr', { has: page.getByRole('link', { name: 'server', exact: true }) })
  await row.getByRole('button', { name: 'Show, change, delete…' }).click()
  await page.waitForURL(/#\/server\?namespace=server$/)
  await page.getByRole('heading', { name: 'Namespace server' }).waitFor()
  await row.getByRole('link', { name: 'server', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Overview of server' }).waitFor()
  await console_.show(page, 'server/nonsense')
  await page.getByRole('main').getByRole('link', { name: 'the overview' }).click()
  await page.getByRole('heading', { level: 1, name: 'Overview of server' }).waitFor()
  await page.context().close()
})

test('namespaces that are named like pages and like members of objects are reachable', async () => {
  const names = ['overview', 'instances', 'default-', 'constructor', '__proto__']
  for (const name of names) await server.call('PUT', `/v1/ns/${name}`)
  const page = await console_.open('#/default')
  for (const name of names) {
    for (const address of [name, `${name}/overview`]) {
      await console_.show(page, address)
      await page.getByRole('heading', { level: 1, name: `Overview of ${name}` }).waitFor()
      assert.equal(await page.locator('.problem').count(), 0, address)
      assert.equal(await page.getByLabel('Namespace', { exact: true }).inputValue(), name)
    }
    await console_.show(page, `${name}/instances`)
    await page.getByRole('heading', { level: 1, name: 'Instances', exact: true }).waitFor()
    assert.equal(await page.locator('.problem').count(), 0, name)
  }
  await page.context().close()
})

// Lists and choices that are cut say so, and lead to what they leave out.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, sees, settled, until } from './harness.mjs'

const console_ = new Console()
const { server } = console_
before(() => console_.start())
after(() => console_.stop())

/** A page that gets `limit` items at most from the calls that fit `pattern`. */
async function openBounded(address, pattern, limit) {
  const context = await console_.newContext()
  await context.route(pattern, (route) => {
    const url = new URL(route.request().url())
    url.searchParams.set('limit', String(limit))
    return route.continue({ url: url.href })
  })
  return console_.open(address, { context })
}

/** The texts of the options of a choice. */
function optionsOf(choice) {
  return choice.locator('option').allTextContents()
}

test('namespaces: a choice that has not all says so, and leads to the page that lists them', async () => {
  for (const name of ['aa', 'ab', 'zz']) await server.call('PUT', `/v1/ns/${name}`)
  const page = await openBounded('#/zz/workflows', '**/v1/ns?*', 2)
  await settled(page)
  const choice = page.getByLabel('Namespace', { exact: true })
  await choice.getByRole('option', { name: 'others than the first 2…' }).waitFor({ state: 'attached' })
  assert.deepEqual(await optionsOf(choice), ['aa', 'ab', 'zz', 'others than the first 2…'])
  await choice.selectOption('others than the first 2…')
  await page.waitForURL(/#\/server$/)
  assert.equal(await choice.inputValue(), 'zz')
  const table = page.getByRole('region', { name: 'Namespaces of the server' })
  await table.getByRole('link', { name: 'ab' }).waitFor()
  assert.equal(await table.locator('tbody tr').count(), 2)
  await page.getByRole('button', { name: 'Older' }).click()
  await table.getByRole('link', { name: 'zz' }).waitFor()
  await sees(page, 'that is all')
  await choice.selectOption('ab')
  await page.waitForURL(/#\/ab$/)
  await page.context().close()
})

test('namespaces: a choice that has all has no further option', async () => {
  const page = await console_.open('#/default')
  await settled(page)
  const choice = page.getByLabel('Namespace', { exact: true })
  await choice.getByRole('option', { name: 'zz' }).waitFor({ state: 'attached' })
  assert.deepEqual((await optionsOf(choice)).filter((name) => name.includes('…')), [])
  await page.context().close()
})

test('namespaces: the number of dead letters in the bar is that of the namespace from the first moment on', async () => {
  await server.call('PUT', '/v1/ns/lettered')
  await server.publish('millrace.events.lettered.order.placed', ['no event', 'no event either'])
  await until(async () => (await server.call('GET', '/v1/ns/lettered/dlq')).items.length === 2)
  const page = await console_.open('#/default')
  await settled(page)
  // What the stream brings is not waited for.
  await page.route('**/stream?*', (route) => route.abort())
  await page.getByLabel('Namespace', { exact: true }).selectOption('lettered')
  const link = (number) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: `Dead letters${number}`, exact: true })
  await link(' 2').waitFor()
  await page.getByLabel('Namespace', { exact: true }).selectOption('default')
  await link('').waitFor()
  await page.context().close()
})

test('namespaces and workflows: the name is typed before one is deleted', async () => {
  await server.call('PUT', '/v1/ns/goes')
  await server.call('PUT', '/v1/ns/goes/workflows/first', 'id: first\nstates:\n- {id: only, type: noop}\n', { 'content-type': 'application/yaml' })
  const page = await console_.open('#/goes/workflows/first')
  const dialog = page.getByRole('dialog')
  for (const [address, button, name] of [['goes/workflows/first', 'Delete…', 'first'], ['server?namespace=goes', 'Delete the namespace…', 'goes']]) {
    await console_.show(page, address)
    await page.getByRole('button', { name: button }).click()
    const remove = dialog.getByRole('button', { name: 'Delete', exact: true })
    assert.ok(await remove.isDisabled())
    await dialog.getByLabel(`Type the name ${name} to confirm`).fill('other')
    assert.ok(await remove.isDisabled())
    await dialog.getByLabel(`Type the name ${name} to confirm`).fill(name)
    await remove.click()
    await sees(page.locator('.toast'), `${name} was deleted`)
  }
  assert.ok(!(await server.call('GET', '/v1/ns')).items.some((item) => item.name === 'goes'))
  await page.context().close()
})

test('instances: a workflow that the choice does not have is typed', async () => {
  await server.run('fails')
  const id = await server.run('placed', { id: 'L-1' })
  const page = await openBounded('#/default/instances', '**/v1/ns/default/workflows?*', 2)
  const field = page.getByLabel('or another; the choice has the first 2')
  await field.fill('placed')
  await field.press('Enter')
  await page.waitForURL(/workflow=placed/)
  await settled(page)
  await until(async () => (await page.locator('tbody tr').count()) === 1)
  await page.locator(`tr[data-row="${id}"]`).waitFor()
  assert.equal(await page.getByRole('combobox', { name: 'Workflow' }).inputValue(), 'placed')
  await page.context().close()
})

test('go to: what a bound of the server has left out is said', async () => {
  const page = await console_.open('#/default')
  await page.route('**/find?*', async (route) => {
    const answer = await (await route.fetch()).json()
    return route.fulfill({ json: { ...answer, complete: false } })
  })
  await page.getByRole('button', { name: 'Go to' }).click()
  await page.getByRole('dialog').getByRole('textbox').fill('booking')
  await sees(page.getByRole('dialog'), 'There may be more than these')
  await page.context().close()
})

test('instances: times are those of the zone of the browser, or of UTC, with the date if it is another day', async () => {
  for (let i = 0; i < 3; ++i) await server.run('placed', { id: `T-${i}` })
  const zone = 'Asia/Kathmandu' // no whole hours before UTC
  const moments = [new Date().toISOString(), new Date(Date.now() - 60 * 86_400_000).toISOString(), '2024-02-28T18:30:05.250Z']
  const context = await console_.newContext({ timezoneId: zone })
  // A message of the stream would bring the moments of the server back.
  await context.route('**/v1/ns/default/stream?*', (route) => route.abort())
  await context.route('**/v1/ns/default/instances?*', async (route) => {
    const answer = await (await route.fetch()).json()
    answer.items = answer.items.slice(0, moments.length).map((item, index) => ({ ...item, startedAt: moments[index] }))
    return route.fulfill({ json: answer })
  })
  const page = await console_.open('#/default/instances?workflow=placed', { context })
  await settled(page)
  const shown = () => Promise.all(moments.map((moment) => page.locator(`tbody time[datetime="${moment}"]`).textContent()))
  const expected = (timeZone) => moments.map((moment) => {
    const written = (form) => new Intl.DateTimeFormat('en-GB', { timeZone, ...form }).format(new Date(moment))
    const time = written({ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' })
    const [year, thisYear] = [moment, moments[0]].map((one) => new Intl.DateTimeFormat('en-GB', { timeZone, year: 'numeric' }).format(new Date(one)))
    return moment === moments[0] ? time : `${written({ day: 'numeric', month: 'short', ...(year === thisYear ? {} : { year: 'numeric' }) })} ${time}`
  })
  assert.deepEqual(await shown(), expected(zone))
  assert.equal((await shown())[2], '29 Feb 2024 00:15:05')
  await page.getByRole('button', { name: 'Local time' }).click()
  await until(async () => (await shown())[2] === '28 Feb 2024 18:30:05')
  assert.deepEqual(await shown(), expected('UTC'))
  await page.context().close()
})

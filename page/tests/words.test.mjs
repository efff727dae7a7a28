// What the page says: of what does not exist, of empty lists, and of numbers of one.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, sees, settled } from './harness.mjs'

const console_ = new Console()
const { server } = console_
before(() => console_.start())
after(() => console_.stop())

const kMissing = '01234567-89ab-7cde-8123-456789abcdef'

test('what does not exist is said once, with a button that looks for it; of a namespace, with the namespaces', async () => {
  const page = await console_.open('#/default')
  for (const address of [`instances/${kMissing}`, 'workflows/none', 'events/999999', 'dead/999999', 'sources/none']) {
    await console_.show(page, `default/${address}`)
    const alert = page.getByRole('alert')
    await sees(alert, 'It was deleted, or belongs to another namespace.')
    assert.equal(await alert.count(), 1, address)
    await alert.getByRole('button', { name: 'Look for it' }).click()
    await page.getByRole('dialog', { name: 'Go to' }).getByRole('button', { name: 'Close' }).click()
  }
  for (const address of ['', 'instances', 'events', 'values', 'sources', `instances/${kMissing}`, 'events/1']) {
    await console_.show(page, `nowhere/${address}`)
    const alert = page.getByRole('alert')
    await alert.getByRole('link', { name: 'the namespaces of the server' }).waitFor()
    assert.equal(await alert.count(), 1, address)
    assert.equal(await page.getByText('belongs to another namespace').count(), 0, address)
  }
  await console_.show(page, 'default/nonsense')
  await page.getByRole('main').getByRole('button', { name: 'Look for it' }).waitFor()
  await page.context().close()
})

test('an empty list of instances says how many there are without which filter', async () => {
  await server.runFailing()
  const page = await console_.open('#/default/instances?error=none.such&workflow=fails')
  await sees(page.locator('.empty'), 'Without the filter “Error” there is 1 instance of fails.')
  await console_.show(page, 'default/instances?error=none.such&workflow=fails&status=complete')
  await sees(page.locator('.empty'), 'Without the filters “Status”, “Error” there is 1 instance of fails.')
  await page.context().close()
})

test('a workflow starts by the same words in the list and on its page', async () => {
  await server.call('PUT', '/v1/ns/default/workflows/daily', 'id: daily\nstart: {type: scheduled, cron: "0 0 1 1 *"}\nstates:\n- {id: only, type: noop}\n', { 'content-type': 'application/yaml' })
  const page = await console_.open('#/default/workflows')
  for (const [id, words] of [['fails', 'call'], ['daily', 'schedule'], ['placed', 'event']]) {
    await console_.show(page, 'default/workflows')
    assert.equal(await page.locator(`tr[data-row="${id}"] td`).nth(1).textContent(), words)
    await console_.show(page, `default/workflows/${id}`)
    await sees(page, `starts by ${words}`)
  }
  await page.context().close()
})

test('the refusal of a request keeps its example of a time as the API takes it', async () => {
  const page = await console_.open('#/default')
  const detail = 'since: "x" is not an RFC 3339 time; expected one such as 2021-09-01T12:00:00Z'
  await page.route(/\/next\?/, (route) => route.fulfill({ status: 400, contentType: 'application/problem+json', body: JSON.stringify({ type: 'about:blank', title: 'Bad Request', status: 400, code: 'time.malformed', detail }) }))
  await console_.show(page, 'default/next')
  await sees(page.getByRole('alert'), detail)
  await page.context().close()
})

test('numbers of one: a line and a call', async () => {
  const definition = (more) => `id: single\n${more}functions:\n- {id: none, type: service, service: nowhere}\nstates:\n- {id: only, type: foreach, array: 'jq([1])', action: {function: none, input: {}}}\n`
  for (const more of ['', 'name: New\n']) await server.call('PUT', '/v1/ns/default/workflows/single', definition(more), { 'content-type': 'application/yaml' })
  const page = await console_.open('#/default/workflows/single/revisions')
  await sees(page, '1 line added, 0 removed')
  const id = await server.run('single')
  await console_.show(page, `default/instances/${id}/calls`)
  await sees(page.getByRole('main'), /of 1 call:/)
  await page.context().close()
})

test('empty lists say how something gets there', async () => {
  await server.call('PUT', '/v1/ns/empty')
  const page = await console_.open('#/empty/functions')
  await sees(page.locator('.empty'), 'they replace all settings that the namespace has')
  await sees(page.locator('.empty'), /"services": \{"charge": \{"url"/)
  await page.locator('.empty').getByRole('link', { name: 'the page of the server' }).click()
  await page.getByRole('heading', { name: 'Namespace empty' }).waitFor()
  await console_.show(page, 'empty/next')
  await page.locator('.empty').getByRole('link', { name: 'the workflows' }).waitFor()
  await sees(page.locator('.empty'), 'millrace -n empty schedule list')
  await page.context().close()
})

test('why: conditions, listeners and messages are counted in words, and a time has no "since … ago"', async () => {
  const id = await server.run('booking', { customerId: 'c-90' })
  const event = await server.send({ type: 'guestbooking', customerid: 'C-90' })
  const page = await console_.open(`#/default/events/${event.sequence}`)
  await sees(page, 'Looked at 1 of 1 listener for this type.')
  const card = page.locator('.judged')
  assert.match(await card.textContent(), /does not fit 1 of 2 conditions does not hold/)
  assert.equal(await card.locator('code', { hasText: 'wait-for-booking' }).count(), 1)
  await console_.show(page, `default/instances/${id}/why`)
  await settled(page)
  await sees(page, 'The nearest 1 of 1 event of its types')
  assert.match(await page.getByRole('main').textContent(), /waits for guestbooking since \d\d:\d\d:\d\d/)
  assert.doesNotMatch(await page.getByRole('main').textContent(), /since [\d.]+ m?s ago|since now/)
  await page.context().close()
})

test('a call that no worker takes says so', async () => {
  const id = await server.run('held')
  const page = await console_.open(`#/default/instances/${id}`)
  await sees(page.getByRole('region', { name: 'Now' }), 'no worker has taken it')
  await page.context().close()
})

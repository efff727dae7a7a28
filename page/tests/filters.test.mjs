// The text fields of filters: what is typed stays while the page is drawn again, and Enter or the button applies it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, sees, settled, until } from './harness.mjs'

const console_ = new Console()
const { server } = console_
before(() => console_.start())
after(() => console_.stop())

test('waiting: an event type that is typed stays while listeners come, and Enter filters by it', async () => {
  await server.run('booking', { customerId: 'c-60' })
  const page = await console_.open('#/default/waiting')
  await page.getByRole('button', { name: 'live', exact: true }).waitFor()
  await settled(page)
  const field = page.getByLabel('Event type', { exact: true })
  await field.fill('guestbooking')
  const id = await server.run('booking', { customerId: 'c-61' })
  // The list was read again, and is drawn.
  await page.locator(`[title="${id}"]`).first().waitFor()
  assert.equal(await field.inputValue(), 'guestbooking')
  await field.press('Enter')
  await page.waitForURL(/type=guestbooking/)
  await page.locator('tbody tr', { hasText: 'order.placed' }).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.locator('tbody tr', { hasText: 'order.placed' }).waitFor()
  assert.equal(await field.inputValue(), '')
})

/** Runs in the browser: draws the page again for the address that it has, as each change of the data does. */
async function drawAgain() {
  dispatchEvent(new HashChangeEvent('hashchange'))
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
}

test('each text field of a filter keeps what is typed while the page is drawn again, and Apply applies it', async () => {
  const id = await server.run('booking', { customerId: 'c-62' })
  const { sequence } = await server.send({ type: 'guestbooking', customerid: 'c-63' })
  for (const state of ['one', 'two']) await server.call('PUT', '/v1/ns/default/workflows/twice', `id: twice\nstates:\n- {id: ${state}, type: noop}\n`, { 'content-type': 'application/yaml' })
  const page = await console_.open('#/default')
  await settled(page)
  const fields = [
    ['waiting', 'Event type', 'type'], ['waiting', 'Workflow', 'workflow'], ['waiting', 'Attribute', 'attribute'], ['waiting', 'Value', 'value'],
    ['events', 'Event type', 'type'], ['events', 'Source', 'source'], ['events', 'Attribute', 'attribute'], ['events', 'Value', 'value'], ['events', 'Event id', 'id'],
    [`events/${sequence}`, 'I expected the instance', 'instance', 'Ask'], [`events/${sequence}`, 'or those that ask for the attribute', 'attribute', 'Ask'], [`events/${sequence}`, 'with the value', 'value', 'Ask'],
    ['instances', 'State', 'state'], ['instances', 'Event type it waits for', 'waitsFor'], ['instances', 'Error', 'error'],
    [`instances/${id}/why`, 'Or about those since', 'since', 'Ask'],
    ['calls', 'Instance', 'instance'], ['queues', 'Workflow', 'workflow'], ['groups', 'Workflow', 'workflow'], ['groups', 'Value', 'value'],
    ['values', 'Of the workflow (empty: of the namespace)', 'workflow'], ['values', 'or of the instance', 'instance'],
    ['workflows/twice/revisions', 'Differences from revision', 'against', 'Compare'], ['next', 'Until (2h, 18:00 or RFC 3339)', 'until'],
  ]
  const lost = []
  for (const [route, label, parameter, button = 'Apply'] of fields) {
    await console_.show(page, `default/${route}`)
    const field = page.getByRole('textbox', { name: label, exact: true })
    const text = { instance: id, since: '2020-01-01T00:00:00Z', until: '2040-01-01T00:00:00Z', against: '2', workflow: 'placed' }[parameter] ?? 'typed'
    await field.fill(text)
    await page.evaluate(drawAgain)
    if ((await field.inputValue()) !== text) lost.push(`${route}: ${label}`)
    await field.fill(text)
    await page.locator('form', { has: field }).getByRole('button', { name: button, exact: true }).click()
    await until(async () => new URLSearchParams(page.url().split('?')[1]).get(parameter) === text, `${route} has ${parameter}=${text}`)
    await settled(page)
  }
  assert.deepEqual(lost, [])
})

test('an attribute without its value, or a value without an attribute, is called incomplete and shows no rows', async () => {
  const { sequence } = await server.send({ type: 'guestbooking', customerid: 'c-64' })
  const page = await console_.open('#/default')
  const asked = []
  page.on('request', (request) => asked.push(request.url()))
  for (const [route, attribute, value] of [['waiting', 'Attribute', 'Value'], ['events', 'Attribute', 'Value'], ['groups', 'Attribute of the correlation', 'Value'], [`events/${sequence}`, 'those that ask for the attribute', 'with the value']]) {
    asked.length = 0
    await console_.show(page, `default/${route}?attribute=customerid`)
    const main = page.getByRole('main')
    await sees(main, `fill in “${value}” too, or empty “${attribute}”`)
    assert.equal(await main.locator('table, .judged').count(), 0, route)
    await console_.show(page, `default/${route}?value=c-64`)
    await sees(main, `fill in “${attribute}” too, or empty “${value}”`)
    assert.equal(await main.locator('table, .judged').count(), 0, route)
    assert.deepEqual(asked.filter((url) => /(listeners|events|groups|why)\?/.test(url)), [], route)
    await console_.show(page, `default/${route}?attribute=customerid&value=c-64`)
    await main.getByText('The filter is incomplete').waitFor({ state: 'detached' })
  }
  await page.context().close()
})

test('an attribute with an upper-case letter is a mistake at its field, and shows no rows', async () => {
  const { sequence } = await server.send({ type: 'guestbooking', customerid: 'c-68' })
  await server.run('booking', { customerId: 'c-69' })
  const page = await console_.open('#/default')
  const asked = []
  page.on('request', (request) => asked.push(request.url()))
  for (const [route, label, button] of [['waiting', 'Attribute', 'Apply'], ['events', 'Attribute', 'Apply'], ['groups', 'Attribute of the correlation', 'Apply'], [`events/${sequence}`, 'or those that ask for the attribute', 'Ask']]) {
    await console_.show(page, `default/${route}`)
    asked.length = 0
    const main = page.getByRole('main')
    const field = page.getByRole('textbox', { name: label })
    await field.fill('customerId')
    await main.getByRole('textbox', { name: /^(with the v|V)alue$/ }).fill('c-68')
    await main.getByRole('button', { name: button, exact: true }).click()
    await sees(main.locator('label', { has: field }).getByRole('alert'), 'names of attributes are in lower case: write customerid')
    await sees(main, `Nothing is shown until “${label.replace(/^or /, '')}” is corrected.`)
    assert.equal(await main.locator('table, .judged, .empty').count(), 0, route)
    assert.deepEqual(asked.filter((url) => /attribute=/.test(url)), [], route)
    await field.fill('customerid')
    await field.press('Enter')
    await main.getByText('Nothing is shown').waitFor({ state: 'detached' })
    await settled(page)
    assert.equal(await page.getByRole('alert').count(), 0, route)
  }
  await page.context().close()
})

test('instances: those that have ended in the last hour, whenever they started', async () => {
  const waits = await server.run('booking', { customerId: 'c-67' })
  const failed = await server.run('fails', {})
  await until(async () => (await server.instance(failed)).status === 'failed', 'the instance has failed')
  const page = await console_.open('#/default/instances')
  await page.locator(`[data-row="${waits}"]`).waitFor()
  await page.getByRole('combobox', { name: 'Ended', exact: true }).selectOption('last hour')
  await page.locator(`[data-row="${waits}"]`).waitFor({ state: 'detached' })
  await page.locator(`[data-row="${failed}"]`).waitFor()
  assert.match(page.url(), /endedSince=1h/)
  await sees(page.locator('ul.counts'), 'counted without “Ended”')
  await page.getByText('Copy as command').click()
  await sees(page.locator('main'), 'instance list --ended-since 1h')
  await console_.show(page, 'default/instances?endedUntil=1h')
  await sees(page.locator('main'), 'No instance fits all filters')
  const before = page.getByRole('textbox', { name: 'Ended before' })
  await before.fill('now')
  await before.press('Enter')
  await sees(page.locator('label', { has: before }).getByRole('alert'), '“now” is not a time')
  await page.context().close()
})

test('instances: a time is typed as the page shows it, and the address has it in UTC; a text that is none leaves no rows', async () => {
  const id = await server.run('fails')
  await server.reaches(id, 'failed')
  const context = await console_.newContext({ timezoneId: 'Asia/Tokyo' })
  const page = await console_.open('#/default/instances?endedSince=24h', { context })
  await page.locator(`[data-row="${id}"]`).waitFor()
  await page.getByText('More filters').click()
  const [since, before] = ['Ended since', 'Ended before'].map((name) => page.getByRole('textbox', { name }))
  const apply = async (field, text) => { await field.fill(text); await field.press('Enter') }
  assert.equal(await before.getAttribute('placeholder'), '06:00 or 2h')
  await apply(before, '2020-11-30 14:47')
  await page.waitForURL(/endedUntil=2020-11-30T05:47:00Z/)
  await sees(page.locator('main'), 'No instance fits all filters')
  assert.equal(await before.inputValue(), '2020-11-30 14:47')
  await page.getByRole('button', { name: 'Local time' }).click()
  assert.equal(await before.inputValue(), '2020-11-30 05:47')
  await apply(before, '')
  await page.locator(`[data-row="${id}"]`).waitFor()
  const soon = new Date(Date.now() + 600_000).toISOString().slice(11, 16)
  await apply(since, soon)
  await page.waitForURL(/endedSince=20/)
  const { searchParams } = new URL(page.url().replace('#', ''))
  const distance = Date.now() - Date.parse(searchParams.get('endedSince'))
  assert.ok(distance > 23.5 * 3_600_000 && distance < 24 * 3_600_000, `${soon} was ${searchParams.get('endedSince')}`)
  await page.locator(`[data-row="${id}"]`).waitFor()
  for (const text of ['2026-02-30 10:00', '24:00', 'now']) {
    await apply(since, text)
    await sees(page.locator('label', { has: since }).getByRole('alert'), `“${text}” is not a time`)
    await page.locator('tbody tr').first().waitFor({ state: 'detached' })
    await apply(since, '6h')
    await page.locator(`[data-row="${id}"]`).waitFor()
  }
  await context.close()
})

test('instances: a time of day before which something was is that of today, and since which it was the last one', async () => {
  const page = await console_.open('#/default/instances?endedSince=24h')
  await settled(page)
  await page.getByRole('button', { name: 'Local time' }).click()
  const day = () => new Date().toISOString().slice(0, 10)
  const name = { since: 'Started since', until: 'Started before', endedSince: 'Ended since', endedUntil: 'Ended before' }
  await page.getByText('More filters').click()
  for (const parameter of Object.keys(name)) {
    const field = page.getByRole('textbox', { name: name[parameter] })
    const today = day()
    await field.fill('23:59')
    await field.press('Enter')
    await page.waitForURL(new RegExp(`${parameter}=20`))
    const stored = new URLSearchParams(page.url().split('?')[1]).get(parameter)
    if (parameter.endsWith('ntil')) assert.ok([today, day()].map((one) => `${one}T23:59:00Z`).includes(stored), `${parameter}: ${stored}`)
    else assert.ok(Date.parse(stored) <= Date.now() && Date.parse(stored) > Date.now() - 24.5 * 3_600_000, `${parameter}: ${stored}`)
  }
  await page.context().close()
})

test('instances: what has left the list is not selected any more, and the dialog names what is selected', async () => {
  const ids = []
  for (const customerId of ['c-71', 'c-72']) ids.push(await server.run('booking', { customerId }))
  const [left, stays] = ids
  for (const id of ids) {
    await server.reaches(id, 'waiting')
    await server.call('POST', `/v1/ns/default/instances/${id}/cancel`)
    await server.reaches(id, 'cancelled')
  }
  const page = await console_.open('#/default/instances?status=cancelled')
  for (const id of ids) await page.getByRole('checkbox', { name: `Select ${id}` }).check()
  const bulk = page.getByRole('group', { name: 'Actions on several instances' })
  await sees(bulk, '2 selected')
  await bulk.getByRole('button', { name: 'Restart…' }).click()
  const named = page.getByRole('dialog').getByRole('list', { name: 'Instances' })
  for (const id of ids) await sees(named, id)
  assert.match(await named.textContent(), /booking/)
  await page.keyboard.press('Escape')
  await server.call('POST', `/v1/ns/default/instances/${left}/restart`)
  await sees(page.locator(`[data-row="${left}"]`), 'waiting')
  const later = await server.run('booking', { customerId: 'c-73' })
  await server.call('POST', `/v1/ns/default/instances/${later}/cancel`)
  await page.getByRole('button', { name: /newer: show/ }).click()
  await page.locator(`[data-row="${left}"]`).waitFor({ state: 'detached' })
  await sees(bulk, '1 selected')
  await bulk.getByRole('button', { name: 'Delete…' }).click()
  await sees(page.getByRole('dialog'), stays)
  assert.equal(await page.getByRole('dialog').getByText(left).count(), 0)
  await page.context().close()
})

test('instances: the choice of all that the filter names ends with the filter', async () => {
  await server.runFailing()
  const page = await console_.open('#/default/instances?status=failed')
  const all = page.getByLabel('all that the filter names')
  await all.check()
  await page.getByRole('group', { name: 'Status' }).getByRole('button', { name: 'complete' }).click()
  await page.waitForURL(/failed,complete/)
  await settled(page)
  assert.equal(await all.isChecked(), false)
  await all.check()
  await console_.show(page, 'default/instances?status=failed&endedSince=24h')
  assert.ok(await page.getByRole('button', { name: 'Restart…' }).isDisabled())
  await page.context().close()
})

test('a filter that the server refuses leaves no rows of the filter before', async () => {
  await server.run('booking', { customerId: 'c-65' })
  const page = await console_.open('#/default/instances')
  await page.locator('tbody tr').first().waitFor()
  await console_.show(page, 'default/instances?since=yesterday')
  await page.getByRole('alert').waitFor()
  assert.equal(await page.locator('tbody tr').count(), 0)
  await page.context().close()
})

test('next: a text that is no time is refused at the field, with the form that is expected', async () => {
  await server.run('booking', { customerId: 'c-66' })
  const page = await console_.open('#/default/next')
  await page.locator('tbody tr').first().waitFor()
  const field = page.getByRole('textbox', { name: 'Until (2h, 18:00 or RFC 3339)' })
  await field.fill('tomorrow')
  await field.press('Enter')
  await sees(page.locator('label', { has: field }).getByRole('alert'), '“tomorrow” is not a time: expected is one such as ')
  await page.locator('tbody tr').first().waitFor({ state: 'detached' })
  assert.equal(await page.getByText('Invalid Date').count(), 0)
  await console_.show(page, 'default/next?until=tomorrow')
  await page.locator('tbody tr').first().waitFor({ state: 'detached' })
  await sees(page.locator('label', { has: field }).getByRole('alert'), '“tomorrow” is not a time')
  assert.equal(await page.getByText('Invalid Date').count(), 0)
  await field.fill('2040-01-01T00:00:00Z')
  await field.press('Enter')
  await page.locator('tbody tr').first().waitFor()
  assert.equal(await page.getByRole('alert').count(), 0)
  await page.context().close()
})

test('bulk: a click that applies a typed filter opens no dialog for the rows of the filter before', async () => {
  await server.run('booking', { customerId: 'c-68' })
  await server.run('pair', {})
  const page = await console_.open('#/default/instances?status=waiting')
  await page.locator('tbody tr').first().waitFor()
  await page.getByLabel(/all that the filter names/i).check()
  await page.getByRole('textbox', { name: 'State', exact: true }).fill('wait-for-booking')
  await page.getByRole('button', { name: 'Cancel…' }).click()
  await page.waitForURL(/state=wait-for-booking/)
  await settled(page)
  assert.equal(await page.getByRole('dialog').count(), 0)
  await page.context().close()
})

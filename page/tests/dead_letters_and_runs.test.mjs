// Acceptance checks 10 and 11: a dead letter is fixed, and an instance is started by the form.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, sees, until } from './harness.mjs'

const console_ = new Console()
const { server } = console_
before(() => console_.start())
after(() => console_.stop())

test('10 dead letter: listed with its reason, fixed, tried, sent once', async () => {
  const page = await console_.open('#/default/dead')
  await sees(page, 'No dead letters')
  await server.publish('millrace.events.default.order.placed', JSON.stringify({ specversion: '1.0', id: 'd-1', type: 'order.placed', data: { id: 'A-1' } }))
  const row = page.locator('tbody tr', { hasText: 'event.missing_attribute' })
  await row.waitFor()
  await sees(page.getByRole('navigation', { name: 'Pages' }), '1')
  await row.getByRole('link').first().click()
  await sees(page, 'attribute "source" is missing')
  const text = page.getByLabel('The event')
  await text.fill((await text.inputValue()).replace('"id": "d-1"', '"id": "d-1",\n  "source": "shop"'))
  await page.getByRole('button', { name: 'Try: nothing is sent' }).click()
  await page.locator('.judged[data-verdict="started"]', { hasText: 'placed' }).waitFor()
  assert.equal((await server.get('/instances?workflow=placed')).items.length, 0)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await sees(page, 'the dead letter was deleted')
  assert.equal(await page.getByRole('button', { name: 'Send', exact: true }).count(), 0)
  await until(async () => (await server.get('/instances?workflow=placed')).items.length === 1)
  assert.equal((await server.get('/dlq')).items.length, 0)
})

test('a dead letter that is deleted is gone, and what is not JSON is said', async () => {
  await server.publish('millrace.events.default.order.placed', 'not JSON')
  const [letter] = await until(async () => { const { items } = await server.get('/dlq'); return items.length > 0 && items })
  const page = await console_.open(`#/default/dead/${letter.id}`)
  await sees(page, 'Not JSON:')
  await page.locator('.heading').getByRole('button', { name: 'Delete…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await sees(page, 'No dead letters')
  assert.equal((await server.get('/dlq')).items.length, 0)
})

test('dead letters: the last of a reason goes, and the list says so and offers nothing', async () => {
  await server.publish('millrace.events.default.order.placed', ['not JSON', JSON.stringify({ specversion: '1.0', id: 'd-2', type: 'order.placed' })])
  const letters = await until(async () => { const { items } = await server.get('/dlq'); return items.length === 2 && items })
  const { id, reason } = letters.find((letter) => letter.reason !== 'event.missing_attribute')
  const page = await console_.open(`#/default/dead?reason=${reason}`)
  await page.locator(`tr[data-row="${id}"]`).waitFor()
  await server.call('DELETE', `/v1/ns/default/dlq/${id}`)
  await sees(page, `No dead letter has the reason ${reason} any more.`)
  assert.equal(await page.getByRole('table').count(), 0)
  assert.equal(await page.getByRole('button', { name: /of this reason/ }).count(), 0)
  await page.getByRole('button', { name: 'Show all 1' }).click()
  await page.locator('tbody tr', { hasText: 'event.missing_attribute' }).waitFor()
  await server.call('DELETE', '/v1/ns/default/dlq?all=1')
  await page.context().close()
})

test('a message that is not an event: its error once, where to correct it, and nothing that is always refused', async () => {
  await server.publish('millrace.events.default.order.placed', JSON.stringify({ specversion: '1.0', id: 'd-3', type: 'order.placed' }))
  const [letter] = await until(async () => { const { items } = await server.get('/dlq'); return items.length > 0 && items })
  const [{ sequence }] = (await server.get('/events?limit=1')).items
  const page = await console_.open(`#/default/events/${sequence}`)
  await sees(page, 'The message is not an event, so no listener was asked.')
  assert.equal(await page.getByText(letter.detail).count(), 1)
  assert.equal(await page.getByText('No listener for this type').count(), 0)
  assert.equal(await page.getByRole('button', { name: 'Replay unchanged…' }).count(), 0)
  await page.getByRole('main').getByRole('link', { name: letter.id, exact: true }).click()
  await sees(page, 'It is not an event, so it cannot be replayed as it is')
  assert.equal(await page.getByRole('button', { name: 'Replay as it is…' }).count(), 0)
  const buttons = [page.getByRole('button', { name: 'Try: nothing is sent' }), page.getByRole('button', { name: 'Send', exact: true })]
  for (const button of buttons) assert.ok(await button.isEnabled())
  await page.getByLabel('The event').fill('no JSON')
  await sees(page, 'Not JSON:')
  for (const button of buttons) assert.ok(await button.isDisabled())
  await server.call('DELETE', '/v1/ns/default/dlq?all=1')
  await page.context().close()
})

test('an event that became a dead letter for another cause can be replayed as it is', async () => {
  await leaveLetters('later', 1)
  const [{ id }] = (await server.call('GET', '/v1/ns/later/dlq')).items
  const page = await console_.open(`#/later/dead/${id}`)
  await page.getByRole('button', { name: 'Replay as it is…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Replay', exact: true }).click()
  await sees(page, 'the dead letter was deleted')
  await page.context().close()
})

test('a dead letter of a source: the event that it stands for is sent in its place', async () => {
  await server.makeStream('LETTERS', ['letters.*'])
  await server.publish('letters.one', '{"no": "event"}')
  await server.applySource('letters', { stream: 'LETTERS', begin: 'all' })
  const [letter] = await until(async () => { const { items } = await server.get('/dlq'); return items.length > 0 && items })
  const page = await console_.open(`#/default/dead/${letter.id}`)
  await sees(page, 'Write the event that it stands for, and send that.')
  assert.equal(await page.getByRole('button', { name: 'Replay as it is…' }).count(), 0)
  await page.getByLabel('The event').fill(JSON.stringify({ specversion: '1.0', id: 's-1', source: 'shop', type: 'other' }))
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await sees(page, 'the dead letter was deleted')
  await page.context().close()
})

test('a workflow that does not exist: nothing is offered that needs it', async () => {
  const page = await console_.open('#/default/workflows/none')
  await page.getByRole('alert').waitFor()
  for (const name of ['Run…', 'Instances', 'Delete…']) assert.equal(await page.locator('.heading').getByText(name, { exact: true }).count(), 0, name)
  await page.context().close()
})

/** Publishes events for a namespace before it is made, which become dead letters, and then makes it. */
async function leaveLetters(ns, number, others = []) {
  const events = Array.from({ length: number }, (_, index) => JSON.stringify({ specversion: '1.0', id: `${ns}-${index}`, source: 'shop', type: 'order.placed' }))
  await server.publish(`millrace.events.${ns}.order.placed`, [...events, ...others])
  const lettersNow = async () => (await server.call('GET', `/v1/ns/${ns}/dlq`)).reasons.reduce((sum, one) => sum + one.count, 0)
  // There is no such namespace before the first of them.
  await until(async () => (await lettersNow().catch(() => 0)) === number + others.length, `the dead letters of ${ns}`)
  await server.call('PUT', `/v1/ns/${ns}`)
  return lettersNow
}

test('dead letters in bulk: the progress is shown, Stop ends it after the request that runs, and the rest is there', async () => {
  const left = await leaveLetters('bulk', 250)
  const page = await console_.open('#/bulk/dead')
  // The second request is held, so that the progress after the first can be seen.
  const held = []
  let asked = 0
  await page.route('**/dlq/replay?*', (route) => {
    asked += 1
    return asked === 2 ? void held.push(route) : route.continue()
  })
  await page.getByRole('button', { name: 'Replay all…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Replay 250 dead letters?' })
  await dialog.getByLabel(/Type the number 250/).fill('250')
  await dialog.getByRole('button', { name: 'Replay', exact: true }).click()
  await sees(dialog.getByRole('status'), 'done 100, refused 0')
  await until(() => held.length === 1, 'the second request')
  // The list behind has fewer rows by now; the dialog still is about what was chosen.
  await sees(dialog, 'Replay 250 dead letters?')
  await dialog.getByRole('button', { name: 'Stop', exact: true }).click()
  await sees(dialog.getByRole('status'), 'stops after the current request')
  await held[0].continue()
  await sees(page, 'Done 200, refused 0, stopped')
  await dialog.waitFor({ state: 'detached' })
  assert.equal(asked, 2)
  assert.equal(await left(), 50)
  await page.getByRole('button', { name: 'all 50', exact: true }).waitFor()
  await page.context().close()
})

test('dead letters in bulk: what is refused is named while the dialog stays, and all are deleted by one request', async () => {
  const left = await leaveLetters('mixed', 3, ['no event', 'nor this'])
  const page = await console_.open('#/mixed/dead')
  await page.getByRole('button', { name: 'Replay all…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Replay', exact: true }).click()
  await sees(dialog.getByRole('alert'), 'Done 3, refused 2')
  await sees(dialog.getByRole('status'), 'done 3, refused 2')
  assert.equal(await dialog.getByRole('button', { name: 'Stop', exact: true }).count(), 0)
  assert.equal(await left(), 2)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Delete all…' }).click()
  await sees(dialog, 'one request that cannot be stopped')
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
  await sees(page, 'Deleted 2 dead letters')
  await sees(page, 'No dead letters')
  assert.equal(await left(), 0)
  await page.context().close()
})

test('11 run: a wrong input says the path; the right one lands on the new instance; the same key on the same', async () => {
  const page = await console_.open('#/default/workflows/typed/run')
  await page.getByLabel(/^customer/).fill('Ada')
  await page.getByLabel(/^total/).fill('much')
  await sees(page.getByRole('alert'), /total/)
  await page.getByLabel(/^total/).fill('12.50')
  await sees(page, 'The input is valid.')
  await page.getByLabel(/^Idempotency key/).fill('key-1')
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.waitForURL(/instances\/[0-9a-f-]{36}\/story/)
  const first = /instances\/([^/]+)/.exec(page.url())[1]
  assert.deepEqual((await server.instance(first)).input, { customer: 'Ada', total: 12.5 })
  await page.goto(`${console_.base}#/default/workflows/typed/run`)
  await page.getByLabel(/^customer/).fill('Ada')
  await page.getByLabel(/^total/).fill('12.5')
  await page.getByLabel(/^Idempotency key/).fill('key-1')
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.waitForURL(new RegExp(first))
  assert.equal((await server.get('/instances?workflow=typed')).items.length, 1)
})

test('run: an input that was refused starts nothing, and the line beside the button says why', async () => {
  const page = await console_.open('#/default/workflows/typed/run')
  const run = page.getByRole('button', { name: 'Run', exact: true })
  await page.getByLabel(/^total/).fill('much')
  await sees(page.locator('form .buttons'), 'The state check refuses this input, and an instance would fail at once')
  assert.ok(await run.isDisabled())
  // Each change counts as not checked, so Run is there before the answer is.
  const held = []
  await page.route('**/workflows/typed/input', (route) => (route.request().method() === 'POST' ? void held.push(route) : route.continue()))
  await page.getByLabel(/^total/).fill('12.5')
  await until(() => held.length === 1, 'the check of the changed input')
  assert.ok(await run.isEnabled())
  for (const route of held) await route.continue()
  await sees(page, 'The input is valid.')
  assert.ok(await run.isEnabled())
  await page.context().close()
})

test('run: what was done is said, with the key only if there was one, and stays until it is closed', async () => {
  const page = await console_.open('#/default/workflows/placed/run')
  const toast = page.locator('.toast')
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.waitForURL(/instances\/[0-9a-f-]{36}\/story/)
  await sees(toast, /^Instance \S+ was started$/)
  const close = toast.getByRole('button', { name: 'Close' })
  const lines = await close.evaluate((button) => { const range = document.createRange(); range.selectNodeContents(button); return range.getClientRects().length })
  assert.equal(lines, 1)
  await console_.show(page, 'default/workflows/placed/run')
  await toast.waitFor()
  await page.getByLabel(/^Idempotency key/).fill('key-2')
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await sees(toast, 'was started, or had been started with this key')
  await close.click()
  await toast.waitFor({ state: 'detached' })
  await page.context().close()
})

test('go to: an id, a key and a workflow are found by the keyboard', async () => {
  const id = await server.run('booking', { customerId: 'c-1' })
  const page = await console_.open('#/default')
  await page.locator('h1').waitFor()
  await page.keyboard.press('/')
  await page.getByRole('dialog').getByRole('textbox').fill(id)
  await page.getByRole('dialog').getByRole('link', { name: id }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(new RegExp(id))
  await page.locator('h1').click()
  await page.keyboard.press('g')
  await page.keyboard.press('w')
  await page.waitForURL(/workflows$/)
  await page.keyboard.press('?')
  await sees(page.getByRole('dialog'), 'Keys and help')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
})

test('go to: a sequence is found as the page writes it', async () => {
  const { sequence } = await server.send({ type: 'order.seen' })
  const page = await console_.open('#/default')
  await page.getByRole('button', { name: 'Go to' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox').fill(`#${sequence}`)
  await dialog.getByRole('link', { name: `event ${sequence}`, exact: true }).click()
  await page.waitForURL(new RegExp(`events/${sequence}$`))
  await page.context().close()
})

test('values: a variable is set, and a secret is sent and never shown', async () => {
  const page = await console_.open('#/default/values')
  await sees(page, 'No secrets')
  await page.getByRole('button', { name: 'Set a secret…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('api-key')
  await dialog.getByLabel(/^Value/).fill('s3cret-value')
  await dialog.getByRole('button', { name: 'Set', exact: true }).click()
  await sees(page.getByRole('table'), 'api-key')
  assert.ok(!(await page.content()).includes('s3cret-value'))
  await page.getByRole('button', { name: 'Set a variable…' }).click()
  await dialog.getByLabel('Name').fill('rate')
  await dialog.getByLabel('Value', { exact: true }).fill('{"eur": 1.1}')
  await dialog.getByRole('button', { name: 'Set', exact: true }).click()
  await page.getByRole('link', { name: 'rate' }).waitFor()
  assert.deepEqual(await server.get('/variables/rate'), { eur: 1.1 })
})

test('next: a timeout that will fire is listed with the state that follows', async () => {
  const page = await console_.open('#/default/next?kind=stateTimeout')
  const row = page.locator('tbody tr', { hasText: 'wait-for-booking' }).first()
  await sees(row, 'give-up')
})

test('next: the end of a subflow and the attempt of its caller are said, and the filters have the words of the rows', async () => {
  const yaml = { 'content-type': 'application/yaml' }
  await server.call('PUT', '/v1/ns/default/workflows/leg', 'id: leg\nstates:\n- {id: hold, type: consumeEvent, event: {type: held}, timeout: PT30M}\n', yaml)
  await server.call('PUT', '/v1/ns/default/workflows/trip', "id: trip\nfunctions:\n- {id: leg, type: subflow, workflow: leg}\nstates:\n- {id: book, type: action, action: {function: leg, retries: {max_attempts: 1, delay: PT1S, codes: ['*']}}}\n", yaml)
  const trip = await server.run('trip')
  await until(async () => (await server.get('/instances?workflow=leg&status=waiting')).items.length === 1)
  const page = await console_.open('#/default/next')
  const row = page.locator('tbody tr', { hasText: 'hold' })
  await sees(row, /timeout of the state.*fails with direktiv\.stateTimeout; its caller .* calls again/)
  await row.locator(`a[href*="${trip}"]`).waitFor()
  await page.getByRole('button', { name: '1 h', exact: true }).click()
  await page.waitForURL(/until=1h/)
  await sees(page, /\d+ firings? until /)
  await page.getByRole('button', { name: 'timeout of the state', exact: true }).click()
  await page.waitForURL(/kind=stateTimeout/)
  await row.waitFor()
})

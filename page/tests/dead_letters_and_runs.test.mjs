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

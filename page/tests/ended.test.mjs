// Instances that have ended: why, which record says so, and which action helps.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { Console, sees, settled, until } from './harness.mjs'

const console_ = new Console()
const { server } = console_
/** A service that knows each rate, and a bank that answers nothing else than an error. */
const services = createServer((request, response) => {
  request.resume()
  response.writeHead(request.url === '/rates' ? 200 : 503, { 'content-type': 'application/json' })
  response.end('{}')
})

const kPays = `id: pays
functions:
  - {id: charge, type: service, service: bank}
states:
  - id: pay
    type: action
    action: {function: charge, input: {}, retries: {initialInterval: 10ms, maximumAttempts: 3}}
`
const kQuotes = `id: quotes
functions:
  - {id: look, type: service, service: rates}
states:
  - id: ask
    type: action
    action: {function: look, input: {}}
    transition: check
  - id: check
    type: noop
    transition: refuse
  - {id: refuse, type: error, error: quote.noRate, message: no rate for 1000}
`

before(async () => {
  await console_.start()
  services.listen(0, '127.0.0.1')
  await once(services, 'listening')
  const base = `http://127.0.0.1:${services.address().port}`
  await server.call('PUT', '/v1/ns/default', { services: { bank: { url: `${base}/bank` }, rates: { url: `${base}/rates` } } })
  for (const [id, text] of [['pays', kPays], ['quotes', kQuotes]]) await server.call('PUT', `/v1/ns/default/workflows/${id}`, text, { 'content-type': 'application/yaml' })
})
after(async () => {
  services.closeAllConnections()
  services.close()
  await console_.stop()
})

const endOf = (page) => page.getByRole('region', { name: 'Why it ended' })

test('why: a failed instance says in which state, with which error and after how many attempts, and what can be done', async () => {
  const id = await server.run('pays')
  const { error } = await server.reaches(id, 'failed')
  const raised = (await server.get(`/instances/${id}/history?kind=raised`)).items.at(-1)
  const page = await console_.open(`#/default/instances/${id}/why`)
  await settled(page)
  await sees(endOf(page), /It failed in the state pay at/)
  const text = await endOf(page).textContent()
  assert.ok(text.includes(error.code), text)
  assert.match(text, /, after 3 attempts\./)
  assert.equal(await endOf(page).getByRole('button', { name: 'Retry…' }).count(), 1)
  assert.match(text, /the failed state is tried again.*at the first state.*at a state that you choose/)
  assert.doesNotMatch(text, /raises the same error/)
  assert.doesNotMatch(await page.getByRole('region', { name: 'Why', exact: true }).textContent(), /waits for no event|The nearest/)
  await endOf(page).getByRole('link', { name: `record ${raised.number}` }).click()
  await page.locator(`[data-record="${raised.number}"].is-at`).waitFor()
})

test('calls: an instance whose calls have ended has none that is open, and names the records of all', async () => {
  const id = await server.run('pays')
  await server.reaches(id, 'failed')
  const page = await console_.open(`#/default/instances/${id}/story`)
  await page.getByRole('link', { name: 'Calls: 0 open' }).click()
  await page.getByRole('link', { name: 'the records of all calls' }).click()
  await page.waitForURL(/story\?show=calls/)
  await page.locator('.story .kind-called').nth(2).waitFor()
})

test('retry: of an Error state it raises the same error, which the dialog says, and proposes a rerun from a state before', async () => {
  const id = await server.run('quotes')
  await server.reaches(id, 'failed')
  const page = await console_.open(`#/default/instances/${id}/why`)
  await settled(page)
  await sees(endOf(page), 'Here it raises the same error again.')
  const dialog = page.getByRole('dialog')
  await page.locator('.heading').getByRole('button', { name: 'Retry…' }).click()
  await sees(dialog, /The failed state refuse is an Error state: a retry raises the same error again/)
  await dialog.getByRole('button', { name: 'Restart…' }).click()
  await sees(dialog, 'Restart quotes')
  await page.keyboard.press('Escape')
  await page.locator('.heading').getByRole('button', { name: 'Retry…' }).click()
  await dialog.getByRole('button', { name: 'Rerun from…' }).click()
  assert.equal(await dialog.getByLabel('State').inputValue(), 'ask')
  await dialog.getByRole('button', { name: 'Rerun', exact: true }).click()
  await until(async () => (await server.instance(id)).run === 2)
  await server.reaches(id, 'failed')
  await console_.show(page, `default/instances/${id}/story`)
  await sees(page.locator('.story .kind-fixed').first(), 'sets the error with which the instance ends')
})

test('rerun: the failed state is proposed, and for a complete instance the start state', async () => {
  const failed = await server.run('pays')
  await server.reaches(failed, 'failed')
  const complete = await server.run('loop', { n: 0, of: 1 })
  await server.reaches(complete, 'complete')
  for (const [id, state] of [[failed, 'pay'], [complete, 'step']]) {
    const page = await console_.open(`#/default/instances/${id}/story`)
    await settled(page)
    await page.locator('.heading').getByRole('button', { name: 'Rerun from…' }).click()
    assert.equal(await page.getByRole('dialog').getByLabel('State').inputValue(), state)
    await page.context().close()
  }
})

test('why: a complete and a cancelled instance say so in one sentence', async () => {
  const complete = await server.run('loop', { n: 0, of: 1 })
  await server.reaches(complete, 'complete')
  const cancelled = await server.run('booking', { customerId: 'c-1' })
  await server.reaches(cancelled, 'waiting')
  await server.call('POST', `/v1/ns/default/instances/${cancelled}/cancel`)
  await server.reaches(cancelled, 'cancelled')
  for (const [id, says] of [[complete, /It is complete in the state done at .*transitions/], [cancelled, /It was cancelled in the state wait-for-booking at/]]) {
    const page = await console_.open(`#/default/instances/${id}/why`)
    await settled(page)
    await sees(endOf(page), says)
    assert.equal(await endOf(page).getByRole('button', { name: 'Retry…' }).count(), 0)
    assert.equal(await endOf(page).getByRole('button', { name: 'Restart…' }).count(), 1)
    await page.context().close()
  }
})

test('instances: the error of a row leads to the instances with it', async () => {
  await server.reaches(await server.run('quotes'), 'failed')
  await server.reaches(await server.run('pays'), 'failed')
  const page = await console_.open('#/default/instances?status=failed')
  await page.locator('tbody tr', { hasText: 'pays' }).first().waitFor()
  await page.getByRole('link', { name: 'quote.noRate' }).first().click()
  await page.waitForURL(/error=quote\.noRate/)
  await page.locator('tbody tr', { hasText: 'pays' }).first().waitFor({ state: 'detached' })
  await page.locator('tbody tr', { hasText: 'quotes' }).first().waitFor()
})

test('instances: a row has when the instance has ended, and after how long', async () => {
  const ended = await server.run('quotes')
  const { endedAt } = await server.reaches(ended, 'failed')
  const waits = await server.run('booking', { customerId: 'c-2' })
  await server.reaches(waits, 'waiting')
  for (const width of [1280, 320]) {
    const page = await console_.open('#/default/instances', { width })
    const row = page.locator(`tr[data-row="${ended}"]`)
    await row.waitFor()
    assert.equal(await row.locator('time').last().getAttribute('datetime'), endedAt)
    assert.match(await row.textContent(), /, after \d+(\.\d)? m?s/)
    assert.match(await page.locator(`tr[data-row="${waits}"]`).textContent(), /\d.* so far/)
    const excess = await page.locator('.scroll').first().evaluate((region) => region.scrollWidth - region.clientWidth)
    if (width === 1280) assert.ok(excess <= 1, `the table is ${excess} px too wide`)
    if (process.env.SHOT) await page.screenshot({ path: `/tmp/h_p1.t/ended-${width}.png` })
    await page.context().close()
  }
})

test('functions: a service that is not paused is not said to work, and its latest error has its age', async () => {
  await server.reaches(await server.run('pays'), 'failed')
  const page = await console_.open('#/default/functions')
  const row = page.locator('tbody tr', { hasText: 'bank' })
  await sees(row, 'not paused')
  await sees(row, / ago$/)
  await sees(page, /The latest error of a service stays here/)
})

test('Why is read again when the instance goes on: after Retry, and at its next end', async () => {
  await server.call('PUT', '/v1/ns/default/workflows/patient', 'id: patient\nstates:\n- {id: sit, type: consumeEvent, event: {type: bus.came}, timeout: PT4S}\n', { 'content-type': 'application/yaml' })
  const id = await server.run('patient')
  await server.reaches(id, 'failed')
  const page = await console_.open(`#/default/instances/${id}/why`)
  await sees(page, 'Why it ended')
  await settled(page)
  await page.locator('.heading .actions').getByRole('button', { name: 'Retry…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Retry', exact: true }).click()
  const waits = page.getByRole('region', { name: 'What it waits for' })
  await sees(waits, 'waits for bus.came')
  await sees(waits, /waiting.* in sit/)
  await sees(page, 'Why it ended')
  await sees(page, 'An instance that has ended takes no event.')
  await page.context().close()
})

// Acceptance checks 7, 12, 13 and 25: the story of an instance and the actions on it.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Console, sees, until } from './harness.mjs'

const console_ = new Console()
const { server } = console_
/** A service that fails twice for each instance, and one that holds its answers until it is let go. */
let attempts = 0
const held = new Set()
const services = createServer((request, response) => {
  request.resume()
  if (request.url === '/holding') return held.add(response)
  attempts += 1
  response.writeHead(attempts <= 2 ? 503 : 200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ ok: attempts > 2 }))
  return undefined
})

/** Its second attempt is after an hour. */
const kLater = `id: later
functions:
  - {id: unsteady, type: service, service: unsteady}
states:
  - id: call
    type: action
    action: {function: unsteady, input: {}, retries: {initialInterval: 1h, maximumAttempts: 2}}
`

before(async () => {
  await console_.start()
  services.listen(0, '127.0.0.1')
  await once(services, 'listening')
  const base = `http://127.0.0.1:${services.address().port}`
  await server.call('PUT', '/v1/ns/default', { services: { unsteady: { url: `${base}/unsteady` }, holding: { url: `${base}/holding` } } })
})
after(async () => {
  for (const response of held) response.destroy()
  services.closeAllConnections()
  services.close()
  await console_.stop()
})

async function act(page, name, confirm = name) {
  await page.locator('.heading').getByRole('button', { name }).click()
  await page.getByRole('dialog').getByRole('button', { name: confirm, exact: true }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

test('7 story: records, attempts, the next attempt; the slider shows data and state of a record', async () => {
  const id = await server.run('story', { who: 'Ada' })
  const page = await console_.open(`#/default/instances/${id}/story`)
  await sees(page.locator('.story'), 'wait-for-start')
  await server.send({ type: 'story.go' })
  await sees(page.locator('.story'), 'woken by an event')
  await page.locator('.story .kind-retrying').nth(1).waitFor()
  await server.reaches(id, 'complete')
  await sees(page.locator('.story'), 'ended')
  assert.ok((await page.locator('.story .kind-retrying').count()) >= 2)
  const second = await server.get(`/instances/${id}/history?kind=entered`)
  const call = second.items.find((record) => record.state === 'call')
  await page.getByRole('link', { name: 'Data', exact: true }).click()
  await page.getByRole('slider').fill('2')
  await sees(page.getByLabel('Data at record 2'), '"who": "Ada"')
  assert.equal(await page.locator('.graph [aria-current="step"]').getAttribute('data-state'), 'wait-for-start')
  await page.getByRole('slider').fill(String(call.number))
  await sees(page.getByLabel(`Data at record ${call.number}`), '"step": 2')
  await sees(page.locator('.added'), '2')
  assert.equal(await page.locator('.graph [aria-current="step"]').getAttribute('data-state'), 'call')
  assert.match(page.url(), new RegExp(`at=${call.number}$`))
})

test('25 scenario: what the page saves passes under millrace test', async () => {
  const id = (await server.get('/instances?workflow=story&limit=1')).items[0].id
  const page = await console_.open(`#/default/instances/${id}/story`)
  await page.locator('.heading summary', { hasText: 'Save' }).click()
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: /^Scenario/ }).click()])
  const folder = join(server.folder, 'scenario')
  mkdirSync(folder)
  await download.saveAs(join(folder, 'story.test.yaml'))
  const run = spawnSync(process.env.MILLRACE ?? 'millrace', ['test', folder], { encoding: 'utf8' })
  assert.equal(run.status, 0, run.stdout + run.stderr)
})

test('12 cancel: the dialog names the running task, Esc changes nothing, and the story has cancelled', async () => {
  const id = await server.run('held')
  await until(async () => (await server.instance(id)).callCounts?.running === 1, 'the task runs')
  const page = await console_.open(`#/default/instances/${id}/story`)
  await page.locator('.heading').getByRole('button', { name: 'Cancel…' }).click()
  await sees(page.getByRole('dialog'), /1 task runs and is let finish/)
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await until(async () => (await page.evaluate(() => document.activeElement.textContent)) === 'Cancel…', 'the focus is back on the button')
  assert.notEqual((await server.instance(id)).status, 'cancelled')
  await page.getByRole('button', { name: 'Cancel…' }).click()
  await page.getByLabel(/Now: stop/).check()
  await page.getByRole('dialog').getByText('Copy as command').click()
  await sees(page.getByRole('dialog'), `millrace instance cancel ${id} --now`)
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel', exact: true }).click()
  await server.reaches(id, 'cancelled')
  await sees(page.locator('.story'), 'cancelled')
})

test('12 cancel in bulk: above 100 the number is typed, and what was refused is named', async () => {
  const ids = []
  for (let index = 0; index < 120; index += 1) ids.push(await server.run('booking', { customerId: `bulk-${index}` }))
  await server.reaches(ids.at(-1), 'waiting')
  const page = await console_.open('#/default/instances?workflow=booking&status=waiting')
  await page.locator('tbody tr').first().waitFor()
  await page.getByLabel('all that the filter names').check()
  await page.getByRole('button', { name: 'Cancel…' }).click()
  const dialog = page.getByRole('dialog')
  await sees(dialog, 'Cancel 120 instances?')
  const confirm = dialog.getByRole('button', { name: 'Cancel', exact: true })
  assert.ok(await confirm.isDisabled())
  await dialog.getByLabel(/Type the number 120/).fill('12')
  assert.ok(await confirm.isDisabled())
  await dialog.getByLabel(/Type the number 120/).fill('120')
  const ended = [ids[0], ids[60]]
  for (const id of ended) {
    await server.call('POST', `/v1/ns/default/instances/${id}/cancel`)
    await server.reaches(id, 'cancelled')
  }
  await confirm.click()
  await sees(dialog.getByRole('alert'), '118 cancelled, 2 refused')
  const reasons = await dialog.getByRole('alert').getByRole('listitem').allTextContents()
  assert.deepEqual(reasons.map((text) => text.split(' ')[0]).sort(), ended.sort())
  for (const text of reasons) assert.match(text, /cancelled/)
  await until(async () => (await server.get('/instances/count?by=status&workflow=booking')).items.every((item) => item.status === 'cancelled'))
  await page.context().close()
})

test('13 pause and resume, retry, rerun, restart, delete of an instance', async () => {
  const id = await server.run('booking', { customerId: 'c-130' })
  const page = await console_.open(`#/default/instances/${id}/story`)
  await act(page, 'Pause…', 'Pause')
  await server.reaches(id, 'paused')
  await act(page, 'Resume…', 'Resume')
  await server.reaches(id, 'waiting')
  const failed = await server.run('fails')
  await page.goto(`${console_.base}#/default/instances/${failed}/story`)
  await act(page, 'Retry…', 'Retry')
  await until(async () => (await server.get(`/instances/${failed}/history?kind=revived`)).items.length === 1)
  await act(page, 'Restart…', 'Restart')
  await until(async () => (await server.instance(failed)).run === 2)
  await page.locator('.heading').getByRole('button', { name: 'Rerun from…' }).click()
  assert.equal(await page.getByRole('dialog').getByLabel('State').inputValue(), 'stop')
  await page.getByRole('dialog').getByRole('button', { name: 'Rerun', exact: true }).click()
  await until(async () => (await server.instance(failed)).run === 3)
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await act(page, 'Delete…', 'Delete')
  await page.waitForURL(/#\/default\/instances$/)
  await until(async () => server.instance(failed).then(() => false, () => true))
})

test('13 a workflow and a service are paused and resumed', async () => {
  const page = await console_.open('#/default/workflows/fails/graph')
  await act(page, 'Pause…', 'Pause')
  await until(async () => (await server.get('/workflows/fails')).paused)
  await act(page, 'Resume…', 'Resume')
  await until(async () => !(await server.get('/workflows/fails')).paused)
  await page.goto(`${console_.base}#/default/functions`)
  const row = page.locator('tbody tr', { hasText: 'unsteady' })
  await row.getByRole('button', { name: 'Pause…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Pause', exact: true }).click()
  await until(async () => (await server.get('/functions')).items.find((item) => item.service === 'unsteady').paused)
  await sees(row, 'paused')
  await page.getByRole('columnheader', { name: 'Queued' }).waitFor()
  await row.getByRole('button', { name: 'Resume…' }).click()
  await sees(page.getByRole('dialog'), /Calls that wait are made: \d+\. Those that wait for a slot or the throttle are made in their turn: 0\./)
  await page.getByRole('dialog').getByRole('button', { name: 'Resume', exact: true }).click()
  await until(async () => !(await server.get('/functions')).items.find((item) => item.service === 'unsteady').paused)
})

test('13 retry of selected instances: the dialog warns of Error states, and the result leads to each', async () => {
  const ids = [await server.run('fails'), await server.run('fails')]
  for (const id of ids) await server.reaches(id, 'failed')
  const page = await console_.open('#/default/instances?status=failed')
  for (const id of ids) await page.getByLabel(`Select ${id}`).check()
  await page.getByRole('button', { name: 'Retry…' }).click()
  await sees(page.getByRole('dialog'), 'is an Error state, its retry raises the same error again')
  await page.getByRole('dialog').getByRole('button', { name: 'Retry', exact: true }).click()
  const toast = page.locator('.toast')
  await sees(toast, '2 retried')
  const links = await toast.getByRole('link').evaluateAll((all) => all.map((one) => one.hash))
  assert.deepEqual(links.sort(), ids.map((id) => `#/default/instances/${id}/story`).sort())
  await page.getByLabel('all that the filter names').check()
  await page.getByRole('button', { name: 'Retry…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Retry', exact: true }).click()
  await toast.getByRole('link', { name: 'those that have ended since' }).click()
  await page.waitForURL(/endedSince=/)
  for (const id of ids) await page.locator(`[data-row="${id}"]`).waitFor()
  await page.context().close()
})

test('12 cancel of selected instances: what is refused is named', async () => {
  const [live, ended] = [await server.run('booking', { customerId: 'c-131' }), await server.run('booking', { customerId: 'c-137' })]
  for (const id of [live, ended]) await server.reaches(id, 'waiting')
  const page = await console_.open('#/default/instances')
  await page.getByLabel(`Select ${live}`).check()
  await page.getByLabel(`Select ${ended}`).check()
  await page.getByRole('button', { name: 'Cancel…' }).click()
  await page.getByRole('dialog', { name: 'Cancel 2 instances?' }).waitFor()
  await server.call('POST', `/v1/ns/default/instances/${ended}/cancel`)
  await server.reaches(ended, 'cancelled')
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel', exact: true }).click()
  await sees(page.getByRole('dialog').getByRole('alert'), /1 cancelled, 1 refused/)
  await sees(page.getByRole('dialog').getByRole('alert').getByRole('listitem'), ended)
  // The dialog still is about those that were selected.
  await page.getByRole('dialog', { name: 'Cancel 2 instances?' }).waitFor()
  await server.reaches(live, 'cancelled')
})

test('7 story: a long time without a record is folded', async () => {
  const id = await server.run('short', { customerId: 'c-70' })
  await server.reaches(id, 'complete')
  const page = await console_.open('#/default/instances')
  // A test cannot wait for minutes: the first two records are answered with earlier times.
  await page.route('**/history?*', async (route) => {
    const response = await route.fetch()
    const answer = await response.json()
    const third = Date.parse(answer.items.find((record) => record.number === 3).time)
    for (const record of answer.items) if (record.number <= 2) record.time = new Date(third - 192_000).toISOString()
    await route.fulfill({ response, json: answer })
  })
  await page.goto(`${console_.base}#/default/instances/${id}/story`)
  await sees(page.locator('.story .idle'), /3 m 12 s idle/)
  await page.getByLabel('fold idle time').uncheck()
  await page.locator('.story .idle').waitFor({ state: 'detached' })
  assert.match(page.url(), /fold=0/)
})

test('7 story: the time of the next attempt is shown while a task waits for it', async () => {
  await server.call('PUT', '/v1/ns/default/workflows/later', kLater, { 'content-type': 'application/yaml' })
  attempts = 0
  const id = await server.run('later')
  const page = await console_.open(`#/default/instances/${id}/story`)
  await page.locator('.story .kind-retrying').first().waitFor()
  await until(async () => (await server.instance(id)).nextRetryAt, 'the second attempt is due')
  await sees(page.getByRole('region', { name: 'Now' }), /^in 5\d m/)
})

test('the fold of idle time is in the address', async () => {
  const id = await server.run('booking', { customerId: 'c-132' })
  const page = await console_.open(`#/default/instances/${id}/story?fold=0`)
  assert.equal(await page.getByLabel('fold idle time').isChecked(), false)
  await page.getByLabel('fold idle time').check()
  assert.doesNotMatch(page.url(), /fold/)
})

test('an action on a filter is not offered for statuses to which it does not apply', async () => {
  const page = await console_.open('#/default/instances?status=failed')
  await page.locator('tbody tr').first().waitFor()
  await page.getByLabel('all that the filter names').check()
  for (const name of ['Pause…', 'Resume…', 'Cancel…']) assert.ok(await page.getByRole('button', { name }).isDisabled(), name)
  for (const name of ['Retry…', 'Restart…', 'Delete…']) assert.ok(await page.getByRole('button', { name }).isEnabled(), name)
  await page.context().close()
})

test('what an action did covers no row: the page can be scrolled below it; the buttons of the bar are wide enough', async () => {
  const id = await server.run('booking', { customerId: 'c-135' })
  for (const width of [1280, 320]) {
    const page = await console_.open('#/default/instances', { width })
    await page.getByLabel(`Select ${id}`).check()
    const verb = width === 320 ? 'Resume' : 'Pause'
    await page.getByRole('button', { name: `${verb}…` }).click()
    await page.getByRole('dialog').getByRole('button', { name: verb, exact: true }).click()
    await page.locator('.toast').waitFor()
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
    const [end, toast] = await Promise.all([page.locator('main .more').boundingBox(), page.locator('.toast').boundingBox()])
    assert.ok(toast.y + toast.height <= end.y, `${width}: ${toast.y + toast.height} is below ${end.y}`)
    const narrow = await page.locator('header.bar button').evaluateAll((all) => all.filter((one) => one.offsetWidth < 24).map((one) => one.textContent))
    assert.deepEqual(narrow, [])
    await page.context().close()
  }
})

test('13 delete: the action and its commands are for instances that have ended', async () => {
  const ended = await server.run('fails')
  await server.reaches(ended, 'failed')
  const live = await server.run('booking', { customerId: 'c-136' })
  await server.reaches(live, 'waiting')
  const page = await console_.open('#/default/instances?status=waiting,failed')
  await page.locator('tbody tr').first().waitFor()
  await page.getByLabel('all that the filter names').check()
  await page.getByRole('button', { name: 'Delete…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Copy as command').click()
  for (const name of ['Command line', 'HTTP call']) {
    const text = await dialog.getByLabel(name).textContent()
    assert.ok(text.includes(ended) && !text.includes(live), text)
  }
  await page.context().close()
})

test('12 cancel: the number is that of the filter, also of its start, and the counts say what they leave out', async () => {
  const early = await server.run('booking', { customerId: 'c-133' })
  const { startedAt } = await server.instance(early)
  const late = await until(async () => { const one = await server.instance(await server.run('booking', { customerId: 'c-134' })); return Date.parse(one.startedAt) > Date.parse(startedAt) + 1 && one }, 'a later start')
  await server.reaches(late.id, 'waiting')
  const filter = `workflow=booking&status=waiting&since=${late.startedAt}`
  const [{ items }, counts] = await Promise.all([server.get(`/instances?${filter}`), server.get('/instances/count?by=status&workflow=booking&status=waiting')])
  assert.ok(items.length < counts.items[0].count)
  const page = await console_.open(`#/default/instances?${filter}`)
  await page.locator('tbody tr').first().waitFor()
  await sees(page.getByLabel('Counts by status'), /exact, counted without “Started”/)
  await page.getByLabel('all that the filter names').check()
  await page.getByRole('button', { name: 'Cancel…' }).click()
  await sees(page.getByRole('dialog'), `Cancel ${items.length} instance${items.length === 1 ? '' : 's'}?`)
  await page.context().close()
})

test('times in the texts of records and errors are written by the same clock as the times of the records', async () => {
  const definition = "id: tries\nretries: {initialInterval: 1s, maximumAttempts: 9}\nstates:\n- {id: only, type: noop, transform: 'jq(error(\"no\"))'}\n"
  await server.call('PUT', '/v1/ns/default/workflows/tries', definition, { 'content-type': 'application/yaml' })
  // The timeout may pass before the first attempt has failed, if other programs have the processor: then a longer one is tried.
  let seconds = 1
  const { id, error, items } = await until(async () => {
    seconds *= 2
    const started = await server.call('POST', `/v1/ns/default/workflows/tries/start?executionTimeout=${seconds}s`, {})
    const ended = await server.reaches(started.id, 'timedout')
    const history = await server.get(`/instances/${started.id}/history`)
    return history.items.some((record) => record.kind === 'retrying') && { ...ended, ...history }
  }, 'an instance that is tried again, and then is timed out')
  const [, end] = /(\d{4}-\S+Z)/.exec(error.msg)
  const { number, detail } = items.find((record) => record.kind === 'retrying')
  const context = await console_.newContext({ timezoneId: 'Asia/Tokyo', viewport: { width: 1280, height: 900 } })
  const page = await console_.open(`#/default/instances/${id}/story`, { context })
  const record = page.locator(`[data-record="${number}"] .detail time`)
  const clock = (time, hours) => new Date(Date.parse(time) + hours * 3_600_000).toISOString().slice(11, 23)
  await record.waitFor()
  assert.ok((await record.textContent()).endsWith(clock(detail.at, 9)))
  const now = page.locator('section[aria-labelledby="now-title"] p.no')
  assert.ok((await now.textContent()).includes(clock(end, 9)), await now.textContent())
  assert.doesNotMatch(await page.getByRole('main').evaluate((main) => main.innerText), /\d{4}-\d\d-\d\dT/)
  await page.getByRole('button', { name: 'Local time' }).click()
  await until(async () => (await record.textContent()).endsWith(clock(detail.at, 0)))
  assert.ok((await now.textContent()).includes(clock(end, 0)), await now.textContent())
  await context.close()
})

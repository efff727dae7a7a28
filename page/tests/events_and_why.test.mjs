// Acceptance checks 1 to 6: the address is the state, why an event had no effect, and the test event.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, sees, settled, until } from './harness.mjs'

const console_ = new Console()
const { server } = console_
before(() => console_.start())
after(() => console_.stop())

test('1 deep link: the filters and rows are those of the address, and Back and Forward step through filters', async () => {
  await server.run('fails')
  await server.run('fails')
  await server.run('booking', { customerId: 'c-1' })
  const page = await console_.open('#/default/instances?status=failed&workflow=fails')
  await page.locator('tbody tr').nth(1).waitFor()
  assert.equal(await page.locator('tbody tr').count(), 2)
  assert.equal(await page.getByRole('combobox', { name: 'Workflow' }).inputValue(), 'fails')
  assert.equal(await page.getByRole('group', { name: 'Status' }).getByRole('button', { name: 'failed' }).getAttribute('aria-pressed'), 'true')
  await page.getByRole('combobox', { name: 'Workflow' }).selectOption('booking')
  await page.getByText('No instance fits all filters').waitFor()
  await page.goBack()
  await page.locator('tbody tr').nth(1).waitFor()
  assert.equal(await page.getByRole('combobox', { name: 'Workflow' }).inputValue(), 'fails')
  await page.goForward()
  await page.getByText('No instance fits all filters').waitFor()
  await page.getByRole('button', { name: 'Drop “Status” failed' }).click()
  await page.locator('tbody tr').first().waitFor()
})

test('2 why, case: the card of an event shows which predicate differs in case only', async () => {
  const id = await server.run('booking', { customerId: 'c-42' })
  const event = await server.send({ type: 'guestbooking', customerid: 'C-42' })
  const page = await console_.open('#/default/events')
  const row = page.locator(`tr[data-row="${event.sequence}"]`)
  await sees(row, 'no effect')
  await row.getByRole('link', { name: 'no effect' }).click()
  await sees(page, 'No listener took it.')
  const card = page.locator('.judged', { has: page.locator(`[title="${id}"]`) })
  assert.equal(await card.getAttribute('data-verdict'), 'predicate')
  const source = card.locator('li', { hasText: 'source' })
  assert.match(await source.getAttribute('class'), /ok/)
  const customer = card.locator('li', { hasText: 'customerid' })
  assert.match(await customer.textContent(), /does not hold.*customerid is "c-42", got "C-42".*case only/)
  await card.getByRole('button', { name: 'Fix with customerid=c-42' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Try' }).click()
  await dialog.locator('.judged[data-verdict="woke"]').waitFor()
  assert.equal((await server.instance(id)).status, 'waiting')
  await dialog.getByRole('button', { name: 'Send' }).click()
  await server.reaches(id, 'complete')
})

test('why: the nearest listener is shown, and those of other customers are folded; the remedy comes before the replay', async () => {
  for (let number = 0; number < 4; number += 1) await server.run('booking', { customerId: `fold-${number}` })
  const event = await server.send({ type: 'guestbooking', customerid: 'FOLD-2' })
  const page = await console_.open(`#/default/events/${event.sequence}`)
  await settled(page)
  assert.equal(await page.locator('.judged:visible').count(), 1)
  await sees(page.locator('.judged:visible'), 'Fix with customerid=fold-2, and send…')
  await page.getByText(/^\d+ more that are no nearer$/).click()
  assert.ok((await page.locator('.judged:visible').count()) >= 4)
  assert.deepEqual(await page.locator('.heading .actions > .button, .heading .actions > button').allTextContents(), ['Fix by hand, and send…', 'Replay unchanged…'])
  await page.getByRole('button', { name: 'Replay unchanged…' }).click()
  await sees(page.getByRole('dialog'), `Replay event ${event.sequence} unchanged?`)
})

const kTeller = `id: teller
states:
  - {id: say, type: generateEvent, event: {type: teller.said, source: teller}}
`

test('events: one that an instance sent and no listener took is no miss', async () => {
  await server.call('PUT', '/v1/ns/default/workflows/teller', kTeller, { 'content-type': 'application/yaml' })
  const id = await server.run('teller')
  const event = await until(async () => (await server.get('/events?type=teller.said')).items.find((item) => item.applied))
  const page = await console_.open('#/default/events')
  const row = page.locator(`tr[data-row="${event.sequence}"]`)
  await sees(row, /sent by .*no listener here took it/)
  await row.locator(`a[title="${id}"]`).waitFor()
  assert.equal(await row.getByText('no effect').count(), 0)
})

test('3 why, data: the hint says that the data has the member, not the attributes', async () => {
  await server.run('booking', { customerId: 'c-43' })
  const event = await server.send({ type: 'guestbooking', data: { customerId: 'c-43' } })
  const page = await console_.open(`#/default/events/${event.sequence}`)
  const card = page.locator('.judged', { hasText: 'c-43' })
  await card.locator('.hint').waitFor()
  assert.match(await card.locator('li', { hasText: 'customerid' }).textContent(), /lacks this attribute.*data/)
})

test('4 why, before: an event that came too early is named with both sequences, and can be sent again', async () => {
  const event = await server.send({ type: 'guestbooking', customerid: 'c-44' })
  const id = await server.run('booking', { customerId: 'c-44' })
  const page = await console_.open(`#/default/instances/${id}/story`)
  await page.getByRole('link', { name: 'Why has nothing woken it?' }).click()
  const card = page.locator('.judged[data-verdict="before"]', { hasText: `#${event.sequence} ` })
  await card.waitFor()
  assert.match(await card.textContent(), new RegExp(`takes events after #\\d+, and this one is #${event.sequence}`))
  await card.getByRole('button', { name: 'Send it again to this instance only' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
  await server.reaches(id, 'complete')
})

test('events: a filter that differs from an event in case only names the event, and looks for its value', async () => {
  const event = await server.send({ type: 'case.sent', orderid: 'O-1742' })
  const page = await console_.open('#/default/events?type=case.sent&attribute=orderid&value=o-1742')
  await sees(page, 'No stored event fits all filters')
  const hint = page.locator('.notes', { hasText: 'fits apart from upper and lower case' })
  assert.match(await hint.textContent(), new RegExp(`The event #${event.sequence} fits .*orderid=O-1742`))
  await hint.getByRole('button', { name: 'Look for O-1742' }).click()
  await page.locator(`tr[data-row="${event.sequence}"]`).waitFor()
  await page.waitForURL(/attribute=orderid&value=O-1742/)
  await hint.waitFor({ state: 'detached' })
})

test('1 deep link: instances by the event for which they wait, and what they ask of it', async () => {
  const id = await server.run('booking', { customerId: 'c-49' })
  await server.run('short', { customerId: 'c-49' })
  const page = await console_.open('#/default/instances?waitsFor=guestbooking')
  const row = page.locator(`tr[data-row="${id}"]`)
  await sees(row, 'guestbooking')
  assert.match(await row.textContent(), /customerid = "c-49"/)
  assert.match(await row.textContent(), /source ~ \^bookings\\\./)
  assert.equal(await page.locator('tbody tr', { hasText: 'short' }).count(), 0)
  await page.getByText('Copy as command').click()
  await sees(page, 'millrace instance list --waits-for guestbooking')
  const field = page.getByRole('textbox', { name: 'Event type it waits for' })
  assert.equal(await field.inputValue(), 'guestbooking')
  await field.fill('nothing.sends.it')
  await field.press('Enter')
  await page.waitForURL(/waitsFor=nothing\.sends\.it/)
  await page.getByRole('button', { name: 'Drop “Event type it waits for” nothing.sends.it' }).click()
  await row.waitFor()
})

test('why: the page of an event says what came of its replays, and that of an instance for what it waits', async () => {
  const id = await server.run('booking', { customerId: 'c-46' })
  const event = await server.send({ type: 'guestbooking', customerid: 'c-47' })
  const { sequence } = await server.call('POST', `/v1/ns/default/events/${event.sequence}/replay`, { attributes: { customerid: 'c-46' } })
  await server.reaches(id, 'complete')
  const page = await console_.open(`#/default/events/${event.sequence}`)
  const replay = page.getByText(`It was sent again as #${sequence}`)
  assert.match(await replay.textContent(), /: woke/)
  assert.equal(await replay.getByRole('link').nth(1).getAttribute('title'), id)
  const other = await server.run('booking', { customerId: 'c-48' })
  const why = await console_.open(`#/default/instances/${other}/why`)
  const part = why.getByRole('region', { name: 'What it waits for' })
  await sees(part, 'waits for guestbooking')
  await sees(part, 'customerid is "c-48"')
  await sees(part, /as of commit \d+ and event #\d+/)
})

test('5 why, ended: after a timeout the verdict is after, with the moment', async () => {
  const id = await server.run('short', { customerId: 'c-45' })
  await server.reaches(id, 'complete')
  const event = await server.send({ type: 'briefly', customerid: 'c-45' })
  const page = await console_.open(`#/default/events/${event.sequence}?instance=${id}`)
  const card = page.locator('.judged[data-verdict="after"]')
  await card.waitFor()
  assert.match(await card.textContent(), /timed out|timeout/)
  assert.match(await card.textContent(), /\d\d:\d\d:\d\d/)
})

test('6 try: names the instance, sends nothing; Send wakes it', async () => {
  const id = await server.run('booking', { customerId: 'c-46' })
  const newest = (await server.get('/events?limit=1')).newest
  const page = await console_.open(`#/default/instances/${id}/story`)
  await page.getByRole('link', { name: 'Send a test event' }).click()
  const text = page.getByLabel(/A CloudEvent in JSON/)
  const note = page.getByText('Fill in source: it must match ^bookings\\.')
  await note.waitFor()
  assert.equal(await text.getAttribute('aria-invalid'), 'true')
  await text.fill((await text.inputValue()).replace('"source": ""', '"source": "bookings.page"'))
  await note.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Try: nothing is sent' }).click()
  const card = page.locator('.judged[data-verdict="woke"]')
  await card.waitFor()
  assert.equal(await card.getByRole('link').first().getAttribute('title'), id)
  assert.equal((await server.instance(id)).status, 'waiting')
  assert.equal((await server.get('/events?limit=1')).newest, newest)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await server.reaches(id, 'complete')
  await until(async () => (await server.get('/events?limit=1')).newest > newest)
})

/** The card of an event on the page of an instance. */
const cardOf = (page, { sequence }) => page.locator(`.judged:has(> div a[href$="/events/${sequence}"])`)

/** Sends an event that is stored at least a millisecond after another. */
async function sendAfter(event, earlier) {
  return until(async () => { const sent = await server.send(event); return Date.parse(sent.time) > Date.parse(earlier.time) && sent }, 'a later event')
}

test('why: a window of time shows the events that were stored in it, and one event ends the window', async () => {
  const id = await server.run('booking', { customerId: 'c-47' })
  const early = await server.send({ type: 'guestbooking', customerid: 'c-50' })
  const late = await sendAfter({ type: 'guestbooking', customerid: 'c-51' }, early)
  const page = await console_.open(`#/default/instances/${id}/why`)
  await cardOf(page, early).waitFor()
  await cardOf(page, late).waitFor()
  await page.getByLabel('Until', { exact: true }).fill(late.time)
  await page.keyboard.press('Enter')
  await cardOf(page, late).waitFor({ state: 'detached' })
  await cardOf(page, early).waitFor()
  await page.getByLabel('Or about those since').fill(early.time)
  await page.keyboard.press('Enter')
  await sees(page, `since ${early.time} until ${late.time}`)
  await cardOf(page, early).waitFor()
  assert.equal(await cardOf(page, late).count(), 0)
  await page.getByText('Copy as command').last().click()
  await sees(page, `millrace instance why ${id} --since ${early.time} --until ${late.time}`)
  // The address is the state.
  await page.reload()
  await cardOf(page, early).waitFor()
  assert.equal(await page.getByLabel('Until', { exact: true }).inputValue(), late.time)
  await page.getByLabel('Ask about the event').fill(String(late.sequence))
  await page.keyboard.press('Enter')
  await cardOf(page, late).waitFor()
  assert.doesNotMatch(page.url(), /since=|until=/)
})

test('why: a time that is none is refused in the words of the API', async () => {
  const id = await server.run('booking', { customerId: 'c-48' })
  const page = await console_.open(`#/default/instances/${id}/why`)
  await page.getByLabel('Or about those since').fill('yesterday')
  await page.keyboard.press('Enter')
  await sees(page.getByRole('alert'), 'time.malformed')
})

test('why: the page says since when it looked, and looks further back', async () => {
  const id = await server.run('booking', { customerId: 'c-49' })
  const early = await server.send({ type: 'guestbooking', customerid: 'c-52' })
  // They are farther from what the instance asks for than the early one, so each look shows that one if it reads it.
  const crowd = Array.from({ length: 200 }, (_, index) => JSON.stringify({ specversion: '1.0', id: `crowd-${index}`, source: 'other', type: 'guestbooking', customerid: 'other' }))
  await server.publish('millrace.events.default.guestbooking', crowd)
  await until(async () => (await server.get('/events?id=crowd-199')).items.find((item) => item.applied))
  const page = await console_.open(`#/default/instances/${id}/why`)
  await settled(page)
  await sees(page, /This looks back to .*There are older messages/)
  assert.equal(await cardOf(page, early).count(), 0)
  // The server ends a look after some time, so one more may be needed.
  await until(async () => {
    if ((await cardOf(page, early).count()) > 0) return true
    await Promise.all([page.waitForResponse((response) => response.url().includes('cursor=')), page.getByRole('button', { name: 'Look further back' }).click()])
    await settled(page)
    return false
  }, 'the event before the crowd')
  assert.match(page.url(), /cursor=\d+/)
  await sees(page, /among the next older \d+ messages/)
})

test('groups: an incomplete group shows what is missing, and can be dropped', async () => {
  await server.send({ type: 'pair.first', orderid: 'o-1' })
  const page = await console_.open('#/default/groups')
  const row = page.locator('tbody tr', { hasText: 'orderid=o-1' })
  await sees(row, 'pair.second: missing')
  await row.getByRole('button', { name: 'Drop' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Drop' }).click()
  await sees(page, 'No incomplete groups')
  await until(async () => (await server.get('/dlq')).items.some((item) => item.reason === 'start.group_closed'))
})

test('replay of a range: the events are counted first, and sent when it is confirmed', async () => {
  await server.send({ type: 'range.one' })
  await server.send({ type: 'range.one' })
  const page = await console_.open('#/default/events/replays?type=range.one')
  await page.getByRole('button', { name: 'Count: nothing is sent' }).click()
  const counted = page.locator('tbody tr', { hasText: 'dry run' })
  await counted.getByText('done').waitFor()
  assert.match(await counted.textContent(), /range\.one/)
  assert.equal((await server.get('/events?type=range.one')).items.length, 2)
  await page.getByRole('button', { name: 'Replay…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Replay', exact: true }).click()
  await until(async () => (await server.get('/events?type=range.one')).items.length === 4)
})

test('commands: those of a list have its filters, Send has its own, and the overview leads to the groups that it counts', async () => {
  const page = await console_.open('#/default/instances?until=24h')
  const command = async (label, summary = 'Copy as command') => {
    await settled(page)
    const part = page.locator('.as-command', { has: page.locator('summary', { hasText: summary }) })
    await part.locator('summary').click()
    return part.getByLabel(label).textContent()
  }
  assert.match(await command('HTTP call'), /until=\d{4}-\d\d-\d\dT/)
  await console_.show(page, 'default/dead?reason=start.group_closed')
  assert.equal(await command('Command line'), `millrace dlq list --reason start.group_closed --url ${console_.base.slice(0, -1)}`)
  await console_.show(page, 'default/events/try?type=pair.first')
  assert.equal(await command('Command line', 'Copy “Send” as command'), `millrace event send -f event.json --url ${console_.base.slice(0, -1)}`)
  await server.send({ type: 'pair.first', orderid: 'o-2' })
  await console_.show(page, 'default')
  await page.getByRole('link', { name: /groups? of pair/ }).click()
  await page.waitForURL(/groups\?workflow=pair/)
  await page.locator('tbody tr', { hasText: 'orderid=o-2' }).waitFor()
})

test('why: an instance that waits for a jq worker has a step to make, and is not said to wait for nothing', async () => {
  await server.call('PUT', '/v1/ns/default/workflows/slow', "id: slow\nstates:\n- {id: count, type: noop, transform: 'jq([range(100000000)] | length)'}\n", { 'content-type': 'application/yaml' })
  const id = await server.run('slow')
  const page = await console_.open(`#/default/instances/${id}/why`)
  const part = page.getByRole('region', { name: 'What it waits for' })
  await sees(part, /It has a step to make.*1 with a jq worker, 0 that wait for one/)
  assert.equal(await part.getByText('It waits for no event now').count(), 0)
  await server.call('POST', `/v1/ns/default/instances/${id}/cancel`)
})

// The page of an event that woke nothing: what it was compared with, and what it proposes.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, sees } from './harness.mjs'

const console_ = new Console()
const { server } = console_
before(() => console_.start())
after(() => console_.stop())

test('an old event that woke nothing was compared with what waits now, which the page says', async () => {
  const event = await server.send({ type: 'guestbooking', customerid: 'past' })
  const id = await server.run('booking', { customerId: 'other' })
  const page = await console_.open('#/default')
  // A minute passes for the browser.
  await page.clock.install({ time: Date.now() })
  await console_.show(page, `default/events/${event.sequence}`)
  assert.equal(await page.getByText('Compared with what waits now').count(), 0)
  await page.clock.fastForward('01:00')
  await page.getByRole('button', { name: 'Ask' }).click()
  const note = page.locator('.notes', { hasText: 'Compared with what waits now' })
  assert.match(await note.textContent(), /waits now \(\d\d:\d\d:\d\d\)\. When the event came \(\d\d:\d\d:\d\d\), other instances may have waited\./)
  await sees(note, `millrace instance why ID --event ${event.sequence}`)
  // The verdict on one instance is about its waits that are over, too.
  await console_.show(page, `default/events/${event.sequence}?instance=${id}`)
  assert.equal(await note.count(), 0)
  await page.context().close()
})

test('once a replay has had an effect, the page proposes no correction, and no instance that has gone on waits', async () => {
  const id = await server.run('booking', { customerId: 'gone-on' })
  const event = await server.send({ type: 'guestbooking', customerid: 'GONE-ON' })
  const page = await console_.open(`#/default/events/${event.sequence}`)
  const card = page.locator('.judged', { has: page.locator(`[title="${id}"]`) })
  await sees(card, /waits since \d\d:\d\d:\d\d/)
  await card.getByRole('button', { name: 'Fix with customerid=gone-on' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
  await server.reaches(id, 'complete')
  await sees(page, /It was sent again as #\d+: woke/)
  await sees(page, 'no correction is proposed')
  assert.equal(await page.getByRole('button', { name: /^Fix with/ }).count(), 0)
  assert.equal(await card.getByText(/waits since/).count(), 0)
  await page.context().close()
})

test('a type that is misspelt is corrected without an instance', async () => {
  const event = await server.send({ type: 'Order.placed' })
  const page = await console_.open(`#/default/events/${event.sequence}`)
  const note = page.locator('.notes', { hasText: 'differs in upper and lower case only: order.placed' })
  await note.getByRole('button', { name: 'Fix with type=order.placed, and send…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Try' }).click()
  await dialog.locator('.judged[data-verdict="started"]').waitFor()
  await dialog.getByRole('button', { name: 'Send' }).click()
  await sees(page, /It was sent again as #\d+: started/)
  assert.equal(await page.getByRole('button', { name: /^Fix with/ }).count(), 0)
  const typo = await server.send({ type: 'order.placd' })
  await console_.show(page, `default/events/${typo.sequence}`)
  await sees(page, 'A similar type is waited for: order.placed')
  await page.getByRole('button', { name: 'Fix with type=order.placed, and send…' }).waitFor()
  // A test event gets the type that is waited for.
  await console_.show(page, 'default/events/try?type=Order.placed')
  await page.getByRole('button', { name: 'Try: nothing is sent' }).click()
  await page.getByRole('button', { name: 'Fix with type=order.placed' }).click()
  assert.match(await page.getByLabel(/A CloudEvent in JSON/).inputValue(), /"type": "order.placed"/)
  await page.context().close()
})

test('the command that sends what an instance waits for has each attribute that it asks for', async () => {
  await server.call('PUT', '/v1/ns/default/workflows/leg', 'id: leg\nstates:\n- {id: wait, type: consumeEvent, event: {type: leg.answered, context: {leg: jq(.leg), source: desk, subject: "^a"}}}\n', { 'content-type': 'application/yaml' })
  const id = await server.run('leg', { leg: 'FRA-SYD' })
  const page = await console_.open(`#/default/instances/${id}/why`)
  await sees(page.locator('.empty'), "millrace event send --type leg.answered --source desk --attr leg=FRA-SYD --subject SUBJECT --data '{}'")
  await page.locator('.empty').getByRole('link', { name: 'Try one' }).click()
  const text = page.getByLabel(/A CloudEvent in JSON/)
  for (const member of ['"leg": "FRA-SYD"', '"source": "desk"', '"subject": ""']) assert.ok((await text.inputValue()).includes(member), member)
  await sees(page, 'Fill in subject: it must match ^a.')
  await page.context().close()
})

test('a replay that is unchanged has no attributes to set, and a fix names what is wrong with them', async () => {
  await server.run('booking', { customerId: 'c-80' })
  const event = await server.send({ type: 'guestbooking', customerid: 'C-80' })
  const page = await console_.open(`#/default/events/${event.sequence}`)
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Replay unchanged…' }).click()
  await sees(dialog, `Replay event ${event.sequence} unchanged?`)
  assert.equal(await dialog.getByLabel('Attributes to set').count(), 0)
  await dialog.getByRole('link', { name: 'fix it by hand' }).waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('button', { name: 'Fix with customerid=c-80' }).first().click()
  await sees(dialog, `Fix event ${event.sequence}, and send it?`)
  const field = dialog.getByLabel('Attributes to set')
  for (const [text, says] of [['customerId=c-80', 'write customerid'], ['customerid', '“customerid” is not NAME=VALUE'], ['', 'no attribute is set']]) {
    await field.fill(text)
    await sees(dialog.getByRole('alert'), says)
    assert.ok(await dialog.getByRole('button', { name: 'Send' }).isDisabled())
  }
  await field.fill('customerid=c-80')
  await dialog.getByRole('button', { name: 'Try' }).click()
  await dialog.locator('.judged[data-verdict="woke"]').waitFor()
  await page.context().close()
})

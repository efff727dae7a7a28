// Sources and inbound webhooks: how far they are read, what their messages became, and what they would become.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { Console, sees, until } from './harness.mjs'

const kSettings = { stream: 'ORDERS', begin: 'all', mapping: { type: 'order.placed', subject: 'jq(.data.customer)' } }
const kIs = 1
const kLag = 2
const kPosition = 3
const kEvents = 4
const kDeadLetters = 5

const console_ = new Console()
const { server } = console_
before(() => console_.start())
after(() => console_.stop())

/** Publishes messages on the subject of a stream, and waits until it has `count`. */
async function fill(stream, subject, messages, count) {
  for (const message of messages) await server.publish(subject, typeof message === 'string' ? message : JSON.stringify(message))
  await until(async () => (await server.request(`$JS.API.STREAM.INFO.${stream}`, {})).state.messages === count, `${stream} has ${count} messages`)
}

/** Waits until a source has applied the messages up to a sequence. */
function applied(name, sequence) {
  return until(async () => (await server.get(`/sources/${name}`)).position === sequence, `${name} has applied ${sequence}`)
}

/** Waits until a cell of a row has a text. */
function shows(row, cell, text) {
  return until(async () => (await row.locator('td').nth(cell).textContent()).trim() === text, `cell ${cell} is ${text}`)
}

async function placedCount() {
  return (await server.get('/instances?workflow=placed')).items.length
}

test('empty: the page says what a source and an inbound webhook are, and how one gets here', async () => {
  const page = await console_.open('#/default')
  await page.locator('h1').waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('s')
  await page.waitForURL(/default\/sources$/)
  await sees(page, 'No sources.')
  await sees(page, 'millrace source apply orders')
  await sees(page, 'No inbound webhooks.')
  await sees(page, 'millrace namespace create default')
  await page.goto(`${console_.base}#/default/webhooks/git`)
  await sees(page, 'have no inbound webhook git')
  assert.equal(await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Sources' }).getAttribute('aria-current'), 'page')
})

test('list: state, lag, position, dead letters and the latest error of a source; pause and resume show their commands', async () => {
  await server.makeStream('ORDERS', ['shop.orders.*'])
  await fill('ORDERS', 'shop.orders.eu', [{ customer: 'Ada' }, 'no order', { customer: 'Bob' }], 3)
  await server.applySource('orders', kSettings)
  await applied('orders', 3)
  const page = await console_.open('#/default/sources')
  const row = page.locator('tr[data-row="orders"]')
  await shows(row, kIs, 'reading')
  await shows(row, kLag, '0')
  await shows(row, kPosition, '3')
  await shows(row, kEvents, '2')
  await shows(row, kDeadLetters, '1')
  await sees(row, /^message 2:/)
  assert.match(await row.getByRole('link', { name: 'mapping.failed' }).getAttribute('href'), /dead\?reason=mapping\.failed$/)
  await row.getByRole('button', { name: 'Pause…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Copy as command').click()
  await sees(dialog, 'millrace source pause orders')
  await sees(dialog, /curl -X POST .*\/v1\/ns\/default\/sources\/orders\/pause/)
  await dialog.getByRole('button', { name: 'Pause', exact: true }).click()
  await shows(row, kIs, 'paused')
  await shows(row, kLag, 'not known')
  assert.equal((await server.get('/sources/orders')).paused, true)
  await fill('ORDERS', 'shop.orders.eu', [{ customer: 'Cleo' }], 4)
  await row.getByRole('button', { name: 'Resume…' }).click()
  await dialog.getByRole('button', { name: 'Resume', exact: true }).click()
  await shows(row, kPosition, '4')
  await shows(row, kIs, 'reading')
  assert.equal(await placedCount(), 3)
})

test('what a message became: a source lists its events, and an event links to its source and names its message', async () => {
  const page = await console_.open('#/default/sources')
  await page.getByRole('link', { name: 'orders', exact: true }).click()
  await page.waitForURL(/sources\/orders$/)
  const rows = page.getByRole('region', { name: 'The newest events' }).locator('tbody tr')
  await rows.nth(2).waitFor()
  await sees(rows.first(), 'started')
  await rows.first().getByRole('link', { name: /^#/ }).click()
  await page.waitForURL(/events\/\d+$/)
  await sees(page, '4 of the stream ORDERS')
  await page.getByRole('link', { name: '/v1/ns/default/sources/orders' }).click()
  await page.waitForURL(/sources\/orders$/)
  await sees(page, 'ORDERS')
})

test('try: the newest messages as events with what they would start, and nothing is published', async () => {
  await server.call('POST', '/v1/ns/default/sources/orders/pause')
  await fill('ORDERS', 'shop.orders.us', [{ customer: 'Dora' }], 5)
  const newest = (await server.get('/events?limit=1')).newest
  const page = await console_.open('#/default/sources')
  await page.locator('tr[data-row="orders"]').getByRole('link', { name: 'Try' }).click()
  await page.waitForURL(/sources\/orders\/try$/)
  const message = (sequence) => page.locator(`[data-sequence="${sequence}"]`)
  await message(5).locator('strong', { hasText: 'started' }).waitFor()
  await message(5).getByRole('link', { name: 'placed' }).waitFor()
  await sees(message(5), 'Not applied yet')
  await sees(message(5), 'shop.orders.us')
  await message(5).getByText('The event', { exact: true }).click()
  await sees(message(5), /"subject": "Dora"/)
  await sees(message(2), 'would become a dead letter')
  assert.match(await message(2).getByRole('link', { name: 'Dead letters with this reason' }).getAttribute('href'), /reason=mapping\.failed$/)
  await sees(message(1), 'dropped as a duplicate')
  assert.equal(await placedCount(), 3)
  assert.equal((await server.get('/events?limit=1')).newest, newest)
  await message(1).getByRole('link', { name: 'What became of it' }).click()
  await page.waitForURL(/events\?id=ORDERS-1-/)
  await sees(page.locator('tbody tr'), 'started')
  assert.equal(await page.locator('tbody tr').count(), 1)
})

test('try: other settings are tried, and applied when they are confirmed', async () => {
  const page = await console_.open('#/default/sources/orders/try')
  const text = page.getByLabel(/^The settings of the source/)
  const tryIt = page.getByRole('button', { name: 'Try: nothing is published' })
  await page.locator('[data-sequence="5"]').waitFor()
  const stored = await text.inputValue()
  await text.fill('{"stream": 7}')
  await tryIt.click()
  await sees(page.getByRole('alert'), 'settings.invalid')
  await text.fill(stored.replace('order.placed', 'order.placd'))
  await tryIt.click()
  const message = page.locator('[data-sequence="5"]')
  await sees(message, 'No start and no waiting instance would take it.')
  await message.getByRole('link', { name: 'order.placed' }).waitFor()
  assert.equal((await server.get('/sources/orders')).settings.mapping.type, 'order.placed')
  await text.fill(JSON.stringify({ ...JSON.parse(stored), rate: 4000 }))
  await page.getByRole('button', { name: 'Apply…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Copy as command').click()
  await sees(dialog, /^millrace source apply orders --settings/)
  await dialog.getByRole('button', { name: 'Apply', exact: true }).click()
  await sees(page, 'it continues where it was')
  assert.equal((await server.get('/sources/orders')).rate, 4000)
  assert.equal((await server.get('/sources/orders')).paused, true)
})

test('a source that is deleted is gone, and its stream stays', async () => {
  await server.makeStream('OTHER', ['other.*'])
  await server.applySource('other', { stream: 'OTHER' })
  const page = await console_.open('#/default/sources/other')
  await page.locator('.heading').getByRole('button', { name: 'Delete…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await page.waitForURL(/default\/sources$/)
  await page.locator('tr[data-row="orders"]').waitFor()
  assert.equal(await page.locator('tr[data-row="other"]').count(), 0)
  assert.equal((await server.request('$JS.API.STREAM.INFO.OTHER', {})).config.name, 'OTHER')
})

test('a source with a stream that millrace made: the question before it is deleted says that the stream is deleted too', async () => {
  await server.applySource('own', { subjects: ['own.*'], mapping: { type: 'own.seen' } })
  const { stream } = await server.get('/sources/own')
  const page = await console_.open('#/default/sources/own')
  await page.locator('.heading').getByRole('button', { name: 'Delete…' }).click()
  await sees(page.getByRole('dialog'), `The stream ${stream}, which millrace made for the source, is deleted too`)
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await page.waitForURL(/default\/sources$/)
  await until(async () => (await server.request(`$JS.API.STREAM.INFO.${stream}`, {})).error !== undefined, 'the stream is gone')
})

test('inbound webhooks: the URL, the form and the secrets are shown, and what a request became', async () => {
  const key = 'key-of-the-test'
  await server.setWebhook(key)
  const page = await console_.open('#/default/sources')
  const row = page.locator('tr[data-row="git"]')
  await sees(row, 'github')
  await sees(row, 'git-key')
  await row.getByRole('link', { name: 'git', exact: true }).click()
  await page.waitForURL(/webhooks\/git$/)
  await sees(page, `${console_.base}v1/ns/default/hooks/git`)
  await sees(page, 'no events of this inbound webhook')
  assert.ok(!(await page.content()).includes(key))
  const body = '{"repository": "mill/race"}'
  const signature = createHmac('sha256', key).update(body).digest('hex')
  await server.call('POST', '/v1/ns/default/hooks/git', body, { 'x-hub-signature-256': `sha256=${signature}` })
  const event = page.getByRole('region', { name: 'The newest events' }).locator('tbody tr')
  await sees(event, 'started')
  await event.getByRole('link', { name: /^#/ }).click()
  await page.getByRole('link', { name: '/v1/ns/default/hooks/git' }).click()
  await page.waitForURL(/webhooks\/git$/)
})

test('inbound webhooks: a request is tried with and without its signature, and nothing is published', async () => {
  const key = 'key-of-the-test'
  await server.setWebhook(key)
  const accepted = (await server.get('/hooks/git')).accepted
  const events = (await server.get('/events?source=/v1/ns/default/hooks/git')).items.length
  const page = await console_.open('#/default/webhooks/git')
  const form = page.getByRole('form', { name: 'Request' })
  const tryIt = form.getByRole('button', { name: 'Try: nothing is published' })
  const tried = page.getByRole('article', { name: 'What the request would become' })
  const body = '{"repository": "mill/tried"}'
  await form.getByLabel('Body').fill(body)
  await tryIt.click()
  await sees(tried, 'would be refused')
  await sees(tried, 'hooks.refused')
  await sees(tried, 'started')
  await form.getByLabel(/^Headers/).fill('no header')
  await tryIt.click()
  await sees(page.getByRole('alert'), 'write NAME: VALUE')
  const signature = createHmac('sha256', key).update(body).digest('hex')
  await form.getByLabel(/^Headers/).fill(`X-Hub-Signature-256: sha256=${signature}\n`)
  await form.getByText('Copy as command').click()
  await sees(form, 'millrace webhook try git -f body.json --header')
  await tryIt.click()
  await sees(tried, 'The signature fits.')
  await sees(tried, 'placed')
  assert.equal((await server.get('/hooks/git')).accepted, accepted)
  assert.equal((await server.get('/events?source=/v1/ns/default/hooks/git')).items.length, events)
})

test('inbound webhooks: counts, the latest refusal, pause and resume with their commands', async () => {
  const page = await console_.open('#/default/sources')
  const row = page.locator('tr[data-row="git"]')
  const refused = (await server.get('/hooks/git')).refused
  const forged = await fetch(`${console_.base}v1/ns/default/hooks/git`, { method: 'POST', headers: { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` }, body: '{}' })
  assert.equal(forged.status, 401)
  await until(async () => (await server.get('/hooks/git')).refused === refused + 1, 'the refused request is counted')
  await row.getByText('hooks.refused').waitFor()
  await row.getByRole('button', { name: 'Pause…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Copy as command').click()
  await sees(dialog, 'millrace webhook pause git')
  await dialog.getByRole('button', { name: 'Pause', exact: true }).click()
  await sees(row, 'paused')
  assert.equal((await server.get('/hooks/git')).paused, true)
  await row.getByRole('button', { name: 'Resume…' }).click()
  await dialog.getByRole('button', { name: 'Resume', exact: true }).click()
  await sees(row, 'takes requests')
})

/** How a table stands in a window: whether all of it is in sight, and in how many lines its longest cell of texts stands. */
function measures(region) {
  return region.evaluate((element) => ({
    isWhole: element.scrollWidth <= element.clientWidth + 1,
    lines: Math.max(...[...element.querySelectorAll('td.wide')].map((cell) => {
      const range = document.createRange()
      range.selectNodeContents(cell)
      return new Set([...range.getClientRects()].filter(({ width }) => width > 0).map(({ bottom }) => Math.round(bottom / 12))).size
    })),
  }))
}

test('inbound webhooks and services: at 1280 pixels a table shows all of its columns, with the action and the latest error', async () => {
  await server.setWebhook('key-of-the-test')
  await fetch(`${server.url}/v1/ns/default/hooks/git`, { method: 'POST', headers: { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` }, body: '{}' })
  await server.call('PUT', '/v1/ns/services', { services: { 'charge-the-card': { url: 'http://127.0.0.1:9/payments/v2/charge' } } })
  await server.call('PUT', '/v1/ns/services/workflows/pays', 'id: pays\nfunctions:\n- {id: charge, type: service, service: charge-the-card}\nstates:\n- {id: only, type: action, action: {function: charge, input: {}}}\n', { 'content-type': 'application/yaml' })
  await server.call('POST', '/v1/ns/services/workflows/pays/start', {})
  await until(async () => (await server.call('GET', '/v1/ns/services/functions')).items[0]?.lastError, 'the error of the service')
  for (const [place, name, error] of [['default/sources', 'The inbound webhooks', 'hooks.refused'], ['services/functions', 'Services', 'connect']]) {
    const page = await console_.open(`#/${place}`)
    const region = page.getByRole('region', { name, exact: true })
    await sees(region, error)
    await region.getByRole('button', { name: 'Pause…' }).waitFor()
    const { isWhole, lines } = await measures(region)
    assert.ok(isWhole && lines <= 4, `${place}: ${lines} lines, ${isWhole}`)
    await page.context().close()
  }
})

test('messages from outside are text', async () => {
  const texts = ['<img src=x onerror="hit=1">', '"><script>hit=1</script>', '<a href="javascript:hit=1">a</a>', '</textarea><svg onload=hit=1>']
  await server.makeStream('ODD', ['odd.*'])
  await fill('ODD', 'odd.one', [...texts.map((note) => ({ note })), { note: { [texts[0]]: texts } }], texts.length + 1)
  const whole = { type: 'odd.seen', id: 'jq(.data.note)', subject: 'jq(.data.note)', attributes: { note: 'jq(.data.note)' } }
  await server.applySource('odd', { stream: 'ODD', begin: 'all', mapping: whole })
  await applied('odd', texts.length + 1)
  for (const place of ['sources/odd', 'sources/odd/try', 'sources']) {
    const page = await console_.open(`#/default/${place}`)
    await page.locator(place === 'sources' ? 'tr[data-row="odd"]' : place === 'sources/odd' ? 'tbody tr' : '[data-sequence="1"]').first().waitFor()
    if (place !== 'sources') {
      const shown = await page.locator('main').textContent()
      for (const one of texts) assert.ok(shown.includes(one) || shown.includes(JSON.stringify(one).slice(1, -1)), `${place}: ${one}`)
    }
    const acted = await page.evaluate(() => ({
      hit: 'hit' in window,
      elements: [...document.querySelectorAll('main img, main script, main [onerror], main [onload], a[href^="javascript:"]')].map((one) => one.outerHTML),
    }))
    assert.deepEqual(acted, { hit: false, elements: [] }, place)
    await page.close()
  }
})

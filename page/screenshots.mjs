// Makes the pictures of docs/page.md from `millrace dev` on the examples:
//   MILLRACE=build/dev/app/millrace node page/screenshots.mjs [OUT] [NAME…], default docs/page/
// Needs pngquant, a package of Debian, and what the tests of the page need.
// With --look it also makes pictures of each route at 1280 and 320 px, empty, full and not connected, in OUT/look/.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { askApproval, leaveCompensation, setApprovals } from './tests/approvals.mjs'
import { Console, Server, settled, until } from './tests/harness.mjs'
import { fillQueues, setLimits } from './tests/limits.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const words = process.argv.slice(2)
const isLook = words.includes('--look')
const [out = join(here, '../docs/page'), ...names] = words.filter((word) => !word.startsWith('--'))
const kMost = 120 * 1024
mkdirSync(out, { recursive: true })

const console_ = new Console({ server: new Server({ flows: resolve(here, '../examples') }) })
const { server } = console_
const sent = []

/** What a day with the examples leaves behind, in short. */
async function fill() {
  await server.call('PUT', '/v1/ns/default', { services: { shout: { url: 'http://127.0.0.1:9/shout' } } })
  const failed = await server.run('quote', { amount: 1000 })
  await server.run('quote', { amount: 250 })
  for (const name of ['Ada', 'Grace', 'Edsger']) await server.run('reservation', { guestName: name, seats: 2 })
  const purchase = await server.run('purchase', { customerId: 'c-41' })
  for (const number of [38, 39, 40]) await server.run('purchase', { customerId: `c-${number}` })
  await server.run('shout', { word: 'hello' })
  await server.run('book-trip', { legs: ['Lyon', 'Turin', 'Milan'] })
  await server.send({ type: 'reservationAccept', source: 'restaurant', guestname: 'Ada', data: { table: 7 } })
  await server.send({ type: 'purchasePaid', source: 'shop.web', customerid: 'c-41', data: { amount: 1999 } })
  await server.send({ type: 'purchaseSent', source: 'shop.web', customerid: 'c-41', data: { parcel: 'JD-0071' } })
  await server.send({ type: 'purchasePaid', source: 'shop.web', customerid: 'c-38', data: { amount: 450 } })
  await server.send({ type: 'order.placed', source: 'shop', orderid: 'o-1', data: { id: 'AT-7', lines: [{ article: 'tea', price: 4.5 }] } })
  const near = await server.send({ type: 'purchasePaid', source: 'shop.web', customerid: 'C-39', data: { amount: 1200 } })
  await server.publish('millrace.events.default.order.paid', JSON.stringify({ specversion: '1.0', id: 'p-7', type: 'order.paid', orderid: 'o-1', data: { amount: 450 } }))
  const [letter] = await until(async () => { const { items } = await server.get('/dlq'); return items.length > 0 && items })
  await server.run('guest-booking', { customerId: 'c-42' })
  return { failed, purchase, near, letter }
}

async function shoot(name, address, { scheme = 'light', width = 1280, height = 800, ready, act } = {}) {
  if (names.length > 0 && !names.includes(name)) return
  const page = await console_.open(`#/${address}`, { width, height, scheme })
  await settled(page)
  await page.evaluate(() => document.fonts.ready)
  if (ready) await page.locator(ready).first().waitFor()
  if (act) await act(page)
  await page.evaluate(() => document.activeElement?.blur())
  const path = join(out, `${name}.png`)
  // A palette of 256 colours: the pictures have few, and many shades between text and background.
  const picture = execFileSync('pngquant', ['--speed', '1', '--strip', '256', '-'], { input: await page.screenshot({ animations: 'disabled' }) })
  writeFileSync(path, picture)
  await page.context().close()
  const size = picture.length
  sent.push(`${name} ${Math.ceil(size / 1024)} KiB`)
  if (size > kMost) throw new Error(`${name}.png has ${size} bytes; at most ${kMost} are for one picture`)
}

/** What the examples do not have: a source, an inbound webhook, calls that wait for an answer, limits for which something waits, values. */
async function fillForLook() {
  await server.makeStream('ORDERS', ['shop.orders.*'])
  await server.publish('shop.orders.eu', ['{"customer": "Ada"}', 'no order'])
  await server.applySource('orders', { stream: 'ORDERS', begin: 'all', mapping: { type: 'order.seen', subject: 'jq(.data.customer)' } })
  await server.call('PUT', '/v1/ns/hooks', {})
  await server.call('PUT', '/v1/ns/hooks/secrets/git-key', 'look-key', { 'content-type': 'application/octet-stream' })
  await server.call('PUT', '/v1/ns/hooks', { hooks: { git: { verify: { form: 'github', secrets: ['git-key'] }, mapping: { type: 'order.placed' } } } })
  await server.call('PUT', '/v1/ns/default/variables/rate', { eur: 1.1 })
  await setApprovals(server, 'answers')
  const accepted = await askApproval(server, 'answers')
  const uncompensated = await leaveCompensation(server, 'answers')
  await setLimits(server, 'limits')
  const { ship } = await fillQueues(server, 'limits')
  return { accepted, uncompensated, queued: ship.at(-1) }
}

async function look({ failed, purchase, near, letter }) {
  const folder = join(out, 'look')
  mkdirSync(folder, { recursive: true })
  const { accepted, uncompensated, queued } = await fillForLook()
  const routes = {
    overview: 'default', instances: 'default/instances', none: 'default/instances?status=timedout', story: `default/instances/${purchase}/story`, failed: `default/instances/${failed}/story`,
    data: `default/instances/${purchase}/data?at=4`, ended: `default/instances/${failed}/why`, calls: `default/instances/${failed}/calls`, children: `default/instances/${failed}/children`, variables: `default/instances/${failed}/variables`,
    queued: `limits/instances/${queued}/story`, left: `answers/instances/${uncompensated}/story`, accepted: `answers/instances/${accepted.instance}/calls`,
    why: `default/events/${near.sequence}`, events: 'default/events', replays: 'default/events/replays', try: 'default/events/try', sources: 'default/sources', source: 'default/sources/orders', 'source-try': 'default/sources/orders/try',
    webhooks: 'hooks/sources', webhook: 'hooks/webhooks/git', dead: 'default/dead', letter: `default/dead/${letter.id}`, waiting: 'default/waiting', groups: 'default/groups', workflows: 'default/workflows',
    graph: 'default/workflows/purchase/graph', text: 'default/workflows/purchase/text', revisions: 'default/workflows/purchase/revisions', run: 'default/workflows/quote/run', limited: 'limits/workflows/settle/graph', next: 'default/next',
    queues: 'limits/queues', answers: 'answers/calls', functions: 'default/functions', values: 'default/values', server: 'server', settings: 'server?namespace=default', gone: 'default/instances/01900000-0000-7000-8000-000000000000/story', nowhere: 'default/nonsense',
  }
  for (const [width, scheme] of [[1280, 'light'], [320, 'dark']]) {
    const page = await console_.open('#/default', { width, scheme })
    for (const [name, route] of Object.entries(routes)) {
      await page.goto(`${console_.base}#/${route}`)
      await settled(page)
      await page.screenshot({ path: join(folder, `${name}-${width}.png`), fullPage: true })
    }
    await server.call('PUT', '/v1/ns/empty', {})
    for (const name of ['', 'instances', 'waiting', 'events', 'sources', 'dead', 'workflows', 'groups', 'next', 'queues', 'calls', 'functions', 'values']) {
      await page.goto(`${console_.base}#/empty/${name}`)
      await settled(page)
      await page.screenshot({ path: join(folder, `empty-${name}-${width}.png`), fullPage: true })
    }
    await page.context().close()
  }
}

await console_.start()
try {
  const made = await fill()
  const { failed, purchase, near, letter } = made
  await shoot('why', `default/events/${near.sequence}`, { ready: '.judged' })
  await shoot('overview', 'default')
  await shoot('overview-dark', 'default', { scheme: 'dark' })
  await shoot('instances', 'default/instances', { ready: 'tbody tr' })
  await shoot('instance', `default/instances/${purchase}/story`, { ready: 'svg [data-state]' })
  await shoot('data-dark', `default/instances/${purchase}/data?at=5`, { scheme: 'dark', ready: 'svg [data-state]' })
  await shoot('dead-letter', `default/dead/${letter.id}`)
  await shoot('text-dark', 'default/workflows/purchase/text', { scheme: 'dark', ready: '.cm-content' })
  await shoot('next', 'default/next', { ready: 'tbody tr' })
  await shoot('narrow', `default/instances/${failed}/story`, { width: 320, height: 700 })
  if (isLook) {
    await look(made)
    for (const width of [1280, 320]) {
      const page = await console_.open('#/default/instances', { width })
      await page.getByRole('button', { name: 'live', exact: true }).waitFor()
      if (server.process.exitCode === null && server.process.signalCode === null) await server.end('SIGKILL')
      await page.getByText('Not connected since').waitFor()
      await page.screenshot({ path: join(out, 'look', `lost-${width}.png`), fullPage: true })
      await page.context().close()
      if (width === 1280) await server.start()
    }
  }
  console.log(sent.join('\n'))
} finally {
  await console_.stop()
}

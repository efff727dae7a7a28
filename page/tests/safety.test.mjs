// Acceptance checks 18 (no token), 21, 23 and 26 (prefix). access.test.mjs has those with a token, and
// injections.test.mjs has check 20.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Console, sees, until } from './harness.mjs'

const kAxe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const open = new Console()
const prefixed = new Console({ prefix: '/x/' })
const consoles = [open, prefixed]
before(async () => { for (const one of consoles) await one.start() })
after(async () => { for (const one of consoles) await one.stop() })

test('18 sign-in: without a token no form is shown', async () => {
  const page = await open.open('#/server')
  await sees(page, 'No session')
  assert.equal(await page.getByLabel('Token').count(), 0)
})

async function routesOf(server) {
  const id = await server.run('booking', { customerId: 'axe' })
  const failed = await server.run('fails')
  const event = await server.send({ type: 'guestbooking', customerid: 'AXE' })
  await server.publish('millrace.events.default.order.placed', '{"specversion":"1.0","id":"x","type":"order.placed"}')
  const [letter] = await until(async () => { const { items } = await server.get('/dlq'); return items.length > 0 && items })
  await server.send({ type: 'pair.first', orderid: 'o-9' })
  return [
    'default', 'default/instances', 'default/instances?status=failed', `default/instances/${id}/story?at=2`, `default/instances/${id}/data`, `default/instances/${id}/why`,
    `default/instances/${failed}/calls`, `default/instances/${failed}/children`, `default/instances/${failed}/variables`, 'default/waiting', 'default/events', `default/events/${event.sequence}`,
    'default/events/try', 'default/events/replays', 'default/dead', `default/dead/${letter.id}`, 'default/workflows', 'default/workflows/booking/graph', 'default/workflows/booking/text', 'default/workflows/booking/revisions',
    'default/workflows/typed/run', 'default/groups', 'default/next', 'default/functions', 'default/values', 'server?namespace=default', 'default/nonsense',
  ]
}

async function violations(page) {
  return page.evaluate(async () => {
    const result = await window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
    return result.violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.target.join(' ')} ${node.failureSummary.split('\n')[1] ?? ''}`))
  })
}

/** axe is put in by the browser's own protocol, which the policy does not bind. */
async function addAxe(page) {
  await page.evaluate(kAxe)
}

for (const [scheme, width] of [['light', 1280], ['dark', 1280], ['light', 320], ['dark', 320]]) {
  test(`21 axe: no violation on any route, ${scheme}, ${width} px, and nothing is wider than the window`, async () => {
    const routes = await routesOf(open.server)
    const page = await open.open('#/default', { scheme, width })
    await addAxe(page)
    const found = []
    for (const route of routes) {
      await page.goto(`${open.base}#/${route}`)
      await page.locator('h1').waitFor()
      await page.waitForLoadState('domcontentloaded')
      await page.locator('.skeleton').first().waitFor({ state: 'detached' })
      for (const violation of await violations(page)) found.push(`${route}: ${violation}`)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
      if (wide > 0) found.push(`${route}: ${wide} px too wide`)
    }
    await page.keyboard.press('Escape')
    await page.goto(`${open.base}#/default/instances`)
    for (const key of ['?', '/']) {
      await page.locator('h1').focus()
      await page.keyboard.press(key)
      await page.getByRole('dialog').waitFor()
      for (const violation of await violations(page)) found.push(`dialog ${key}: ${violation}`)
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    const story = routes.find((route) => route.includes('/story'))
    for (const [route, name] of [[story, 'Cancel…'], [story, 'Pause…'], ['default/workflows/booking/graph', 'Pause…'], ['default/values', 'Set a variable…'], ['default/values', 'Set a secret…']]) {
      await page.goto(`${open.base}#/${route}`)
      await page.getByRole('button', { name, exact: true }).first().click()
      await page.getByRole('dialog').waitFor()
      for (const violation of await violations(page)) found.push(`dialog ${name}: ${violation}`)
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await page.close()
    assert.deepEqual(found, [])
  })
}

test('21 keyboard: Tab goes through the list in order, and the focus of a new page is its heading', async () => {
  await open.server.run('booking', { customerId: 'tab' })
  const page = await open.open('#/default/instances')
  await page.locator('tbody tr').first().waitFor()
  const focused = () => page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.getAttribute('aria-label'))
  assert.equal(await focused(), 'Instances')
  const seen = []
  for (let index = 0; index < 30; index += 1) {
    await page.keyboard.press('Tab')
    seen.push(await focused())
    assert.notEqual(await page.evaluate(() => document.activeElement.tagName), 'BODY', seen.join(' | '))
  }
  const order = ['Run a workflow…', 'Copy as command', 'pending', 'Error'].map((name) => seen.findIndex((text) => text?.startsWith(name)))
  assert.deepEqual(order.slice(0, 3), [...order.slice(0, 3)].sort((a, b) => a - b))
  await page.locator('tbody a').first().click()
  await page.waitForURL(/story$/)
  await until(async () => (await page.evaluate(() => document.activeElement.tagName)) === 'H1')
  assert.match(await page.title(), /^Instance /)
})

test('26 prefix: each route works under a path of a proxy, also live', async () => {
  const routes = await routesOf(prefixed.server)
  const page = await prefixed.open('#/default/instances')
  await page.getByRole('button', { name: 'live', exact: true }).waitFor()
  await page.locator('tbody a').first().click()
  await page.locator('svg [data-state]').first().waitFor()
  for (const route of routes) {
    await page.goto(`${prefixed.base}#/${route}`)
    await page.locator('h1').waitFor()
    await page.locator('.skeleton').first().waitFor({ state: 'detached' })
    assert.equal(await page.locator('.problem').count(), 0, route)
  }
  await page.goto(`${prefixed.base}#/default/workflows/booking/text`)
  await page.locator('.cm-content').waitFor()
})

test('23 every answer: the types of the page are those of the OpenAPI document', () => {
  const maker = join(dirname(fileURLToPath(import.meta.url)), '../make-api.mjs')
  const run = spawnSync(process.execPath, [maker, '--check'], { input: JSON.stringify(open.document), encoding: 'utf8' })
  assert.equal(run.status, 0, run.stderr)
})

test('23 every answer: all answers that the tests saw fit the OpenAPI document', () => {
  assert.ok(open.answers > 100, `${open.answers} answers were held against the document`)
  assert.deepEqual(open.faults.filter((fault) => /OpenAPI|must/.test(fault)), [])
})

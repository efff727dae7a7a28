// Acceptance checks 18 (no token), 21 (axe), 23 and 26 (prefix).
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addAxe, kLooks, violations } from './axe.mjs'
import { Console, sees, settled } from './harness.mjs'
import { routesOf } from './routes.mjs'

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

test('18 sign-in: a session that could not be read is an error, not a server without a token', async () => {
  const page = await open.open('#/default')
  await page.route('**/v1/session', (route) => route.fulfill({ status: 503, contentType: 'application/problem+json', body: JSON.stringify({ type: 'about:blank', title: 'Service Unavailable', status: 503, code: 'busy', detail: 'too many calls' }) }))
  await open.show(page, 'server')
  const session = page.getByRole('region', { name: 'Session' })
  await sees(session, 'too many calls')
  assert.equal(await session.getByText('No session').count(), 0)
  await page.unroute('**/v1/session')
  await session.getByRole('button', { name: 'Try again' }).click()
  await sees(session, 'No session')
  await page.context().close()
})

/** Runs in the browser: the tables that are wider than their region and do not say so, or say so and are not. */
async function falseHints() {
  // The second frame has what was measured at the end of the first.
  for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame)
  return [...document.querySelectorAll('.scroll')]
    .filter((region) => (region.scrollWidth > region.clientWidth + 1) !== (region.previousElementSibling?.className === 'sideways'))
    .map((region) => region.getAttribute('aria-label'))
}

/** Runs in the browser: in how many lines the text of an element stands. */
function linesOf(element) {
  const text = document.createRange()
  text.selectNodeContents(element)
  return new Set([...text.getClientRects()].map((line) => line.top)).size
}

/** Runs in the browser: the options of commands that are broken into two lines, in windows of many widths. */
function brokenOptions() {
  for (const part of document.querySelectorAll('details')) part.open = true
  const broken = new Set()
  let found = 0
  for (const command of document.querySelectorAll('.commands pre, .as-command pre, .empty pre')) {
    const texts = document.createTreeWalker(command, NodeFilter.SHOW_TEXT)
    const options = []
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
      for (const match of node.data.matchAll(/(?<!\S)--?[a-z][\w-]*/gi)) {
        const range = document.createRange()
        range.setStart(node, match.index)
        range.setEnd(node, match.index + match[0].length)
        options.push(range)
      }
    }
    found += options.length
    for (let width = 130; width <= 320; width += 5) {
      command.style.width = `${width}px`
      for (const option of options) if (new Set([...option.getClientRects()].map((line) => line.top)).size > 1) broken.add(String(option))
    }
  }
  return { found, broken: [...broken] }
}

for (const [scheme, width] of kLooks) {
  test(`21 axe: no violation on any route, ${scheme}, ${width} px, and nothing is wider than the window`, async () => {
    const routes = await routesOf(open.server)
    const page = await open.open('#/default', { scheme, width })
    await addAxe(page)
    const found = []
    for (const route of routes) {
      await open.show(page, route)
      for (const violation of await violations(page, scheme)) found.push(`${route}: ${violation}`)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
      if (wide > 0) found.push(`${route}: ${wide} px too wide`)
      for (const table of await page.evaluate(falseHints)) found.push(`${route}: the line about more columns of the table ${table}`)
    }
    await open.show(page, 'default/instances')
    for (const key of ['?', '/']) {
      await page.locator('h1').focus()
      await page.keyboard.press(key)
      await page.getByRole('dialog').waitFor()
      for (const violation of await violations(page, scheme)) found.push(`dialog ${key}: ${violation}`)
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await page.close()
    assert.deepEqual(found, [])
  })

  test(`21 axe: no violation in any dialog that a route opens, ${scheme}, ${width} px, and none is wider than the window`, async () => {
    const page = await open.open('#/default', { scheme, width })
    await addAxe(page)
    const found = []
    const opened = new Set()
    for (const route of await routesOf(open.server)) {
      await open.show(page, route)
      // What is on several pages of a kind is one dialog.
      const kind = route.replace(/[\da-f]{8}-[\da-f-]{27}/, 'ID').split('?')[0]
      const first = page.locator('tbody input[type="checkbox"]:not(:disabled)').first()
      if (await first.count()) await first.check()
      const buttons = page.locator('main button:not(:disabled)').filter({ hasText: /…$/, visible: true })
      for (const name of new Set(await buttons.allTextContents())) {
        if (opened.has(`${kind} ${name}`)) continue
        if (name.startsWith('Show, ')) continue // leads to a part of the page
        await buttons.filter({ hasText: new RegExp(`^${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`) }).first().click()
        const dialog = page.getByRole('dialog')
        await dialog.waitFor()
        await dialog.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
        for (const part of await dialog.locator('details:not([open]) > summary').all()) await part.click()
        opened.add(`${kind} ${name}`)
        for (const violation of await violations(page, scheme)) found.push(`${route}, dialog ${name}: ${violation}`)
        const wide = await dialog.evaluate((one) => Math.max(document.documentElement.scrollWidth, Math.ceil(one.getBoundingClientRect().right)) - window.innerWidth)
        if (wide > 0) found.push(`${route}, dialog ${name}: ${wide} px too wide`)
        await page.keyboard.press('Escape')
        await dialog.waitFor({ state: 'detached' })
      }
    }
    await page.close()
    assert.deepEqual(found, [])
    for (const name of ['Cancel…', 'Pause…', 'Retry…', 'Rerun from…', 'Restart…', 'Delete…', 'Compensate…', 'Replay unchanged…', 'Apply a definition…', 'Set a variable…', 'Set a secret…', 'Create a namespace…']) {
      assert.ok([...opened].some((one) => one.endsWith(` ${name}`)), `${name} in ${[...opened].join(', ')}`)
    }
  })
}

test('21 narrow: a table that is wider than the window scrolls in its own region, and says so', async () => {
  await open.server.run('booking', { customerId: 'narrow' })
  const page = await open.open('#/default/instances', { width: 320 })
  await settled(page)
  const region = page.getByRole('region', { name: 'Instances' })
  await sees(page, 'Scroll the table sideways for more columns')
  assert.ok(await region.evaluate((element) => element.scrollWidth > element.clientWidth))
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320)
  await page.setViewportSize({ width: 2000, height: 900 })
  await page.locator('.sideways').waitFor({ state: 'detached' })
  await page.context().close()
})

test('21 narrow: commands break between words only, and the state of a service stands in one line', async () => {
  await open.server.run('held')
  await open.server.call('PUT', '/v1/ns/empty')
  const page = await open.open('#/default', { width: 320 })
  await open.show(page, 'default/functions')
  assert.equal(await page.getByText('not paused', { exact: true }).first().evaluate(linesOf), 1)
  const found = []
  for (const route of ['default/instances?status=failed', 'empty/events', 'empty/functions', 'empty/events/replays']) {
    await open.show(page, route)
    found.push({ route, ...(await page.evaluate(brokenOptions)) })
  }
  assert.deepEqual(found.filter((one) => one.broken.length > 0 || one.found === 0), [])
  await page.context().close()
})

test('26 prefix: each route works under a path of a proxy, also live', async () => {
  const routes = await routesOf(prefixed.server)
  const page = await prefixed.open('#/default/instances')
  await page.getByRole('button', { name: 'live', exact: true }).waitFor()
  await page.locator('tbody a').first().click()
  await page.locator('svg [data-state]').first().waitFor()
  for (const route of routes) {
    await prefixed.show(page, route)
    assert.equal(await page.locator('.problem').count(), 0, route)
  }
  await page.goto(`${prefixed.base}#/default/workflows/booking/text`)
  await page.locator('.cm-content').waitFor()
})

test('23 every answer: all answers that the tests saw fit the OpenAPI document', () => {
  assert.ok(open.answers > 100, `${open.answers} answers were held against the document`)
  assert.deepEqual(open.faults.filter((fault) => /OpenAPI|must/.test(fault)), [])
})

// Acceptance check 21 (keyboard): Tab reaches each control of each route, in the order of the document,
// and the focus is never lost.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, sees, settled, until } from './harness.mjs'
import { routesOf } from './routes.mjs'

const console_ = new Console()
const { server } = console_
before(() => console_.start())
after(() => console_.stop())

/**
 * Runs in the browser: notes the controls of the document in `window.controls`, and in `window.focused`
 * each element that gets the focus, or null where it is lost; the first control gets it at once. A control
 * that is not shown, or in a part that is closed, is none.
 */
function watchFocus() {
  const kControls = 'a[href], button, input, select, textarea, summary, [tabindex]'
  const isShown = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0
  window.controls = [...document.querySelectorAll(kControls)].filter((element) => element.tabIndex >= 0 && !element.disabled && isShown(element))
  // Another tab of a page leaves the focus where Tab has brought it: that may be the first control.
  document.activeElement.blur()
  window.focused = []
  if (!window.isWatched) {
    window.isWatched = true
    document.addEventListener('focusin', (event) => window.focused.push(event.target))
    document.addEventListener('focusout', (event) => { if (event.relatedTarget === null) window.focused.push(null) })
  }
  window.controls[0].focus()
}

/** Runs in the browser: what is wrong with the way of the focus since `watchFocus`. */
function faultsOfFocus() {
  const name = (element) => `<${element.localName}> ${(element.getAttribute('aria-label') ?? element.textContent).trim().slice(0, 40)}`
  const shown = window.controls.filter((element) => element.isConnected)
  const end = window.focused.indexOf(shown.at(-1)) + 1 || window.focused.length
  const focused = window.focused.slice(0, end)
  const order = focused.map((element) => shown.indexOf(element)).filter((index) => index >= 0)
  const faults = shown.filter((_, index) => !order.includes(index)).map((element) => `Tab does not reach ${name(element)}`)
  const back = order.findIndex((index, at) => at > 0 && index < order[at - 1])
  if (back >= 0) faults.push(`Tab goes back from ${name(shown[order[back - 1]])} to ${name(shown[order[back]])}`)
  const lost = focused.indexOf(null)
  if (lost > 0) faults.push(`the focus is lost after ${name(focused[lost - 1])}`)
  const hidden = focused.find((element) => element?.isConnected && element.getClientRects().length === 0)
  if (hidden) faults.push(`the focus is on ${name(hidden)}, which is not shown`)
  return faults
}

for (const width of [1280, 320]) {
  test(`21 keyboard: Tab reaches each control of each route in order, ${width} px`, async () => {
    const routes = await routesOf(server)
    const page = await console_.open('#/default', { width })
    const found = []
    for (const route of routes) {
      await console_.show(page, route)
      await page.evaluate(watchFocus)
      // Parts that scroll get the focus too, so Tab is pressed more often than there are controls.
      const most = await page.evaluate(() => 2 * window.controls.length + 20)
      for (let pressed = 0; pressed < most && !(await page.evaluate(() => window.focused.includes(window.controls.at(-1)))); pressed += 10) {
        for (let index = 0; index < 10; index += 1) await page.keyboard.press('Tab')
      }
      for (const fault of await page.evaluate(faultsOfFocus)) found.push(`${route}: ${fault}`)
    }
    await page.context().close()
    assert.deepEqual(found, [])
  })
}

test('21 keyboard: Tab goes through the list in order, and the focus of a new page is its heading', async () => {
  await server.run('booking', { customerId: 'tab' })
  const page = await console_.open('#/default/instances')
  await page.locator('tbody tr').first().waitFor()
  const focused = () => page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.getAttribute('aria-label'))
  await until(async () => (await focused()) === 'Instances', 'the heading has the focus')
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


test('21 keyboard: the page is busy until the editor is loaded, and the editor leaves the focus where it is', async () => {
  const page = await console_.open('#/default/workflows/booking/graph')
  await settled(page)
  const asked = new Promise((done) => void page.route(/\/editor-[^/]*\.js$/, done))
  await page.getByRole('link', { name: 'Text', exact: true }).click()
  const held = await asked
  await page.locator('main[aria-busy="true"]').waitFor()
  assert.equal(await page.locator('.cm-content').count(), 0)
  await page.getByLabel('jq program').focus()
  await held.continue()
  await settled(page)
  assert.equal(await page.locator('.cm-content').count(), 1)
  assert.equal(await page.evaluate(() => document.activeElement.closest('label')?.textContent), 'jq program')
  await page.context().close()
})

test('21 keyboard: a page whose editor cannot be loaded has a plain field, and is not busy', async () => {
  const page = await console_.open('#/default/workflows')
  await page.route(/\/editor-[^/]*\.js$/, (route) => route.abort())
  await console_.show(page, 'default/workflows/booking/text')
  assert.match(await page.getByLabel('Definition').inputValue(), /id: booking/)
  await page.context().close()
})

test('21 keyboard: the key of the actions goes to those on the rows that are selected, else to those of the page', async () => {
  const id = await server.run('booking', { customerId: 'dot' })
  const page = await console_.open('#/default/instances')
  const row = page.locator(`tr[data-row="${id}"]`)
  await row.waitFor()
  const focused = () => page.evaluate(() => document.activeElement.textContent.trim())
  await page.keyboard.press('.')
  assert.equal(await focused(), 'Run a workflow…')
  await row.getByRole('link').first().focus()
  await page.keyboard.press('x')
  await sees(page, '1 selected')
  await page.keyboard.press('.')
  assert.equal(await focused(), 'Pause…')
  await row.getByRole('checkbox').click()
  await sees(page, '0 selected')
  await row.getByRole('checkbox').click()
  await sees(page, '1 selected')
  await page.keyboard.press('.')
  assert.equal(await focused(), 'Pause…')
  await page.context().close()
})

test('21 keyboard: Go to opens the first hit of what is typed, also if Enter comes before the answer', async () => {
  const page = await console_.open('#/default')
  await settled(page)
  await page.getByRole('button', { name: 'Go to' }).click()
  const field = page.getByLabel('An id, a sequence, a workflow or a key')
  await field.fill('booking')
  await page.getByRole('dialog').getByRole('link', { name: 'workflow booking' }).waitFor()
  await field.fill('story')
  await field.press('Enter')
  await page.waitForURL((url) => url.hash !== '#/default')
  assert.match(new URL(page.url()).hash, /^#\/default\/workflows\/story/)
  await page.context().close()
})

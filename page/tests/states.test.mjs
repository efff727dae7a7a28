// Acceptance check 21 for what is shown in place of a page: the sign-in form, what was not found, and a lost connection.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addAxe, kLooks, violations } from './axe.mjs'
import { Console, sees, ServeServer, settled } from './harness.mjs'

const kToken = 'correct-horse-battery-staple-correct-horse'
const server = new ServeServer({ token: kToken })
const console_ = new Console({ server })
before(async () => {
  await console_.start()
  await server.runFailing()
})
after(() => console_.stop())

/** What is wrong with a page as it is now: violations, and whether it is wider than the window. */
async function faults(page, scheme, state) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
  return [...(await violations(page, scheme)), ...(wide > 0 ? [`${wide} px too wide`] : [])].map((fault) => `${scheme} ${page.viewportSize().width} px, ${state}: ${fault}`)
}

async function signIn(page, token = kToken) {
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** A page in which somebody has signed in, and that has axe. */
async function signedIn(address, look) {
  const page = await console_.open(address, look)
  await signIn(page)
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  await settled(page)
  await addAxe(page)
  return page
}

test('21 axe: no violation on the sign-in form, also with a wrong token', async () => {
  const found = []
  for (const [scheme, width] of kLooks) {
    const page = await console_.open('#/default', { scheme, width })
    await page.getByLabel('Token').waitFor()
    await addAxe(page)
    found.push(...(await faults(page, scheme, 'the form')))
    await signIn(page, 'wrong-token-wrong-token-wrong-token-wrong')
    await page.getByRole('alert').waitFor()
    found.push(...(await faults(page, scheme, 'a wrong token')))
    await page.context().close()
  }
  assert.deepEqual(found, [])
})

test('21 axe: no violation on pages of what does not exist', async () => {
  const missing = '01234567-89ab-7cde-8123-456789abcdef'
  const found = []
  for (const [scheme, width] of kLooks) {
    const page = await signedIn('#/default', { scheme, width })
    for (const address of [`default/instances/${missing}`, 'default/workflows/none', 'default/events/999999', 'default/dead/999999', 'default/sources/none', 'nowhere', 'nowhere/instances']) {
      await console_.show(page, address)
      await page.getByRole('alert').first().waitFor()
      found.push(...(await faults(page, scheme, address)))
    }
    for (const address of ['default/nonsense', `default/instances/${missing}/nonsense`, 'default/workflows/fails/nonsense']) {
      await console_.show(page, address)
      await page.getByRole('heading', { level: 1, name: 'No such page' }).waitFor()
      found.push(...(await faults(page, scheme, address)))
    }
    await page.context().close()
  }
  assert.deepEqual(found, [])
})

test('21 axe: no violation while the connection is lost, on what was read before and on what cannot be read', async () => {
  const found = []
  const pages = []
  for (const [scheme, width] of kLooks) pages.push([scheme, await signedIn('#/default/instances', { scheme, width })])
  for (const [, page] of pages) await page.getByRole('button', { name: 'live', exact: true }).waitFor()
  await server.end('SIGKILL')
  for (const [scheme, page] of pages) {
    await sees(page, 'Not connected since')
    found.push(...(await faults(page, scheme, 'the list that was read before')))
    await console_.show(page, 'default/workflows')
    await page.getByRole('alert').first().waitFor()
    found.push(...(await faults(page, scheme, 'a page that cannot be read')))
  }
  await server.start()
  for (const [, page] of pages) await page.context().close()
  assert.deepEqual(found, [])
})

// The commands that the page shows: they call the server of the page, and have no token.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, runShell, ServeServer, settled } from './harness.mjs'

const kToken = 'correct-horse-battery-staple-correct-horse'
const open = new Console()
const guarded = new Console({ server: new ServeServer({ token: kToken }), prefix: '/behind/' })
before(async () => {
  await open.start()
  await guarded.start()
})
after(async () => {
  await guarded.stop()
  await open.stop()
})

/** The address of a page as `--url` takes it. */
const urlOf = (console_) => console_.base.replace(/\/$/, '')

/** Opens what shows the commands of a page, and returns all of their texts. */
async function commandsOf(page) {
  await settled(page)
  for (const summary of await page.locator('main .as-command > summary').all()) await summary.click()
  return page.locator('main').getByLabel(/^(Command line|HTTP call)$/).allTextContents()
}

test('commands: they call the server of the page, also one under the path of a proxy', async () => {
  for (const [console_, token] of [[open, ''], [guarded, kToken]]) {
    const id = await console_.server.runFailing()
    await console_.server.reaches(id, 'failed')
    const page = await console_.open('#/default/instances?status=failed')
    if (token) {
      await page.getByLabel('Token').fill(token)
      await page.getByRole('button', { name: 'Sign in' }).click()
    }
    await page.locator('tbody tr').first().waitFor()
    const [line, http] = await commandsOf(page)
    assert.equal(line, `millrace instance list --status failed --url ${urlOf(console_)}`)
    assert.equal(http, `curl '${urlOf(console_)}/v1/ns/default/instances?status=failed'`)
    assert.ok((await runShell(line, token)).includes(id))
    await console_.show(page, 'server')
    for (const command of (await commandsOf(page))[0].split('; ')) await runShell(command, token)
    await page.context().close()
  }
})

test('commands: the server that the command line calls unless it is named is not named', async () => {
  const [, usual] = /MILLRACE_URL; *default: (\S+)\)/.exec((await runShell('millrace --help')).replace(/\s+/g, ' '))
  const context = await open.newContext()
  const page = await context.newPage()
  // Nothing listens there: each request is passed on to the server of this test, which refuses those of another origin.
  await page.route(`${usual}/**`, async (route) => {
    const request = route.request()
    if (request.url().includes('/stream?')) return route.abort()
    const headers = { ...request.headers(), ...(request.headers().origin ? { origin: urlOf(open) } : {}) }
    return route.fulfill({ response: await route.fetch({ url: request.url().replace(usual, urlOf(open)), headers }) })
  })
  await page.goto(`${usual}/#/default/instances?status=failed`)
  assert.equal((await commandsOf(page))[0], 'millrace instance list --status failed')
  await context.close()
})

test('commands: they have no token, and no password of the address', async () => {
  const context = await guarded.newContext()
  const page = await guarded.open('#/default', { context })
  await page.getByLabel('Token').fill(kToken)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { level: 1, name: 'default' }).waitFor()
  const [{ value: cookie }] = await context.cookies()
  const named = await context.newPage()
  await named.goto(`${guarded.base.replace('//', '//ada:lovelace@')}#/default/instances`)
  const seen = []
  for (const route of ['instances', 'events', 'waiting', 'dead', 'workflows', 'workflows/fails/text', 'next', 'functions', 'values', 'sources', 'queues', 'events/try']) {
    for (const one of [page, named]) {
      await guarded.show(one, `default/${route}`)
      seen.push(...(await commandsOf(one)))
    }
  }
  assert.ok(seen.length > 24, `${seen.length} commands`)
  for (const text of seen) assert.ok(text.includes(urlOf(guarded)) && !text.includes(kToken) && !text.includes(cookie) && !text.includes('lovelace'), text)
  await context.close()
})

// Acceptance checks 18, 19 and the sign-in after a restart of 9: a server with a token, behind no proxy
// and behind one that rewrites Host.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, before, test } from 'node:test'
import { startDevServer } from '../dev-server.mjs'
import { Console, freePort, sees, ServeServer, until } from './harness.mjs'

const kToken = 'correct-horse-battery-staple-correct-horse'
const kOther = 'another-horse-battery-staple-another-horse'
const proxyPort = await freePort()
const origin = `http://127.0.0.1:${proxyPort}`
const server = new ServeServer({ token: kToken, options: ['--origin', origin] })
const console_ = new Console({ server })
before(async () => {
  await console_.start()
  await server.runFailing()
})
after(() => console_.stop())

const kRows = '#/default/instances?status=failed'

async function signIn(page, token = server.token) {
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

async function signedIn() {
  const page = await console_.open(kRows)
  await signIn(page)
  await page.locator('tbody tr').first().waitFor()
  return page
}

test('18 sign-in: a deep link asks for the token, and then shows that page; no script can read it', async () => {
  const page = await console_.open(kRows)
  await signIn(page, 'wrong-token-wrong-token-wrong-token-wrong')
  await page.getByRole('alert').waitFor()
  await signIn(page)
  await page.locator('tbody tr').first().waitFor()
  assert.match(page.url(), /instances\?status=failed$/)
  const [cookie] = await page.context().cookies()
  assert.equal(cookie.name, `millrace-${server.port}`)
  assert.ok(cookie.httpOnly)
  assert.equal(cookie.sameSite, 'Strict')
  const stored = await page.evaluate(() => JSON.stringify({ ...localStorage }) + JSON.stringify({ ...sessionStorage }) + document.cookie)
  assert.ok(!stored.includes('horse') && !stored.includes(cookie.value))
  await page.goto(`${console_.base}#/server`)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Token').waitFor()
  await page.reload()
  await page.getByLabel('Token').waitFor()
})

test('18 sign-in: another token after SIGHUP ends the sessions, and the form comes over the same address', async () => {
  const page = await signedIn()
  server.changeToken(kOther)
  await until(() => fetch(`${server.url}/v1/ns`, { headers: { authorization: `Bearer ${kOther}` } }).then((answer) => answer.ok), 'the token is read again')
  await page.goto(`${console_.base}#/default/workflows`)
  await page.getByLabel('Token').waitFor()
  await signIn(page, kToken)
  await page.getByRole('alert').waitFor()
  await signIn(page, kOther)
  await page.getByRole('link', { name: 'fails' }).first().waitFor()
})

test('18 sign-in: a definition that was typed is there after the session has ended, and the form says that it has', async () => {
  const page = await console_.open('#/default/workflows/fails/text')
  assert.equal(await page.getByText('The session has ended').count(), 0)
  await signIn(page)
  await page.locator('.cm-line', { hasText: 'card.declined' }).click()
  await page.keyboard.press('End')
  await page.keyboard.type('  # typed')
  await page.getByRole('button', { name: /^Apply as revision/ }).click()
  await page.context().clearCookies()
  await page.getByRole('dialog').getByRole('button', { name: 'Apply', exact: true }).click()
  await sees(page, 'The session has ended')
  await signIn(page)
  await sees(page.locator('.cm-content'), '# typed')
  await sees(page, 'This draft was not applied')
  await page.getByRole('button', { name: 'Discard the draft' }).click()
  await page.locator('.cm-line', { hasText: '# typed' }).waitFor({ state: 'detached' })
  await page.locator('.cm-line', { hasText: 'card.declined' }).waitFor()
  await page.context().close()
})

test('9 restart: with a token the form comes after a restart, and then the same page', async () => {
  const page = await signedIn()
  await page.getByRole('button', { name: 'live', exact: true }).waitFor()
  await server.end('SIGKILL')
  await sees(page, 'Not connected since')
  await server.start()
  await page.getByLabel('Token').waitFor()
  await signIn(page)
  await page.locator('tbody tr').first().waitFor()
  assert.match(page.url(), /instances\?status=failed$/)
})

test('18 sign-in: eleven wrong tokens take more than a second', async () => {
  const began = performance.now()
  for (let index = 0; index < 11; index += 1) {
    const answer = await fetch(`${server.url}/v1/session`, { method: 'POST', headers: { authorization: `Bearer wrong-${index}`, 'millrace-page': '1' } })
    assert.ok([401, 429, 503].includes(answer.status), String(answer.status))
  }
  // A least time, not a most: a slow machine changes nothing.
  const took = performance.now() - began
  assert.ok(took > 1000, `${took} ms`)
})

test('19 CSRF: a change with the cookie needs the header, and the origin of the server', async () => {
  const signedInBy = await until(async () => {
    const answer = await fetch(`${server.url}/v1/session`, { method: 'POST', headers: { authorization: `Bearer ${server.token}`, 'millrace-page': '1' } })
    return answer.status === 204 && answer
  })
  const cookie = signedInBy.headers.get('set-cookie').split(';')[0]
  const start = async (headers) => (await fetch(`${server.url}/v1/ns/default/workflows/fails/start`, { method: 'POST', headers: { cookie, ...headers }, body: '{}' })).status
  assert.equal(await start({}), 403)
  assert.equal(await start({ 'millrace-page': '1', origin: 'http://elsewhere.example' }), 403)
  assert.equal(await start({ 'millrace-page': '1', origin: `http://127.0.0.1:${server.port + 1}` }), 403)
  assert.equal(await start({ 'millrace-page': '1', origin: 'null' }), 403)
  assert.equal(await start({ 'content-type': 'application/x-www-form-urlencoded', origin: server.url }), 403)
  assert.equal(await start({ 'millrace-page': '1', origin: server.url }), 201)
  assert.equal(await start({ 'millrace-page': '1', origin }), 201)
})

test('19 CSRF: a form of another page starts nothing', async () => {
  const page = await signedIn()
  const count = (await server.get('/instances/count?by=workflow')).items[0].count
  const elsewhere = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end(`<form method="post" action="${server.url}/v1/ns/default/workflows/fails/start"><input name="a"><button>send</button></form>`)
  }).listen(0, '127.0.0.1')
  await once(elsewhere, 'listening')
  // A port is not a part of a site, so the browser sends the cookie, although it is SameSite=Strict.
  const other = await page.context().newPage()
  await other.goto(`http://127.0.0.1:${elsewhere.address().port}/`)
  const answered = other.waitForResponse((response) => response.url().endsWith('/start'))
  await other.getByRole('button', { name: 'send' }).click()
  const answer = await answered
  assert.match((await answer.request().allHeaders()).cookie ?? '', /millrace-/)
  assert.equal(answer.status(), 403)
  assert.equal((await server.get('/instances/count?by=workflow')).items[0].count, count)
  elsewhere.closeAllConnections()
  elsewhere.close()
})

test('19 CSRF: behind a proxy that rewrites Host, the page works with --origin', async () => {
  const proxy = startDevServer({ server: server.url, listen: `127.0.0.1:${proxyPort}`, dist: null, rewritesHost: true })
  await once(proxy, 'listening')
  const context = await console_.newContext()
  const page = await context.newPage()
  await page.goto(`${origin}/${kRows}`)
  await signIn(page)
  await page.locator('tbody a').first().click()
  await page.locator('.heading').getByRole('button', { name: 'Restart…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Restart', exact: true }).click()
  await sees(page, 'run 2')
  await context.close()
  proxy.closeAllConnections()
  proxy.close()
})

// Compensations: which were noted, which one is made, which are done, which has failed for good, and how an operator goes on.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { leaveCompensation, setApprovals } from './approvals.mjs'
import { Console, sees, settled, until } from './harness.mjs'

const console_ = new Console()
const { server } = console_
/** A service that fails, and one that holds its answers until it is let go. */
const held = new Set()
const services = createServer((request, response) => {
  request.resume()
  if (request.url === '/refund') return held.add(response)
  response.writeHead(500)
  response.end()
  return undefined
})

/** Notes two compensations and fails: `book` is undone first, and cannot be. */
const kOrder = `id: order
compensate: true
functions:
  - {id: refund, type: service, service: refund}
  - {id: release, type: service, service: release}
states:
  - {id: pay, type: noop, compensate: {function: refund, input: {amount: 7}}, transition: book}
  - {id: book, type: noop, compensate: {function: release, input: {}}, transition: stop}
  - {id: stop, type: error, error: order.failed, message: no seats}
`
before(async () => {
  await console_.start()
  services.listen(0, '127.0.0.1')
  await once(services, 'listening')
  const base = `http://127.0.0.1:${services.address().port}`
  await server.call('PUT', '/v1/ns/default', { services: { refund: { url: `${base}/refund` }, release: { url: `${base}/release` } } })
  await server.call('PUT', '/v1/ns/default/workflows/order', kOrder, { 'content-type': 'application/yaml' })
})
after(async () => {
  for (const response of held) response.destroy()
  services.closeAllConnections()
  services.close()
  await console_.stop()
})

const kKinds = 'noted,compensating,undoing,undone,compensationStopped'
const partOf = (page) => page.getByRole('region', { name: 'Compensations', exact: true })
const rowOf = (page, state) => partOf(page).locator('tbody tr', { hasText: state })
const nodeOf = (page, state) => page.locator(`.graph [data-state="${state}"]`)

/** Starts an instance, and waits until one of its compensations has failed for good. */
async function failToCompensate() {
  const id = await server.run('order')
  await until(async () => (await server.instance(id)).compensation?.error, `a compensation of ${id} has failed`)
  return id
}

/** Lets the service answer the call that it holds. */
async function letRefund() {
  const [response] = await until(() => held.size > 0 && [...held], 'the service holds a call')
  held.delete(response)
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end('{}')
}

test('compensations: one has failed for good; past it, the one before is made, and done', async () => {
  const id = await failToCompensate()
  const { compensation } = await server.instance(id)
  const page = await console_.open(`#/default/instances/${id}/story`)
  await sees(rowOf(page, 'book'), 'failed for good')
  await sees(rowOf(page, 'pay'), 'noted')
  await sees(rowOf(page, 'pay'), '{"amount":7}')
  await sees(partOf(page), '2 compensations left')
  await sees(partOf(page), compensation.error.code)
  await sees(nodeOf(page, 'book'), 'undo failed')
  await sees(nodeOf(page, 'pay'), 'noted')
  await sees(nodeOf(page, 'pay'), '(undone by refund)')
  assert.match(await nodeOf(page, 'pay').getAttribute('aria-label'), /^pay noop \(undone by refund\) noted/)
  await page.locator('.heading').getByRole('button', { name: 'Compensate…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel(/Past the failed one/).check()
  await dialog.getByText('Copy as command').click()
  await sees(dialog, `millrace instance compensate ${id} --past`)
  await sees(dialog, `/v1/ns/default/instances/${id}/compensate?past=1`)
  await dialog.getByRole('button', { name: 'Compensate', exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
  await sees(rowOf(page, 'pay'), 'is made')
  await sees(rowOf(page, 'book'), 'passed over')
  await sees(partOf(page), /Then the instance ends as failed/)
  await sees(nodeOf(page, 'pay'), 'being undone')
  await letRefund()
  await sees(rowOf(page, 'pay'), 'done')
  await sees(partOf(page), 'None is left.')
  await nodeOf(page, 'pay').getByText('undone', { exact: true }).waitFor()
  const ended = await server.reaches(id, 'failed')
  assert.equal(ended.error.code, 'order.failed')
  assert.equal(ended.compensation, undefined)
  await page.locator('.heading').getByRole('button', { name: 'Compensate…' }).waitFor({ state: 'detached' })
})

test('compensations: the story shows their records alone, and the graph is that of the record', async () => {
  const id = await failToCompensate()
  const page = await console_.open(`#/default/instances/${id}/story`)
  await page.getByRole('group', { name: 'Show' }).getByRole('button', { name: 'compensations' }).click()
  await page.waitForURL(/show=compensations/)
  const { items } = await server.get(`/instances/${id}/history?kind=${kKinds}`)
  await until(async () => (await page.locator('.story [data-record]').count()) === items.length, 'the records of the compensations')
  assert.deepEqual(items.map((item) => item.kind), ['noted', 'noted', 'compensating', 'undoing', 'compensationStopped'])
  await page.locator(`[data-record="${items[0].number}"]`).getByRole('link', { name: `Record ${items[0].number}`, exact: true }).click()
  await sees(nodeOf(page, 'pay'), 'noted')
  await nodeOf(page, 'book').locator('.note').waitFor({ state: 'detached' })
  await page.locator(`[data-record="${items[3].number}"]`).getByRole('link', { name: `Record ${items[3].number}`, exact: true }).click()
  await sees(nodeOf(page, 'book'), 'being undone')
})

test('compensations: those for which the definition does not ask are made when an operator asks', async () => {
  await setApprovals(server, 'left')
  const id = await leaveCompensation(server, 'left')
  const page = await console_.open(`#/left/instances/${id}/story`)
  await sees(partOf(page), /1 compensation left: they were stopped, or the definition does not ask for them/)
  const why = await console_.open(`#/left/instances/${id}/why`)
  await sees(why.getByRole('region', { name: 'Why it ended' }), '1 compensation left')
  await page.locator('.heading').getByRole('button', { name: 'Compensate…' }).click()
  const dialog = page.getByRole('dialog')
  // None has failed, so none can be passed over.
  assert.equal(await dialog.getByLabel(/Past the failed one/).count(), 0)
  await dialog.getByRole('button', { name: 'Compensate', exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
  await sees(rowOf(page, 'book'), 'is made')
  // The service accepts the call, and an operator answers it.
  const { task } = await until(async () => (await server.call('GET', `/v1/ns/left/calls?instance=${id}`)).items[0], 'the call is accepted')
  await server.call('POST', `/v1/ns/left/calls/${task}/complete`)
  await sees(rowOf(page, 'book'), 'done')
  await sees(partOf(page), 'None is left.')
})

test('compensations: the list of instances says how many are left, and compensates several', async () => {
  await setApprovals(server, 'several')
  const ids = [await leaveCompensation(server, 'several'), await leaveCompensation(server, 'several')]
  const page = await console_.open('#/several/instances')
  await settled(page)
  for (const id of ids) {
    await sees(page.locator(`tr[data-row="${id}"]`), '1 compensation left')
    await page.getByLabel(`Select ${id}`).check()
  }
  await page.getByRole('button', { name: 'Compensate…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Copy as command').click()
  await sees(dialog, new RegExp(`for id in .*${ids[0]}.*; do millrace -n several instance compensate \\$id`))
  await dialog.getByRole('button', { name: 'Compensate', exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
  await until(async () => (await server.call('GET', '/v1/ns/several/calls')).items.length === 2, 'both compensations are made')
})

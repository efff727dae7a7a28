// The runs of an instance in a row: which one it is, since when, and with which record the run before ended.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, sees, settled, until } from './harness.mjs'

const console_ = new Console()
const { server } = console_

/** Each event ends a run, and the next one begins. */
const kDays = `id: days
states:
  - id: wait
    type: consumeEvent
    event: {type: day.over}
    continueAsNew: {day: jq(.day + 1)}
`
before(async () => {
  await console_.start()
  await server.call('PUT', '/v1/ns/default/workflows/days', kDays, { 'content-type': 'application/yaml' })
})
after(() => console_.stop())

const factsOf = (page) => page.locator('main p', { hasText: 'transition' }).first()

/** The number of the newest record of a kind. */
async function newest(id, kind) {
  return (await server.get(`/instances/${id}/history?kind=${kind}&order=newest&limit=1`)).items[0].number
}

/** Sends the event that ends the run, and waits for the next one. */
async function endDay(id, run) {
  await server.reaches(id, 'waiting')
  await server.send({ type: 'day.over' })
  await until(async () => (await server.instance(id)).run === run, `run ${run}`)
}

test('runs: after continueAsNew the page says since when the run is, and which record ended the run before', async () => {
  const id = await server.run('days', { day: 1 })
  await endDay(id, 2)
  const number = await newest(id, 'continued')
  const page = await console_.open(`#/default/instances/${id}/story`)
  await settled(page)
  const facts = factsOf(page)
  assert.match(await facts.textContent(), /run 2 since \S+.*, by continueAsNew; the run before ended with record/)
  const link = facts.getByRole('link', { name: `record ${number}`, exact: true })
  assert.match(await link.getAttribute('href'), new RegExp(`at=${number}$`))
  // Of the run before no other record is left, so none is offered.
  assert.equal(await page.getByRole('button', { name: 'Older records' }).count(), 0)
  assert.equal(await page.getByRole('slider').getAttribute('min'), String(number))
  await sees(page.locator(`[data-record="${number}"]`), 'the next run')
  await page.getByRole('button', { name: 'live', exact: true }).waitFor()
  await endDay(id, 3)
  await sees(facts, 'run 3 since')
  await facts.getByRole('link', { name: `record ${await newest(id, 'continued')}`, exact: true }).waitFor()
})

test('runs: a restart begins a run, and a retry begins none', async () => {
  const id = await server.run('fails')
  await server.reaches(id, 'failed')
  const page = await console_.open(`#/default/instances/${id}/story`)
  await settled(page)
  assert.match(await factsOf(page).textContent(), /· run 1 ·/)
  await server.call('POST', `/v1/ns/default/instances/${id}/retry`)
  await until(async () => (await server.get(`/instances/${id}/history?kind=ended`)).items.length === 2)
  await server.call('POST', `/v1/ns/default/instances/${id}/restart`)
  const begin = await newest(id, 'revived')
  await until(async () => (await server.get(`/instances/${id}/history?kind=ended`)).items.length === 3)
  await server.call('POST', `/v1/ns/default/instances/${id}/retry`)
  await page.reload()
  await settled(page)
  assert.match(await factsOf(page).textContent(), new RegExp(`run 2 since \\S+.*, by restart; the run before ended with record ${begin - 1}[^0-9]`))
})

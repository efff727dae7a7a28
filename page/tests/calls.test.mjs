// Calls that wait for an answer from outside: an operator sees them, and answers them in place of the service.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { askApproval, setApprovals } from './approvals.mjs'
import { Console, sees, until } from './harness.mjs'

const console_ = new Console()
const { server } = console_
before(async () => {
  await console_.start()
  await setApprovals(server, 'default')
})
after(() => console_.stop())

const rowOf = (page, task) => page.locator(`tr[data-row="${task}"]`)

test('calls: one that its service has accepted is listed, and completed with a result in JSON', async () => {
  const { task, instance } = await askApproval(server, 'default')
  const page = await console_.open('#/default/calls')
  const row = rowOf(page, task)
  await sees(row, 'approve')
  assert.equal(await row.getByRole('link').first().getAttribute('title'), instance)
  await row.getByRole('button', { name: 'Complete…' }).click()
  const dialog = page.getByRole('dialog')
  const confirm = dialog.getByRole('button', { name: 'Complete', exact: true })
  await dialog.getByLabel('Result (JSON)').fill('approved')
  await sees(dialog.getByRole('alert'), 'The result is not JSON')
  assert.ok(await confirm.isDisabled())
  await dialog.getByLabel('Result (JSON)').fill('{"approved": true}')
  await dialog.getByText('Copy as command').click()
  await sees(dialog, `printf %s '{"approved": true}' | millrace call complete ${task} -f -`)
  await sees(dialog, `/v1/ns/default/calls/${task}/complete`)
  await confirm.click()
  await dialog.waitFor({ state: 'detached' })
  const ended = await server.reaches(instance, 'complete')
  assert.deepEqual(ended.output, { return: { approved: true } })
  await row.waitFor({ state: 'detached' })
})

test('calls: without a result the call returns null', async () => {
  const { task, instance } = await askApproval(server, 'default')
  const page = await console_.open(`#/default/calls?instance=${instance}`)
  await rowOf(page, task).getByRole('button', { name: 'Complete…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Complete', exact: true }).click()
  const ended = await server.reaches(instance, 'complete')
  assert.equal(ended.output.return, null)
  await sees(page, 'No call of this instance waits for an answer from outside')
  const story = await console_.open(`#/default/instances/${instance}/story`)
  await sees(story.locator('.story'), 'by an operator')
})

test('calls: the page of an instance shows its own, and fails one with a code that `catch` compares', async () => {
  const { task, instance } = await askApproval(server, 'default')
  const other = await askApproval(server, 'default')
  const page = await console_.open(`#/default/instances/${instance}/calls`)
  await sees(page, 'Calls that wait for an answer from outside')
  const row = rowOf(page, task)
  await row.getByRole('button', { name: 'Fail…' }).click()
  assert.equal(await rowOf(page, other.task).count(), 0)
  const dialog = page.getByRole('dialog')
  const confirm = dialog.getByRole('button', { name: 'Fail', exact: true })
  assert.ok(await confirm.isDisabled())
  await dialog.getByLabel('Error code').fill('too expensive')
  await confirm.click()
  await sees(dialog.getByRole('alert'), 'write the error code of the task')
  await dialog.getByLabel('Error code').fill('approval.refused')
  await dialog.getByLabel('Message').fill('too expensive')
  await dialog.getByText('Copy as command').click()
  await sees(dialog, `millrace call fail ${task} --code approval.refused --message 'too expensive'`)
  await confirm.click()
  const ended = await server.reaches(instance, 'complete')
  assert.equal(ended.state, 'refused')
  await row.waitFor({ state: 'detached' })
  assert.equal((await server.get(`/calls?instance=${other.instance}`)).items.length, 1)
})

test('calls: an instance says that a cancel waits for the task that its service has accepted', async () => {
  const { task, instance } = await askApproval(server, 'default')
  await server.call('POST', `/v1/ns/default/instances/${instance}/cancel`)
  const page = await console_.open(`#/default/instances/${instance}`)
  await sees(page.getByRole('region', { name: 'Now' }), /a cancel was requested .*; the instance ends when 1 running task has ended/)
  const why = await console_.open(`#/default/instances/${instance}/why`)
  await sees(why.getByRole('region', { name: 'What it waits for' }), /a cancel was requested/)
  await server.call('POST', `/v1/ns/default/calls/${task}/complete`, { result: null })
  await server.reaches(instance, 'cancelled')
  await page.getByText('a cancel was requested').waitFor({ state: 'detached' })
})

test('calls: an answer that comes too late is refused in the words of the API', async () => {
  const { task, instance } = await askApproval(server, 'default')
  const page = await console_.open('#/default/calls')
  await rowOf(page, task).getByRole('button', { name: 'Complete…' }).click()
  await server.call('POST', `/v1/ns/default/calls/${task}/complete`, 1)
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Result (JSON)').fill('2')
  await dialog.getByRole('button', { name: 'Complete', exact: true }).click()
  await sees(dialog.getByRole('alert'), 'callback.ended')
  const ended = await server.reaches(instance, 'complete')
  assert.equal(ended.output.return, 1)
})

test('calls: the filter is in the address', async () => {
  const one = await askApproval(server, 'default')
  const other = await askApproval(server, 'default')
  const page = await console_.open(`#/default/calls?instance=${one.instance}`)
  await rowOf(page, one.task).waitFor()
  assert.equal(await rowOf(page, other.task).count(), 0)
  assert.equal(await page.getByRole('textbox', { name: 'Instance' }).inputValue(), one.instance)
  await page.getByRole('button', { name: 'Clear' }).click()
  await rowOf(page, other.task).waitFor()
  await rowOf(page, one.task).waitFor()
  assert.doesNotMatch(page.url(), /instance=/)
})

const kMany = `id: many
functions:
  - {id: approve, type: service, service: approvals}
states:
  - id: each
    type: foreach
    array: jq(.items)
    concurrency: 4
    action: {function: approve, input: jq(.)}
    transition: either
  - id: either
    type: parallel
    mode: or
    actions:
      - {function: approve, input: {}}
      - {function: approve, input: {}}
    transition: done
  - {id: done, type: noop}
`

/** The share of the bar of a state that has a class. */
function shareOf(node, name) {
  return node.evaluate((element, part) => {
    const width = (selector) => Number(element.querySelector(selector).getAttribute('width'))
    return Math.round(1000 * width(`rect.bar.${part}`) / width('rect.bar')) / 1000
  }, name)
}

test('graph: a foreach and a parallel state show how many of their calls have ended', async () => {
  await server.call('PUT', '/v1/ns/default/workflows/many', kMany, { 'content-type': 'application/yaml' })
  const id = await server.run('many', { items: Array.from({ length: 10 }, (_, index) => index) })
  const open = async () => (await server.get(`/calls?instance=${id}`)).items
  const answer = async (number, verb = 'complete', body = {}) => {
    const tasks = await until(async () => { const items = await open(); return items.length >= number && items }, `${number} calls are accepted`)
    for (const { task } of tasks.slice(0, number)) await server.call('POST', `/v1/ns/default/calls/${task}/${verb}`, body)
  }
  const page = await console_.open(`#/default/instances/${id}/story`)
  const node = page.locator('svg [data-state="each"]')
  await sees(node, '0 of 10 calls ended')
  const box = await node.boundingBox()
  await answer(3)
  await sees(node, '3 of 10 calls ended')
  assert.match(await node.getAttribute('aria-label'), /^each foreach 3 of 10 calls ended, current state/)
  assert.equal(await shareOf(node, 'is-done'), 0.3)
  assert.equal(await shareOf(node, 'is-failed'), 0)
  // No box moves, and the list says the same.
  assert.deepEqual(await node.boundingBox(), box)
  await page.getByText('As a list').click()
  await sees(page.locator('li', { hasText: /^each foreach/ }), '3 of 10 calls ended')
  // What was so at a record is not known.
  await page.goto(`${console_.base}#/default/instances/${id}/story?at=2`)
  await node.getByText('calls ended').waitFor({ state: 'detached' })
  await page.goto(`${console_.base}#/default/instances/${id}/story`)
  for (const number of [4, 3]) await answer(number)
  const other = page.locator('svg [data-state="either"]')
  await sees(other, '0 of 2 calls ended')
  assert.equal(await node.getByText('calls ended').count(), 0)
  await answer(1, 'fail', { code: 'approval.refused' })
  await sees(other, '1 of 2 calls ended')
  assert.match(await other.getAttribute('aria-label'), /1 of 2 calls ended, 1 failed/)
  assert.equal(await shareOf(other, 'is-failed'), 0.5)
  assert.equal(await shareOf(other, 'is-done'), 0)
  await page.context().close()
})

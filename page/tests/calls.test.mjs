// Calls that wait for an answer from outside: an operator sees them, and answers them in place of the service.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { askApproval, setApprovals } from './approvals.mjs'
import { Console, sees } from './harness.mjs'

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

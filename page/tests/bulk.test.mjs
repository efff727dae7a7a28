// Actions on several instances: those that the dialog has counted, and no others.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, runShell, sees, settled, until } from './harness.mjs'

const console_ = new Console()
const { server } = console_
before(() => console_.start())
after(() => console_.stop())

/** Starts waiting instances of a workflow that is like `booking` and has another name. */
async function book(workflow, number) {
  await server.call('PUT', `/v1/ns/default/workflows/${workflow}`, `id: ${workflow}\nstates:\n- {id: sit, type: consumeEvent, event: {type: never.comes}}\n`, { 'content-type': 'application/yaml' })
  const ids = []
  for (let index = 0; index < number; index += 1) ids.push(await server.run(workflow))
  for (const id of ids) await server.reaches(id, 'waiting')
  return ids
}

/** Opens the dialog of an action on all that the filter of a page names. */
async function openForAll(page, verb) {
  await page.getByLabel('all that the filter names').check()
  await page.getByRole('button', { name: `${verb}…` }).click()
  return page.getByRole('dialog')
}

const command = (dialog, name) => dialog.getByLabel(name).textContent()

test('bulk: an action on all that the filter names is for those that were counted, not for one that fits later', async () => {
  const ids = await book('counted', 4)
  const [early, ...counted] = ids
  await server.call('POST', `/v1/ns/default/instances/${early}/pause`)
  await server.reaches(early, 'paused')
  const page = await console_.open('#/default/instances?workflow=counted&status=waiting')
  await settled(page)
  const dialog = await openForAll(page, 'Cancel')
  await dialog.getByRole('heading', { name: 'Cancel 3 instances?' }).waitFor()
  await sees(dialog, /^All that the filter \(“Workflow” counted, “Status” waiting\) named at .*with the status waiting\. The action is for these only/)
  for (const id of counted) await sees(dialog.getByRole('list', { name: 'Instances' }), id)
  // One that is older begins to fit, and one is started.
  await server.call('POST', `/v1/ns/default/instances/${early}/resume`)
  const [late] = await book('counted', 1)
  await server.reaches(early, 'waiting')
  await dialog.getByText('Copy as command').click()
  for (const name of ['Command line', 'HTTP call']) {
    const text = await command(dialog, name)
    for (const id of counted) assert.ok(text.includes(id), text)
    for (const id of [early, late]) assert.ok(!text.includes(id), text)
  }
  await dialog.getByRole('button', { name: 'Cancel', exact: true }).click()
  await sees(page.locator('.toast'), '3 cancelled')
  for (const id of counted) await server.reaches(id, 'cancelled')
  for (const id of [early, late]) assert.equal((await server.instance(id)).status, 'waiting')
  await page.context().close()
})

test('bulk: deletion leaves what ends while its dialog is open', async () => {
  const [first, second, late] = await book('ending', 3)
  for (const id of [first, second]) await server.call('POST', `/v1/ns/default/instances/${id}/cancel`)
  await server.reaches(second, 'cancelled')
  const page = await console_.open('#/default/instances?workflow=ending&since=24h')
  await settled(page)
  const dialog = await openForAll(page, 'Delete')
  await dialog.getByRole('heading', { name: 'Delete 2 instances?' }).waitFor()
  await server.call('POST', `/v1/ns/default/instances/${late}/cancel`)
  await server.reaches(late, 'cancelled')
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
  await sees(page.locator('.toast'), '2 deleted')
  assert.deepEqual((await server.get('/instances?workflow=ending')).items.map((item) => item.id), [late])
  await page.context().close()
})

test('bulk: the commands do what the dialog does', async () => {
  const page = await console_.open('#/default/instances')
  for (const [workflow, name] of [['by-line', 'Command line'], ['by-curl', 'HTTP call']]) {
    const ids = await book(workflow, 3)
    await console_.show(page, `default/instances?workflow=${workflow}&state=sit`)
    const dialog = await openForAll(page, 'Cancel')
    await dialog.getByLabel(/Now: stop/).check()
    await dialog.getByText('Copy as command').click()
    await runShell(await command(dialog, name))
    for (const id of ids) await server.reaches(id, 'cancelled')
    await page.keyboard.press('Escape')
  }
  await page.context().close()
})

test('bulk: an action on very many is for the first ten thousand, which the dialog says', async () => {
  const [id] = await book('many', 1)
  const head = (await server.get(`/instances?id=${id}`)).items[0]
  const page = await console_.open('#/default/instances?workflow=many')
  await settled(page)
  let pages = 0
  await page.route(/\/instances\?.*limit=1000/, (route) => {
    pages += 1
    const items = Array.from({ length: 1000 }, (_, index) => ({ ...head, id: `${id.slice(0, 24)}${String(pages * 1000 + index).padStart(12, '0')}` }))
    return route.fulfill({ json: { items, next: `page-${pages}`, complete: true, looked: 1000 } })
  })
  const dialog = await openForAll(page, 'Pause')
  await dialog.getByRole('heading', { name: 'Pause 10\u202f000 instances?' }).waitFor()
  await sees(dialog, /^The first 10.000 that the filter \(.*More fit: when this is done, repeat it for them/)
  assert.equal(pages, 10)
  assert.ok(await dialog.getByRole('button', { name: 'Pause', exact: true }).isDisabled())
  await dialog.getByLabel('Type the number 10000 to confirm').waitFor()
  await page.context().close()
})

test('bulk: Retry is offered for instances that failed, and leaves out those that are complete', async () => {
  const complete = await server.run('loop', { n: 0, of: 1 })
  await server.reaches(complete, 'complete')
  const failed = await server.run('fails')
  await server.reaches(failed, 'failed')
  const page = await console_.open('#/default/instances')
  const retry = page.getByRole('button', { name: 'Retry…' })
  await page.getByLabel(`Select ${complete}`).check()
  assert.ok(await retry.isDisabled())
  assert.ok(await page.getByRole('button', { name: 'Restart…' }).isEnabled())
  await page.getByLabel(`Select ${failed}`).check()
  await retry.click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('heading', { name: `Retry instance ${failed}?` }).waitFor()
  await sees(dialog, 'Retry applies to failed, timedout only: 1 other instance that is selected stays as it is.')
  await dialog.getByRole('button', { name: 'Retry', exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
  await until(async () => (await server.get(`/instances/${failed}/history?kind=revived`)).items.length === 1)
  await console_.show(page, 'default/instances?status=complete')
  await page.getByLabel('all that the filter names').check()
  assert.ok(await retry.isDisabled())
  await page.context().close()
})

test('bulk: each instance that was refused is named with the reason', async () => {
  const ids = [await server.run('fails'), await server.run('fails'), await server.run('fails')]
  for (const id of ids) await server.reaches(id, 'failed')
  const page = await console_.open('#/default/instances?status=failed')
  for (const id of ids) await page.getByLabel(`Select ${id}`).check()
  await page.getByRole('button', { name: 'Retry…' }).click()
  const dialog = page.getByRole('dialog')
  await sees(dialog, 'Retry 3 instances?')
  for (const id of ids.slice(1)) await server.call('DELETE', `/v1/ns/default/instances/${id}`)
  await dialog.getByRole('button', { name: 'Retry', exact: true }).click()
  const alert = dialog.getByRole('alert')
  await sees(alert, /^ ?1 retried, 2 refused/)
  const reasons = await alert.getByRole('listitem').allTextContents()
  assert.equal(reasons.length, 2)
  for (const id of ids.slice(1)) assert.ok(reasons.some((text) => text.startsWith(`${id} `) && text.length > id.length + 10), reasons.join('\n'))
  await page.context().close()
})

test('bulk: the bar is in view while a row of a long list is selected, covers none that has the focus, and its dialog speaks of several', async () => {
  const ids = await book('long', 40)
  const page = await console_.open('#/default/instances?workflow=long')
  const bar = page.getByRole('group', { name: 'Actions on several instances' })
  for (const [width, height] of [[1280, 600], [320, 600]]) {
    await page.setViewportSize({ width, height })
    await settled(page)
    await page.evaluate(() => scrollTo(0, 0))
    for (const id of ids.slice(-2)) await page.getByLabel(`Select ${id}`).check()
    await sees(bar, '2 selected')
    const box = await bar.boundingBox()
    assert.ok(box.y > 0 && box.y + box.height <= height, JSON.stringify(box))
    assert.ok(box.height <= height / 3, JSON.stringify(box))
    assert.equal(await bar.evaluate((element) => getComputedStyle(element).backgroundColor), await page.evaluate(() => getComputedStyle(document.body).backgroundColor))
    // A row that gets the focus is scrolled above the bar.
    for (const id of ids.slice(10, 30).reverse()) {
      const row = page.getByLabel(`Select ${id}`)
      await row.focus()
      const [field, edge] = [await row.boundingBox(), await bar.boundingBox()]
      assert.ok(field.y + field.height <= edge.y, JSON.stringify({ field, edge }))
    }
    for (const id of ids.slice(-2)) await page.getByLabel(`Select ${id}`).uncheck()
    await page.evaluate(() => scrollTo(0, 0))
    assert.ok((await bar.boundingBox()).y > height)
  }
  for (const id of ids.slice(-2)) await page.getByLabel(`Select ${id}`).check()
  await bar.getByRole('button', { name: 'Cancel…' }).click()
  const dialog = page.getByRole('dialog')
  await sees(dialog, 'The instances end as cancelled.')
  assert.equal(await dialog.getByText('The instance ends').count(), 0)
  await page.context().close()
})

// Acceptance checks 16, 17 and 24: many rows, many records, and the budgets of the build. Check 16 has
// 25 000 waiting instances: more than the server looks at for one page of a filter without an index.
// MILLRACE_PAGE_INSTANCES=1000000 makes as many as the check names, which takes minutes.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Console, printTime, sees, until } from './harness.mjs'

const console_ = new Console()
const { server } = console_
before(() => console_.start())
after(() => console_.stop())

const kCrowd = `id: crowd
start: {type: event, event: {type: crowd.placed}}
states:
- {id: wait, type: consumeEvent, event: {type: crowd.go}}
`

/** Starts instances that wait, by events from NATS, so many at a time that neither queue grows long. */
async function startCrowd(total) {
  const counted = async () => (await server.get('/instances/count?by=status&workflow=crowd')).items.reduce((sum, item) => sum + item.count, 0)
  await server.call('PUT', '/v1/ns/default/workflows/crowd', kCrowd, { 'content-type': 'application/yaml' })
  for (let sent = 0; sent < total;) {
    const batch = Array.from({ length: Math.min(5000, total - sent) }, (_, index) => JSON.stringify({ specversion: '1.0', id: `crowd-${sent + index}`, source: 'crowd', type: 'crowd.placed' }))
    await server.publish('millrace.events.default.crowd.placed', batch)
    sent += batch.length
    await until(async () => (await counted()) === sent, `${sent} instances`)
  }
}

/** Reads older rows until as many rows were read; the document never has more than 2 000. */
async function readOlder(page, total) {
  for (let read = 100; read < total; read += 100) {
    const lastRow = await page.locator('tbody tr').last().getAttribute('data-row')
    await page.getByRole('button', { name: 'Older' }).click()
    await until(async () => (await page.locator('tbody tr').last().getAttribute('data-row')) !== lastRow, `the rows after the first ${read}`)
    assert.ok((await page.locator('tbody tr').count()) <= 2000)
  }
}

test('16 a million: a few failed among very many are found, counts are exact, and the list is bounded', async () => {
  const total = Number(process.env.MILLRACE_PAGE_INSTANCES ?? 25_000)
  for (let index = 0; index < 37; index += 1) await server.run('typed', {})
  for (let index = 0; index < 230; index += 10) await Promise.all(Array.from({ length: 10 }, () => server.run('fails')))
  await startCrowd(total)
  const page = await console_.open('#/default/instances?status=failed&workflow=typed')
  const asked = performance.now()
  await page.reload()
  await page.locator('tbody tr').nth(36).waitFor()
  printTime('failed_page_ms', performance.now() - asked)
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime)
  if (paint) printTime('first_paint_ms', paint)
  const counts = () => page.getByLabel('Counts by status').getByRole('link').allTextContents()
  const exact = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, '\u202f')
  await until(async () => (await counts()).some((text) => text.trim() === 'failed 37'), `failed 37 in ${await counts()}`)
  assert.equal(await page.locator('tbody tr').count(), 37)
  await sees(page, /37 shown, that is all/)
  assert.equal(await page.getByRole('button', { name: 'Older' }).count(), 0)

  // All that have failed, to the end: each is there once.
  await console_.show(page, 'default/instances?status=failed')
  await readOlder(page, 267)
  await sees(page, /267 shown, that is all/)
  const rows = await page.locator('tbody tr').evaluateAll((all) => all.map((one) => one.dataset.row))
  assert.equal(new Set(rows).size, 267)
  assert.equal(rows.length, 267)
  assert.equal(await page.getByRole('button', { name: 'Older' }).count(), 0)

  await console_.show(page, 'default/instances?status=waiting&workflow=crowd')
  await until(async () => (await counts()).some((text) => text.trim() === `waiting ${exact(total)}`), `waiting ${exact(total)} in ${await counts()}`)
  await readOlder(page, 2300)
  assert.equal(await page.locator('tbody tr').count(), 2000)
  // What the list has given up is said, and can be shown again.
  await sees(page, '2\u202f000 shown, without the first 300')
  await page.getByRole('button', { name: 'Back to the first' }).click()
  await until(async () => (await page.locator('tbody tr').count()) === 100)

  // A filter without an index: the server looks at so many, and says so; "Go on" goes on.
  await console_.show(page, 'default/instances?workflow=crowd&has=deadline')
  await sees(page, /the server looked at [\d\u202f]+; go on/)
  await Promise.all([page.waitForResponse((response) => response.url().includes('cursor=')), page.getByRole('button', { name: 'Go on' }).click()])
  await sees(page, /the server looked at|that is all|No instance fits/)
})

test('17 many records: the newest page is shown, record 1 is reached, and the heap stays small', async () => {
  const id = await server.run('loop', { n: 0, of: 49_000 })
  await server.reaches(id, 'complete')
  const page = await console_.open(`#/default/instances/${id}/story`)
  await page.locator('[data-record="98003"]').waitFor()
  assert.ok((await page.locator('[data-record]').count()) <= 200)
  await page.getByLabel('Jump to record').fill('1')
  await page.keyboard.press('Enter')
  await page.locator('[data-record="1"]').waitFor()
  assert.match(page.url(), /at=1$/)
  // What is in use, not what waits to be collected.
  const browser = await page.context().newCDPSession(page)
  await browser.send('HeapProfiler.collectGarbage')
  const { usedSize: heap } = await browser.send('Runtime.getHeapUsage')
  assert.ok(heap < 60 * 1024 * 1024, `${heap} bytes`)
})

test('24 budgets: the build names its files with hashes, and is within its sizes', () => {
  const out = mkdtempSync(join(tmpdir(), 'millrace-page-build-'))
  const here = dirname(fileURLToPath(import.meta.url))
  const run = spawnSync(process.execPath, [join(here, '../build.mjs'), out], { encoding: 'utf8' })
  assert.equal(run.status, 0, run.stdout + run.stderr)
  const manifest = JSON.parse(readFileSync(join(out, 'manifest.json'), 'utf8'))
  for (const entry of manifest) {
    assert.ok(existsSync(join(out, entry.file)), entry.file)
    assert.equal(entry.immutable, /-[A-Z0-9]{8}\.(js|css)$/.test(entry.path), entry.path)
    assert.match(entry.type, /; charset=utf-8$/)
  }
  assert.equal(manifest.find((entry) => entry.path === '/').file, 'index.html')
  assert.ok(!/<script>|<style|style=/.test(readFileSync(join(out, 'index.html'), 'utf8')))
  // The same build with the budgets of a smaller page fails, and names each part that is too large.
  const tight = join(here, `../build.tight-${process.pid}.mjs`)
  const budgets = /const kBudgets = (\{.*\})/
  const text = readFileSync(join(here, '../build.mjs'), 'utf8')
  const names = ['first load', 'graph', 'chart', 'editor', 'all, gzip and brotli']
  writeFileSync(tight, text.replace(budgets, `const kBudgets = ${JSON.stringify(Object.fromEntries(names.map((name) => [name, 1])))}`))
  const failed = spawnSync(process.execPath, [tight, out], { encoding: 'utf8' })
  rmSync(tight)
  assert.equal(failed.status, 1, failed.stdout + failed.stderr)
  for (const name of names) assert.match(failed.stdout, new RegExp(`^${name} .*ABOVE ITS BUDGET$`, 'm'))
  // The budgets are those of the page's design.
  assert.match(text, /kBudgets = \{ 'first load': 60, graph: 22, chart: 25, editor: 140, 'all, gzip and brotli': 550 \}/)
  const again = mkdtempSync(join(tmpdir(), 'millrace-page-build-'))
  spawnSync(process.execPath, [join(here, '../build.mjs'), again])
  assert.equal(readFileSync(join(again, 'manifest.json'), 'utf8'), readFileSync(join(out, 'manifest.json'), 'utf8'))
  rmSync(out, { recursive: true })
  rmSync(again, { recursive: true })
})

// Acceptance checks 16 (with 2 300 instances in place of a million), 17 and 24: many rows, many records,
// and the budgets of the build.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Console, printTime, sees, until } from './harness.mjs'

const console_ = new Console()
const { server } = console_
before(() => console_.start())
after(() => console_.stop())

test('16 many instances: counts are exact, Older goes to the end, and the list has 2 000 rows at most', async () => {
  const total = 2300
  for (let index = 0; index < total; index += 50) await Promise.all(Array.from({ length: 50 }, () => server.run('fails')))
  for (let index = 0; index < 37; index += 1) await server.run('typed', {})
  const page = await console_.open('#/default/instances?status=failed&workflow=typed')
  const asked = performance.now()
  await page.reload()
  await page.locator('tbody tr').nth(36).waitFor()
  printTime('failed_page_ms', performance.now() - asked)
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime)
  if (paint) printTime('first_paint_ms', paint)
  await sees(page.getByLabel('Counts by status'), '37')
  assert.equal(await page.getByRole('button', { name: 'Older' }).count(), 0)
  await page.goto(`${console_.base}#/default/instances?status=failed&workflow=fails`)
  await until(async () => (await page.locator('tbody tr').count()) === 100)
  await sees(page.getByLabel('Counts by status'), '2\u202f300')
  let shown = 100
  for (const older = page.getByRole('button', { name: 'Older' }); shown < total;) {
    const lastRow = await page.locator('tbody tr').last().getAttribute('data-row')
    await older.click()
    await until(async () => (await page.locator('tbody tr').last().getAttribute('data-row')) !== lastRow)
    shown += 100
    assert.ok((await page.locator('tbody tr').count()) <= 2000)
  }
  await sees(page, /that is all/)
  assert.equal(await page.locator('tbody tr').count(), 2000)
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
  const heap = await page.evaluate(() => performance.memory.usedJSHeapSize)
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
  const again = mkdtempSync(join(tmpdir(), 'millrace-page-build-'))
  spawnSync(process.execPath, [join(here, '../build.mjs'), again])
  assert.equal(readFileSync(join(again, 'manifest.json'), 'utf8'), readFileSync(join(out, 'manifest.json'), 'utf8'))
  rmSync(out, { recursive: true })
  rmSync(again, { recursive: true })
})

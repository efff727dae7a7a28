// Acceptance checks 14 and 15: the editor and the graph.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Console, runShell, sees, until } from './harness.mjs'

const console_ = new Console()
const { server } = console_
const kSamples = join(dirname(fileURLToPath(import.meta.url)), '../../docs/samples')
before(async () => {
  await console_.start()
  for (const name of readdirSync(kSamples)) {
    if (!name.endsWith('.yaml') || name.endsWith('.test.yaml')) continue
    const text = readFileSync(join(kSamples, name), 'utf8')
    const id = /^id: (\S+)/m.exec(text)?.[1]
    if (id) await server.call('PUT', `/v1/ns/default/workflows/${id}`, text, { 'content-type': 'application/yaml' })
  }
})
after(() => console_.stop())

test('14 editor: a mistake is marked at its place, a key is completed, and the text becomes a revision', async () => {
  const page = await console_.open('#/default/workflows/booking/text')
  const content = page.locator('.cm-content')
  await content.waitFor()
  const line = page.locator('.cm-line', { hasText: 'timeout: PT1H' })
  await line.click()
  await page.keyboard.press('End')
  for (let index = 0; index < 'out: PT1H'.length; index += 1) await page.keyboard.press('Backspace')
  await page.keyboard.type('ot: PT1H')
  await page.keyboard.press('Escape')
  const number = 1 + (await page.locator('.cm-line').allTextContents()).findIndex((text) => text.includes('timeot'))
  const finding = page.locator('[data-finding]', { hasText: 'timeot' })
  await sees(finding, 'did you mean "timeout"')
  const column = 1 + (await page.locator('.cm-line').nth(number - 1).textContent()).indexOf('timeot')
  assert.equal(await finding.getByRole('button').textContent(), `${number}:${column}`)
  assert.equal(await page.locator('.cm-lintRange-error').first().textContent(), 'timeot')
  assert.ok(await page.getByRole('button', { name: /^Apply as revision/ }).isDisabled())
  await page.locator('.cm-line', { hasText: 'timeot: PT1H' }).click()
  await page.keyboard.press('End')
  for (let index = 0; index < 'timeot: PT1H'.length; index += 1) await page.keyboard.press('Backspace')
  await page.keyboard.type('timeou')
  const option = page.locator('.cm-tooltip-autocomplete li', { hasText: /^timeout$/ })
  await option.waitFor()
  // The sentence is that of the schema of definitions.
  const described = await page.locator('.cm-completionInfo').textContent()
  assert.ok(described.length > 20 && JSON.stringify(await server.call('GET', '/v1/schema')).includes(JSON.stringify(described).slice(1, -1)), described)
  await option.click()
  await page.keyboard.type('PT2H')
  await page.getByRole('button', { name: /^Apply as revision 2/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Apply', exact: true }).click()
  await until(async () => (await server.get('/workflows/booking')).revision === 2)
  await page.goto(`${console_.base}#/default/workflows/booking/revisions`)
  await page.locator('.diff [data-kind]').first().waitFor()
  const changed = (kind) => page.locator(`.diff [data-kind="${kind}"]`).evaluateAll((lines) => lines.map((one) => one.lastChild.textContent.trim()))
  assert.deepEqual([await changed('removed'), await changed('added')], [['timeout: PT1H'], ['timeout: PT2H']])
})

test('14 editor: a text that was typed and not applied is there again, until it is applied or discarded', async () => {
  await server.call('PUT', '/v1/ns/default/workflows/drafted', 'id: drafted\nstates:\n- {id: only, type: noop}\n', { 'content-type': 'application/yaml' })
  const page = await console_.open('#/default/workflows/drafted/text')
  const line = (text) => page.locator('.cm-line', { hasText: text })
  const open = (tab) => page.getByRole('navigation', { name: 'Parts of the workflow' }).getByRole('link', { name: tab }).click()
  await line('id: drafted').click()
  await page.keyboard.press('End')
  await page.keyboard.type('  # typed')
  assert.equal(await page.getByText('This draft was not applied').count(), 0)
  await open('Graph')
  await page.locator('svg [data-state="only"]').waitFor()
  await open('Text')
  await line('# typed').waitFor()
  await sees(page, 'This draft was not applied')
  await server.call('PUT', '/v1/ns/default/workflows/drafted', 'id: drafted\nname: New\nstates:\n- {id: only, type: noop}\n', { 'content-type': 'application/yaml' })
  await console_.show(page, 'default/workflows')
  await console_.show(page, 'default/workflows/drafted/text')
  await line('# typed').waitFor()
  await sees(page, 'It was made from revision 1, and revision 2 was applied since.')
  await page.getByRole('button', { name: /^Apply as revision 3/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Apply', exact: true }).click()
  await page.getByRole('button', { name: /^Apply as revision 4/ }).waitFor()
  assert.equal(await page.getByText('This draft was not applied').count(), 0)
  await line('# typed').waitFor()
  await open('Graph')
  await open('Text')
  await line('# typed').waitFor()
  assert.equal(await page.getByText('This draft was not applied').count(), 0)
  const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))
  assert.ok(!stored.includes('typed'))
  await page.context().close()
})

/** Applies a text of the workflow `shared` that has a name, as another person would. */
async function applyElsewhere(name) {
  return (await server.call('PUT', '/v1/ns/default/workflows/shared', `id: shared\nname: ${name}\nstates:\n- {id: only, type: noop}\n`, { 'content-type': 'application/yaml' })).revision
}

/** Types at the end of the first line of the workflow that an editor shows. */
async function typeAt(page, text) {
  await page.locator('.cm-line', { hasText: 'id: shared' }).click()
  await page.keyboard.press('End')
  await page.keyboard.type(text)
}

test('14 editor: a text does not replace a revision that was made meanwhile, unless that is asked for', async () => {
  const first = await applyElsewhere('First')
  const page = await console_.open('#/default/workflows/shared/text')
  const dialog = page.getByRole('dialog')
  const definition = async () => (await server.get('/workflows/shared')).definition
  await typeAt(page, '  # mine')
  await page.getByRole('button', { name: `Apply as revision ${first + 1}…` }).click()
  const second = await applyElsewhere('Second')
  await dialog.getByRole('button', { name: 'Apply', exact: true }).click()
  await sees(dialog.getByRole('alert'), 'workflow.revision_conflict')
  await dialog.getByRole('heading', { name: 'Nothing was applied to shared' }).waitFor()
  // The news is said once, and what is proposed is to look at the other revision.
  assert.equal((await dialog.innerText()).split(`has revision ${second} now`).length, 2)
  await sees(dialog, 'Instances that start once this text is applied use it; those that run keep their revision.')
  assert.deepEqual(await dialog.locator('.primary').allTextContents(), [`Load revision ${second} in place of this text`])
  await sees(dialog, `The differences of this text from revision ${second}`)
  assert.deepEqual(await dialog.locator('.diff [data-kind="removed"]').allTextContents(), ['− removed: id: shared', '− removed: name: Second'])
  assert.doesNotMatch(await definition(), /mine/)
  await dialog.getByRole('button', { name: `Apply anyway as revision ${second + 1}` }).click()
  await dialog.waitFor({ state: 'detached' })
  assert.match(await definition(), /# mine/)
  // Now the other one is taken.
  await typeAt(page, ' again')
  await page.getByRole('button', { name: `Apply as revision ${second + 2}…` }).click()
  const third = await applyElsewhere('Third')
  await dialog.getByRole('button', { name: 'Apply', exact: true }).click()
  await dialog.getByRole('button', { name: `Load revision ${third} in place of this text` }).click()
  await page.locator('.cm-line', { hasText: 'name: Third' }).waitFor()
  assert.equal(await page.locator('.cm-line', { hasText: 'again' }).count(), 0)
  assert.equal(await page.getByText('This draft was not applied').count(), 0)
  assert.doesNotMatch(await definition(), /again/)
  await page.context().close()
})

test('14 editor: a revision that is applied elsewhere is shown without a reload', async () => {
  const first = await applyElsewhere('Before')
  const page = await console_.open('#/default/workflows/shared/text')
  await sees(page, `revision ${first}, applied`)
  await page.locator('.cm-line', { hasText: 'name: Before' }).waitFor()
  const second = await applyElsewhere('After')
  await sees(page, `revision ${second}, applied`)
  await page.locator('.cm-line', { hasText: 'name: After' }).waitFor()
  await page.context().close()
})

test('workflows: a new definition does not replace a workflow that has its name, unless that is asked for', async () => {
  const newest = await applyElsewhere('Taken')
  const page = await console_.open('#/default/workflows')
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Apply a definition…' }).click()
  await dialog.getByLabel('Definition (YAML)').fill('id: shared\nstates:\n- {id: other, type: noop}\n')
  await dialog.getByRole('button', { name: 'Apply shared' }).click()
  await sees(dialog.getByRole('alert'), 'workflow.revision_conflict')
  await dialog.getByRole('button', { name: 'Apply anyway' }).waitFor()
  await dialog.getByRole('button', { name: `Load revision ${newest} in place of this text` }).click()
  await page.locator('.cm-line', { hasText: 'name: Taken' }).waitFor()
  assert.equal((await server.get('/workflows/shared')).revision, newest)
  await page.context().close()
})

test('workflows: a new definition that was typed is there when the dialog is opened again', async () => {
  const page = await console_.open('#/default/workflows')
  const button = page.getByRole('button', { name: 'Apply a definition…' })
  const field = page.getByLabel('Definition (YAML)')
  await button.click()
  const example = await field.inputValue()
  await field.fill('id: typed-here\n')
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
  await button.click()
  assert.equal(await field.inputValue(), 'id: typed-here\n')
  await page.getByRole('button', { name: 'Discard the draft' }).click()
  assert.equal(await field.inputValue(), example)
  await page.context().close()
})

/** An answer of a server that is busy, which names when to ask again. */
const kBusy = { status: 503, headers: { 'retry-after': '1' }, contentType: 'application/problem+json', body: JSON.stringify({ type: 'about:blank', title: 'Service Unavailable', status: 503, code: 'busy', detail: 'too many calls' }) }

/** Answers the first `times` calls of a page to a path in place of the server. */
async function isBusy(page, path, times) {
  let answered = 0
  await page.route(path, (route) => { answered += 1; return answered > times ? route.continue() : route.fulfill(kBusy) })
}

test('workflows: the command of a new definition has its text, and applies it', async () => {
  const page = await console_.open('#/default/workflows')
  await page.getByRole('button', { name: 'Apply a definition…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Definition (YAML)').fill("id: copied\nstates:\n- {id: only, type: noop, log: \"it's\nEOF\n\"}")
  await dialog.getByText('Copy as command').click()
  assert.match(await dialog.getByLabel('HTTP call').textContent(), /--data-binary @- <<'EOF_'\nid: copied\n/)
  const line = await dialog.getByLabel('Command line').textContent()
  assert.match(line, /^millrace workflow apply - --base-revision 0 --url http:\S+ <<'EOF_'\nid: copied\n/)
  await runShell(line)
  assert.match((await server.get('/workflows/copied')).definition, /log: "it's\nEOF\n"\}\n$/)
  await page.context().close()
})

test('a call is tried again as often as the server is busy, with a countdown each time', async () => {
  const page = await console_.open('#/default/workflows')
  await isBusy(page, /\/workflows\/booking$/, 3)
  await console_.show(page, 'default/workflows/booking/run')
  await page.getByRole('heading', { name: 'Run booking' }).waitFor()
  assert.equal(await page.locator('.problem').count(), 0)
  await page.context().close()
})

test('14 editor: a text that could not be checked is not called free of errors', async () => {
  const page = await console_.open('#/default/workflows')
  await page.route(/\/v1\/lint$/, (route) => route.fulfill({ ...kBusy, headers: {} }))
  await console_.show(page, 'default/workflows/booking/text')
  const findings = page.getByRole('region', { name: 'Findings' })
  await sees(findings, 'too many calls')
  assert.equal(await findings.getByText('No errors').count(), 0)
  await page.unroute(/\/v1\/lint$/)
  await findings.getByRole('button', { name: 'Try again' }).click()
  await sees(findings, 'No errors, warnings or notes.')
  await page.context().close()
})

test('an expression is tried on data', async () => {
  const page = await console_.open('#/default/workflows/booking/text')
  await page.getByLabel('jq program').fill('.order.id')
  await page.getByLabel('Data (JSON)').fill('{"order": {"id": "o-1", "n": 12345678901234567890}}')
  await page.getByRole('button', { name: 'Evaluate' }).click()
  await sees(page.getByLabel('Result'), '"o-1"')
  await page.getByLabel('jq program').fill('.order | error')
  await page.getByRole('button', { name: 'Evaluate' }).click()
  await page.getByRole('alert').waitFor()
})

test('15 graph: each state is a node and each way a way, in all workflows', async () => {
  const page = await console_.open('#/default/workflows')
  const { items } = await server.get('/workflows?limit=200')
  assert.ok(items.length > 20)
  for (const { id } of items) {
    const graph = await server.get(`/workflows/${id}/graph`)
    await page.goto(`${console_.base}#/default/workflows/${id}/graph`)
    await page.locator(`svg[aria-label^="Graph of ${id}:"] [data-state]`).first().waitFor()
    const shown = await page.locator('svg [data-state]').evaluateAll((nodes) => nodes.map((node) => node.dataset.state).sort())
    assert.deepEqual(shown, graph.states.map((state) => state.id).sort(), id)
    assert.equal(await page.locator('svg .way').count(), graph.ways.length + (graph.start.state === null ? 0 : 1), id)
    assert.deepEqual(await looseEnds(page), [], id)
  }
})

/** The ways of the graph that is shown that do not begin at the edge of the box of their source and end at that of their target, and loops that are no more than a line. */
function looseEnds(page) {
  return page.locator('.graph svg').evaluate((svg) => {
    const boxes = new Map([...svg.querySelectorAll('.node')].map((node) => [node.dataset.state ?? `(${{ end: 'end', 'any state': 'any' }[node.textContent] ?? 'start'})`, node.querySelector('rect').getBBox()]))
    // Two pixels: the border of a box is as wide as that.
    const isAtEdge = ({ x, y }, box) => box && x >= box.x - 2 && x <= box.x + box.width + 2 && y >= box.y - 2 && y <= box.y + box.height + 2
      && !(x > box.x + 2 && x < box.x + box.width - 2 && y > box.y + 2 && y < box.y + box.height - 2)
    return [...svg.querySelectorAll('.way')].flatMap((way) => {
      const [source, target] = way.dataset.way.split('>')
      const isJoined = isAtEdge(way.getPointAtLength(0), boxes.get(source)) && isAtEdge(way.getPointAtLength(way.getTotalLength()), boxes.get(target))
      const isLine = source === target && (way.getBBox().height < 4 || way.getBBox().width < 8)
      return isJoined && !isLine && way.getAttribute('marker-end') ? [] : [`${way.dataset.way} ${way.getAttribute('d')}`]
    })
  })
}

test('15 graph: ways that lead back to their state are loops beside it, one around the other', async () => {
  const events = ['sale', 'return', 'gift', ''].map((type) => `      - {event: {type: ${type || 'other'}}, ${type && `transform: 'jq({x: ${JSON.stringify(type)}})', `}transition: collect}`)
  await server.call('PUT', '/v1/ns/default/workflows/loops', `id: loops\nstates:\n  - id: collect\n    type: eventXor\n    events:\n${events.join('\n')}\n`, { 'content-type': 'application/yaml' })
  const page = await console_.open('#/default/workflows/loops/graph')
  await page.locator('svg .way').nth(3).waitFor({ state: 'attached' })
  assert.deepEqual(await looseEnds(page), [])
  const boxes = await page.locator('svg .way[data-way="collect>collect"]').evaluateAll((ways) => ways.map((way) => way.getBBox()).map(({ y, width, height }) => ({ y, width, height })).sort((a, b) => a.width - b.width))
  assert.equal(boxes.length, 4)
  for (const [index, box] of boxes.slice(1).entries()) assert.ok(box.width > boxes[index].width + 4 && box.height > boxes[index].height && box.y < boxes[index].y, JSON.stringify(boxes))
  await page.context().close()
})

test('15 graph: the way to the end is marked as taken by an instance that took it, and by no other', async () => {
  const failing = 'id: raises\nstates:\n- {id: first, type: noop, transition: last}\n- {id: last, type: noop, transform: jq(error)}\n'
  await server.call('PUT', '/v1/ns/default/workflows/raises', failing, { 'content-type': 'application/yaml' })
  await server.call('PUT', '/v1/ns/default/workflows/ends', failing.replace('raises', 'ends').replace(', transform: jq(error)', ''), { 'content-type': 'application/yaml' })
  const complete = await server.run('ends')
  const failed = await server.run('raises')
  const stopped = await server.run('fails')
  await server.reaches(complete, 'complete')
  await server.reaches(failed, 'failed')
  await server.reaches(stopped, 'failed')
  const page = await console_.open(`#/default/instances/${complete}/story`)
  const taken = () => page.locator('svg .way.is-taken').evaluateAll((ways) => ways.map((way) => way.dataset.way).sort())
  await page.locator('svg .way').first().waitFor({ state: 'attached' })
  assert.deepEqual(await taken(), ['(start)>first', 'first>last', 'last>(end)'])
  await console_.show(page, `default/instances/${complete}/story?at=3`)
  await page.locator('h2', { hasText: 'Graph at record 3' }).waitFor()
  assert.deepEqual(await taken(), ['(start)>first', 'first>last'])
  await console_.show(page, `default/instances/${failed}/story`)
  await page.locator('svg [data-state="last"].is-bad').waitFor()
  assert.deepEqual(await taken(), ['(start)>first', 'first>last'])
  await console_.show(page, `default/instances/${stopped}/story`)
  await page.locator('svg [data-state="stop"].is-bad').waitFor()
  assert.deepEqual(await taken(), ['(start)>stop', 'stop>(end)'])
  await page.context().close()
})

test('15 graph: the current state is marked, and the keyboard alone reaches each state', async () => {
  const id = await server.run('booking', { customerId: 'c-150' })
  const page = await console_.open(`#/default/instances/${id}/story`)
  const current = page.locator('svg [aria-current="step"]')
  await current.waitFor()
  assert.equal(await current.getAttribute('data-state'), 'wait-for-booking')
  await current.focus()
  const name = () => page.evaluate(() => document.activeElement.dataset.state)
  await page.keyboard.press('ArrowDown')
  assert.equal(await name(), 'done')
  await page.keyboard.press('ArrowUp')
  assert.equal(await name(), 'wait-for-booking')
  await page.keyboard.press('End')
  assert.equal(await name(), 'give-up')
  await page.keyboard.press('Enter')
  await page.waitForURL(/instances\?workflow=booking&state=give-up/)
})

test('15 graph: in a narrow window the graph fits its panel, and names break between their words', async () => {
  const id = await server.run('booking', { customerId: 'c-151' })
  const page = await console_.open(`#/default/instances/${id}/story`, { width: 320 })
  await page.locator('svg [data-state]').first().waitFor()
  const graph = await page.locator('.graph').evaluate((panel) => ({ needs: panel.scrollWidth, has: panel.clientWidth }))
  assert.ok(graph.needs <= graph.has, JSON.stringify(graph))
  const names = await page.locator('svg [data-state]').evaluateAll((nodes) => nodes.map((node) => {
    const box = node.querySelector('rect').getBoundingClientRect()
    const lines = [...node.querySelectorAll('tspan')].map((line) => ({ text: line.textContent, at: line.getBoundingClientRect() }))
    return { lines: lines.map((line) => line.text), isInside: lines.every(({ at }) => at.left >= box.left && at.right <= box.right && at.top >= box.top && at.bottom <= box.bottom) }
  }))
  assert.deepEqual(names.map((name) => name.lines), [['wait-for-', 'booking'], ['done'], ['give-up']])
  assert.ok(names.every((name) => name.isInside), JSON.stringify(names))
  await page.getByRole('button', { name: '100 %' }).click()
  assert.equal(await page.getByRole('button', { name: 'Fit' }).getAttribute('aria-pressed'), 'false')
  await page.context().close()
})

test('the layout of a large graph runs in a worker', async () => {
  const states = Array.from({ length: 80 }, (_, index) => `  - {id: s${index}, type: noop${index < 79 ? `, transition: s${index + 1}` : ''}}`)
  await server.call('PUT', '/v1/ns/default/workflows/large', `id: large\nstates:\n${states.join('\n')}\n`, { 'content-type': 'application/yaml' })
  const page = await console_.open('#/default/workflows')
  const worker = page.waitForEvent('worker')
  await page.goto(`${console_.base}#/default/workflows/large/graph`)
  await worker
  await page.locator('svg [data-state="s79"]').waitFor()
  assert.equal(await page.locator('svg [data-state]').count(), 80)
})

// Measures the times of the page in a browser, on a store of many instances: `./dev bench page`.
//   MILLRACE=build/release/app/millrace node page/bench.mjs [INSTANCES [RECORDS]]
// Each figure is the median of kRounds rounds; nothing fails because of a time.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Console, Server, settled, until } from './tests/harness.mjs'

const [kInstances = 1_000_000, kRecords = 100_000] = process.argv.slice(2).map(Number)
const kRounds = 9
const kAtOnce = 10_000 // events that are published between two looks at the server
const kGraphStates = 30

const workflows = {
  // Each event starts one instance, which ends at once; of those with a number that ends with 37, some fail.
  many: `
id: many
start: {type: event, event: {type: many.start}}
states:
  - id: look
    type: switch
    conditions:
      - {condition: 'jq(."many.start".fails)', transition: fail}
  - {id: fail, type: error, error: many.failed, message: 'the order has no price'}
`,
  // Two records for each round, until the counter is at its end.
  long: `
id: long
states:
  - id: count
    type: noop
    transform: 'jq({n: (.n + 1), last})'
    transition: look
  - id: look
    type: switch
    conditions:
      - {condition: 'jq(.n < .last)', transition: count}
    defaultTransition: wait
  - {id: wait, type: delay, duration: PT1H}
`,
  wide: `id: wide\nstates:\n${Array.from({ length: kGraphStates }, (_, i) => `  - id: step-${i}\n    type: switch\n    conditions:\n      - {condition: 'jq(.skip)', transition: step-${Math.min(i + 2, kGraphStates - 1)}}\n    defaultTransition: ${i + 1 < kGraphStates ? `step-${i + 1}` : 'end'}\n`).join('')}  - {id: end, type: noop}\n`,
}

function row(what, figure, comparison) {
  console.log(`| ${what} | ${figure} | ${comparison} |`)
}

function median(values) {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)]
}

async function ended(server) {
  const { items } = await server.get('/instances/count?by=status')
  return items.filter((item) => ['complete', 'failed'].includes(item.status)).reduce((sum, item) => sum + item.count, 0)
}

/** Starts the instances, and waits until all have ended. */
async function fill(server) {
  for (let first = 0; first < kInstances; first += kAtOnce) {
    const texts = []
    for (let i = first; i < Math.min(first + kAtOnce, kInstances); ++i) {
      const fails = i % Math.ceil(kInstances / 37) === 0
      texts.push(JSON.stringify({ specversion: '1.0', id: `m-${i}`, source: 'bench', type: 'many.start', data: { fails } }))
    }
    await server.publish('millrace.events.default.many', texts)
  }
  await until(async () => (await ended(server)) >= kInstances, 'all instances have ended')
}

/** The time from an act until the page is settled, and the time of the browser's main thread in it, both in ms. */
async function timed(page, act, ready) {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const busy = async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return metrics.find((metric) => metric.name === 'TaskDuration').value * 1000
  }
  const before = await busy()
  const from = performance.now()
  await act()
  await settled(page)
  await page.locator(ready).first().waitFor()
  const times = { elapsed: performance.now() - from, busy: (await busy()) - before }
  await session.detach()
  return times
}

/** Prints a row about a route that is shown in an open page. `limit`: of `kind`, in ms. */
async function measure(console_, what, route, ready, kind, limit) {
  const page = await console_.open('#/default/next')
  const all = []
  for (let round = 0; round < kRounds; ++round) {
    await console_.show(page, 'default/next')
    all.push(await timed(page, () => console_.show(page, route), ready))
  }
  await page.context().close()
  const elapsed = median(all.map((one) => one.elapsed))
  const busy = median(all.map((one) => one.busy))
  const figure = kind === 'busy' ? busy : elapsed
  row(what, `${elapsed.toFixed(0)} ms, of them ${busy.toFixed(0)} ms of the main thread`,
    `goal ${limit} ms${kind === 'busy' ? ' of the main thread' : ''}: ${figure <= limit ? 'kept' : 'missed'}`)
}

async function measureFirstPaint(console_) {
  const all = []
  for (let round = 0; round < kRounds; ++round) {
    const page = await console_.open('#/default')
    await settled(page)
    all.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime))
    await page.context().close()
  }
  const paint = median(all)
  row('first paint, nothing in the cache', `${paint.toFixed(0)} ms`, `goal 300 ms: ${paint <= 300 ? 'kept' : 'missed'}`)
}

const flows = mkdtempSync(join(tmpdir(), 'millrace-page-bench-'))
for (const [name, text] of Object.entries(workflows)) writeFileSync(join(flows, `${name}.yaml`), text)
const console_ = new Console({ server: new Server({ flows }) })
try {
  await console_.start()
  const { server } = console_
  await server.call('PUT', '/v1/ns/default', { quotas: { instances: 'unlimited', storeBytes: 'unlimited', eventsPerSecond: 'unlimited', historyBytes: 'unlimited' } })
  await fill(server)
  const long = await server.run('long', { n: 0, last: Math.ceil(kRecords / 2) })
  await until(async () => { const { state } = await server.instance(long); return state === 'wait' }, 'the long history')
  row('what', 'figure', 'comparison')
  row('---', '---:', '---')
  await measureFirstPaint(console_)
  await measure(console_, `first page of ${kInstances} instances, 100 rows`, 'default/instances', 'tbody tr', 'busy', 50)
  await measure(console_, 'those that have failed', 'default/instances?status=failed', 'tbody tr', 'busy', 50)
  await measure(console_, `story of an instance with ${kRecords} records`, `default/instances/${long}/story`, 'svg [data-state]', 'busy', 50)
  await measure(console_, `graph of ${kGraphStates} states`, 'default/workflows/wide/graph', 'svg [data-state]', 'busy', 50)
  await measure(console_, 'editor', 'default/workflows/wide/text', '.cm-content', 'elapsed', 200)
} finally {
  await console_.stop()
  rmSync(flows, { recursive: true, force: true })
}

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

/**
 * Shows a route, and waits in the page until it has drawn what `ready` selects and is not busy: a look by
 * Playwright would be work of the main thread, too. Returns when it began, and the ms until something that `first` selects
 * and until all was drawn. The content of the editor is in a shadow root, which no selector reaches: the page is busy until it is there.
 */
function showAndWait(page, route, first, ready) {
  return page.evaluate(([hash, first, ready]) => new Promise((done) => {
    const main = document.querySelector('main')
    const from = performance.now()
    let seenAt = null
    const afterFrame = (work) => requestAnimationFrame(() => setTimeout(work))
    const look = () => {
      if (seenAt === null && main.querySelector(first) !== null) {
        seenAt = 0
        afterFrame(() => { seenAt = performance.now() - from })
      }
      const isBusy = main.ariaBusy === 'true' || main.querySelector('[aria-busy="true"]') !== null
      if (isBusy || main.querySelector('h1') === null || main.querySelector(ready) === null) return
      observer.disconnect()
      afterFrame(() => done({ from, seen: seenAt, elapsed: performance.now() - from }))
    }
    const observer = new MutationObserver(look)
    addEventListener('hashchange', () => {
      observer.observe(main, { attributeFilter: ['aria-busy'], childList: true, subtree: true })
      look()
    }, { once: true })
    location.hash = hash
  }), [`#/${route}`, first, ready])
}

/** The ms of the longest task since then, of those that the browser counts as long: 50 ms and more; 0: there was none. */
function longestTask(page, from) {
  return page.evaluate((from) => new Promise((done) => {
    let longest = 0
    const see = (tasks) => { for (const task of tasks) if (task.startTime >= from) longest = Math.max(longest, task.duration) }
    const tasks = new PerformanceObserver((list) => see(list.getEntries()))
    tasks.observe({ type: 'longtask', buffered: true })
    // The last task is reported behind the frame that follows it.
    requestAnimationFrame(() => setTimeout(() => {
      see(tasks.takeRecords())
      tasks.disconnect()
      done(longest)
    }))
  }), from)
}

/** The times of `showAndWait` and of the browser's main thread in it, in ms. */
async function timed(page, route, first, ready) {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const busy = async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return metrics.find((metric) => metric.name === 'TaskDuration').value * 1000
  }
  const before = await busy()
  const { from, seen, elapsed } = await showAndWait(page, route, first, ready)
  const times = { seen, elapsed, busy: (await busy()) - before, longest: await longestTask(page, from) }
  await session.detach()
  return times
}

/** Prints a row about a route that is shown in an open page; `first` selects what is seen first. `limit`: of `kind`, in ms. */
async function measure(console_, what, route, { first, ready = first, kind = 'busy', limit = 50 }) {
  const page = await console_.open('#/default/next')
  const all = []
  for (let round = 0; round < kRounds; ++round) {
    await console_.show(page, 'default/next')
    all.push(await timed(page, route, first, ready))
  }
  await page.context().close()
  const [seen, elapsed, busy, longest] = ['seen', 'elapsed', 'busy', 'longest'].map((name) => median(all.map((one) => one[name])))
  const figure = kind === 'busy' ? busy : elapsed
  const tasks = longest === 0 ? 'no task of 50 ms' : `a task of ${longest.toFixed(0)} ms`
  row(what, `${elapsed.toFixed(0)} ms, of them ${busy.toFixed(0)} ms of the main thread, ${tasks}; the first of it seen after ${seen.toFixed(0)} ms`,
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
  await measure(console_, `first page of ${kInstances} instances, 100 rows`, 'default/instances', { first: 'tbody tr' })
  await measure(console_, 'those that have failed', 'default/instances?status=failed', { first: 'tbody tr' })
  await measure(console_, `story of an instance with ${kRecords} records`, `default/instances/${long}/story`, { first: '[data-record]', ready: 'svg [data-state]' })
  await measure(console_, `graph of ${kGraphStates} states`, 'default/workflows/wide/graph', { first: 'svg [data-state]' })
  await measure(console_, 'editor', 'default/workflows/wide/text', { first: '.editor-host', kind: 'elapsed', limit: 200 })
} finally {
  await console_.stop()
  rmSync(flows, { recursive: true, force: true })
}

// Workflows whose starts, and a service whose calls, wait for limits.
import { setApprovals } from './approvals.mjs'
import { until } from './harness.mjs'

const kYaml = { 'content-type': 'application/yaml' }
const kFlows = {
  // One at once for a customer, until it is packed; a higher rank goes first.
  ship: `id: ship
concurrency: {limit: 1, key: jq(.customer), timeout: PT9H}
priority: jq(.rank // 0)
states:
  - {id: pack, type: consumeEvent, event: {type: packed}}
`,
  // One in an hour.
  notify: `id: notify
throttle: {limit: 1, period: PT1H}
states:
  - {id: tell, type: noop}
`,
  // Inputs are collected for an hour.
  gather: `id: gather
batch: {maxSize: 9, timeout: PT1H}
states:
  - {id: tell, type: noop}
`,
  // One call at once for a customer; the service accepts it and does not answer.
  settle: `id: settle
functions:
  - {id: transfer, type: service, service: approvals, concurrency: {limit: 1, key: jq(.customer)}, priority: 2}
states:
  - {id: pay, type: action, action: {function: transfer, input: jq(.)}}
`,
}

/** Gives a namespace the workflows and the service. */
export async function setLimits(server, ns) {
  await setApprovals(server, ns)
  for (const [id, text] of Object.entries(kFlows)) await server.call('PUT', `/v1/ns/${ns}/workflows/${id}`, text, kYaml)
}

/** Starts an instance in a namespace, and returns its id. */
export async function start(server, ns, workflow, input) {
  return (await server.call('POST', `/v1/ns/${ns}/workflows/${workflow}/start`, input)).id
}

/** Starts instances, so that some wait for each kind of limit, and returns their ids in the order of the starts. */
export async function fillQueues(server, ns) {
  const all = { ship: [], notify: [], settle: [] }
  for (const rank of [0, 0, 7]) all.ship.push(await start(server, ns, 'ship', { customer: 'Ada', rank }))
  for (let index = 0; index < 2; index += 1) all.notify.push(await start(server, ns, 'notify', {}))
  all.settle.push(await start(server, ns, 'settle', { customer: 'Ada' }))
  await until(async () => (await server.call('GET', `/v1/ns/${ns}/calls`)).items.length === 1, 'the service has accepted the first call')
  all.settle.push(await start(server, ns, 'settle', { customer: 'Ada' }))
  await until(async () => (await server.call('GET', `/v1/ns/${ns}/queues`)).items.length === 3, 'starts and calls wait')
  return all
}

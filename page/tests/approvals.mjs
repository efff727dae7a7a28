// A service that accepts each task and never answers it, a workflow that calls it, and one that would undo a state by it.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { until } from './harness.mjs'

const kApproval = `id: approval
functions:
  - {id: approve, type: service, service: approvals}
states:
  - id: ask
    type: action
    action: {function: approve, input: jq(.)}
    catch:
      - {error: approval.refused, transition: refused}
  - id: refused
    type: noop
`
const kLeft = `id: left
functions:
  - {id: undo, type: service, service: approvals}
states:
  - {id: book, type: noop, compensate: {function: undo, input: {}}, transition: stop}
  - {id: stop, type: error, error: order.failed, message: nothing is left}
`
const service = createServer((request, response) => {
  request.resume()
  response.writeHead(200, { 'Millrace-Answer': 'accepted', connection: 'close' })
  response.end()
})

/** Gives a namespace the service and the workflow. The service does not hold up the end of the tests. */
export async function setApprovals(server, ns) {
  if (!service.listening) {
    service.listen(0, '127.0.0.1')
    await once(service, 'listening')
    service.unref()
  }
  await server.call('PUT', `/v1/ns/${ns}`, { services: { approvals: { url: `http://127.0.0.1:${service.address().port}/approve` } } })
  for (const [id, text] of [['approval', kApproval], ['left', kLeft]]) await server.call('PUT', `/v1/ns/${ns}/workflows/${id}`, text, { 'content-type': 'application/yaml' })
}

/** Starts an instance, and returns its call when the service has accepted it. */
export async function askApproval(server, ns) {
  const { id } = await server.call('POST', `/v1/ns/${ns}/workflows/approval/start`, {})
  return until(async () => (await server.call('GET', `/v1/ns/${ns}/calls?instance=${id}`)).items[0], `the call of ${id} is accepted`)
}

/** Starts an instance that fails and makes no compensation, although it has noted one; returns its id. */
export async function leaveCompensation(server, ns) {
  const { id } = await server.call('POST', `/v1/ns/${ns}/workflows/left/start`, {})
  await until(async () => (await server.call('GET', `/v1/ns/${ns}/instances/${id}`)).status === 'failed', `${id} is failed`)
  return id
}

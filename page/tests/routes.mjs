// Every route of the page, on a server with something to show on each.
import { askApproval, leaveCompensation, setApprovals } from './approvals.mjs'
import { until } from './harness.mjs'
import { fillQueues, setLimits } from './limits.mjs'

/** Makes what the routes show, and returns their addresses behind `#/`. */
export async function routesOf(server) {
  const id = await server.run('booking', { customerId: 'axe' })
  const failed = await server.run('fails')
  const event = await server.send({ type: 'guestbooking', customerid: 'AXE' })
  await server.publish('millrace.events.default.order.placed', '{"specversion":"1.0","id":"x","type":"order.placed"}')
  const [letter] = await until(async () => { const { items } = await server.get('/dlq'); return items.length > 0 && items })
  await server.send({ type: 'pair.first', orderid: 'o-9' })
  await server.makeStream('ORDERS', ['shop.orders.*'])
  await server.publish('shop.orders.eu', '{"customer": "Ada"}')
  await server.publish('shop.orders.eu', 'no order')
  await server.applySource('orders', { stream: 'ORDERS', begin: 'all', mapping: { type: 'order.seen', subject: 'jq(.data.customer)' } })
  await server.setWebhook('axe-key')
  await server.call('PUT', '/v1/ns/empty')
  await setApprovals(server, 'answers')
  const accepted = await askApproval(server, 'answers')
  const uncompensated = await leaveCompensation(server, 'answers')
  await setLimits(server, 'limits')
  if ((await server.call('GET', '/v1/ns/limits/queues')).items.length === 0) await fillQueues(server, 'limits')
  return [
    'default', 'default/instances', 'default/instances?status=failed', `default/instances/${id}/story?at=2`, `default/instances/${id}/data`, `default/instances/${id}/why`,
    `default/instances/${failed}/calls`, `default/instances/${failed}/children`, `default/instances/${failed}/variables`, 'default/waiting', 'default/events', `default/events/${event.sequence}`,
    'default/events/try', 'default/events/replays', 'default/dead', `default/dead/${letter.id}`, 'default/workflows', 'default/workflows/booking/graph', 'default/workflows/booking/text', 'default/workflows/booking/revisions',
    'default/workflows/typed/run', 'default/groups', 'default/next', 'limits/queues', 'empty/queues', 'limits/workflows/settle/graph', 'default/calls', 'answers/calls', `answers/instances/${accepted.instance}/calls`, `answers/instances/${uncompensated}/story`, 'default/functions', 'default/values', 'default/sources', 'default/sources/orders', 'default/sources/orders/try', 'default/webhooks/git', 'empty/sources', 'empty/webhooks/git', 'server?namespace=default', 'default/nonsense',
  ]
}

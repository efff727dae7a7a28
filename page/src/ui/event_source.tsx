// The attribute `source` of an event; a link if it is that of a source or inbound webhook of the namespace.
import { href } from '../core/route'

const kOwn = /^\/v1\/ns\/([^/]+)\/(sources|hooks)\/([\w.-]+)$/
const kDefaultId = /^(.+)-(\d+)-\d{10,}$/

export interface OwnSource {
  kind: 'source' | 'webhook'
  name: string
}

/** The source or inbound webhook of the namespace whose events have this attribute `source` unless their mapping sets another. */
export function ownSource(ns: string, source: string | undefined): OwnSource | null {
  const [, owner, kind, name] = kOwn.exec(source ?? '') ?? []
  return owner === ns && name !== undefined ? { kind: kind === 'sources' ? 'source' : 'webhook', name } : null
}

/** The attribute `source` of the events of a source or an inbound webhook whose mapping sets no other. */
export function sourceAttribute(ns: string, { kind, name }: OwnSource): string {
  return `/v1/ns/${ns}/${kind === 'source' ? 'sources' : 'hooks'}/${name}`
}

export function EventSource({ ns, source }: { ns: string; source: string | undefined }) {
  const own = ownSource(ns, source)
  if (own === null) return <>{source}</>
  return <a href={href(ns, [own.kind === 'source' ? 'sources' : 'webhooks', own.name])}>{source}</a>
}

/** The message that the default id of an event of a source names; null: the event has another source or id. */
export function messageOf(ns: string, source: string | undefined, id: string | undefined): { stream: string; sequence: string } | null {
  const [, stream, sequence] = kDefaultId.exec(id ?? '') ?? []
  if (stream === undefined || sequence === undefined || ownSource(ns, source)?.kind !== 'source') return null
  return { stream, sequence }
}

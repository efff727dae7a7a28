// The inbound webhooks that the settings of a namespace have.
import { sourceAttribute } from '../ui/event_source'

export interface InboundWebhook {
  name: string
  /** How a service writes its signature into its requests. */
  form: string
  /** The names of the secrets, each of which is valid. */
  secrets: string[]
  /** The other settings of the signature. */
  verify: Array<[string, unknown]>
  mapping: Record<string, unknown>
}

type Members = Record<string, unknown>

function members(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {}
}

/** The setting `hooks`, by name; settings that are not JSON have none. */
export function inboundWebhooksOf(settings: unknown): InboundWebhook[] {
  return Object.entries(members(members(settings).hooks)).map(([name, value]) => {
    const { form, secrets, ...rest } = members(members(value).verify)
    return {
      name,
      form: String(form),
      secrets: Array.isArray(secrets) ? secrets.map(String) : [],
      verify: Object.entries(rest),
      mapping: members(members(value).mapping),
    }
  })
}

/** The attribute `source` of all events of a source or inbound webhook; null: it differs from event to event. */
export function sourceOfEvents(ns: string, kind: 'source' | 'webhook', name: string, mapping: unknown): string | null {
  const { source } = members(mapping)
  if (source === undefined || source === null) return sourceAttribute(ns, { kind, name })
  return typeof source === 'string' && !source.includes('jq(') ? source : null
}

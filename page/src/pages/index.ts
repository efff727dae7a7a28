// The pages by the first part of their address.
import type { ComponentType } from 'preact'
import type { Route } from '../core/route'
import { InstancePage } from './instance'
import { InstancesPage } from './instances'
import { OverviewPage } from './overview'
import { WorkflowsPage } from './workflows'
import { lazy } from './lazy'
import { tabsOf } from './places'
import { UnknownPage } from './unknown'

export interface PageProps {
  ns: string
  /** The parts of the address behind the namespace. */
  parts: string[]
}

const CallsPage = lazy(async () => (await import('./lists')).CallsPage)
const DeadLetterPage = lazy(async () => (await import('./dead_letters')).DeadLetterPage)
const DeadLettersPage = lazy(async () => (await import('./dead_letters')).DeadLettersPage)
const EventsPage = lazy(async () => (await import('./events')).EventsPage)
const FunctionsPage = lazy(async () => (await import('./lists')).FunctionsPage)
const GroupsPage = lazy(async () => (await import('./lists')).GroupsPage)
const QueuesPage = lazy(async () => (await import('./lists')).QueuesPage)
const ReplaysPage = lazy(async () => (await import('./lists')).ReplaysPage)
const ServerPage = lazy(async () => (await import('./server')).ServerPage)
const SourcePage = lazy(async () => (await import('./source')).SourcePage)
const SourcesPage = lazy(async () => (await import('./sources')).SourcesPage)
const TryEventPage = lazy(async () => (await import('./lists')).TryEventPage)
const ValuesPage = lazy(async () => (await import('./lists')).ValuesPage)
const WaitingPage = lazy(async () => (await import('./lists')).WaitingPage)
const NextPage = lazy(async () => (await import('./lists')).NextPage)
const WebhookPage = lazy(async () => (await import('./webhook')).WebhookPage)
const WorkflowPage = lazy(async () => (await import('./workflow')).WorkflowPage)
const EventPage = lazy(async () => (await import('./event')).EventPage)

const kLists = new Map<string, ComponentType<PageProps>>(Object.entries({
  instances: InstancesPage, waiting: WaitingPage, events: EventsPage, sources: SourcesPage, webhooks: SourcesPage, dead: DeadLettersPage,
  workflows: WorkflowsPage, groups: GroupsPage, next: NextPage, queues: QueuesPage, calls: CallsPage, functions: FunctionsPage, values: ValuesPage,
}))
const kDetails = new Map<string, ComponentType<PageProps>>(Object.entries({
  instances: InstancePage, events: EventPage, sources: SourcePage, webhooks: WebhookPage, dead: DeadLetterPage, workflows: WorkflowPage,
}))

/** The page of an address; addresses with the same key are one page with another state. */
export function pageOf({ ns, parts }: Pick<Route, 'ns' | 'parts'>): { key: string; Component: ComponentType<PageProps> } {
  if (ns === '') return { key: 'server', Component: ServerPage }
  const [name, id, ...tabs] = parts
  if (name === undefined) return { key: '', Component: OverviewPage }
  const isTab = tabs.length === 0 || (tabs.length === 1 && tabsOf(name).includes(tabs[0] ?? ''))
  const Component = isTab ? (id === undefined ? kLists.get(name) : detailOf(name, id)) : undefined
  return Component === undefined ? { key: `unknown ${parts.join('/')}`, Component: UnknownPage } : { key: parts.slice(0, 2).join('/'), Component }
}

function detailOf(name: string, id: string): ComponentType<PageProps> | undefined {
  if (name === 'events' && id === 'try') return TryEventPage
  if (name === 'events' && id === 'replays') return ReplaysPage
  return kDetails.get(name)
}

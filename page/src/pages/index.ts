// The pages by the first part of their address.
import type { ComponentType } from 'preact'
import { EventsPage } from './events'
import { InstancePage } from './instance'
import { InstancesPage } from './instances'
import { OverviewPage } from './overview'
import { WorkflowsPage } from './workflows'
import { lazy } from './lazy'
import { UnknownPage } from './unknown'

export interface PageProps {
  ns: string
  /** The parts of the address behind the namespace. */
  parts: string[]
}

const CallsPage = lazy(async () => (await import('./calls')).CallsPage)
const DeadLetterPage = lazy(async () => (await import('./dead_letters')).DeadLetterPage)
const DeadLettersPage = lazy(async () => (await import('./dead_letters')).DeadLettersPage)
const FunctionsPage = lazy(async () => (await import('./functions')).FunctionsPage)
const GroupsPage = lazy(async () => (await import('./groups')).GroupsPage)
const QueuesPage = lazy(async () => (await import('./queues')).QueuesPage)
const ReplaysPage = lazy(async () => (await import('./replays')).ReplaysPage)
const ServerPage = lazy(async () => (await import('./server')).ServerPage)
const SourcePage = lazy(async () => (await import('./source')).SourcePage)
const SourcesPage = lazy(async () => (await import('./sources')).SourcesPage)
const TryEventPage = lazy(async () => (await import('./try_event')).TryEventPage)
const ValuesPage = lazy(async () => (await import('./values')).ValuesPage)
const WaitingPage = lazy(async () => (await import('./waiting')).WaitingPage)
const NextPage = lazy(async () => (await import('./next')).NextPage)
const WebhookPage = lazy(async () => (await import('./webhook')).WebhookPage)
const WorkflowPage = lazy(async () => (await import('./workflow')).WorkflowPage)
const EventPage = lazy(async () => (await import('./event')).EventPage)

/** The pages of the bar, in their order. */
export const kPages = [
  { path: '', name: 'Overview' },
  { path: 'instances', name: 'Instances' },
  { path: 'waiting', name: 'Waiting' },
  { path: 'events', name: 'Events' },
  { path: 'sources', name: 'Sources' },
  { path: 'dead', name: 'Dead letters' },
  { path: 'workflows', name: 'Workflows' },
  { path: 'groups', name: 'Groups' },
  { path: 'next', name: 'Next' },
  { path: 'queues', name: 'Queues' },
  { path: 'calls', name: 'Calls' },
  { path: 'functions', name: 'Functions' },
  { path: 'values', name: 'Values' },
  { path: 'server', name: 'Server' },
]

const kLists: Record<string, ComponentType<PageProps>> = {
  instances: InstancesPage, waiting: WaitingPage, events: EventsPage, sources: SourcesPage, webhooks: SourcesPage, dead: DeadLettersPage,
  workflows: WorkflowsPage, groups: GroupsPage, next: NextPage, queues: QueuesPage, calls: CallsPage, functions: FunctionsPage, values: ValuesPage, server: ServerPage,
}
const kDetails: Record<string, ComponentType<PageProps>> = {
  instances: InstancePage, events: EventPage, sources: SourcePage, webhooks: WebhookPage, dead: DeadLetterPage, workflows: WorkflowPage,
}

/** The page of the bar to which an address belongs, by its first part. */
export function barPageOf(name: string | undefined): string {
  return name === 'webhooks' ? 'sources' : name ?? ''
}

/** The page for the parts of an address; addresses with the same key are one page with another state. */
export function pageOf(parts: string[]): { key: string; Component: ComponentType<PageProps> } {
  const [name, id] = parts
  if (name === undefined) return { key: '', Component: OverviewPage }
  if (name === 'events' && id === 'try') return { key: 'events/try', Component: TryEventPage }
  if (name === 'events' && id === 'replays') return { key: 'events/replays', Component: ReplaysPage }
  const Component = id === undefined ? kLists[name] : kDetails[name]
  return { key: parts.slice(0, 2).join('/'), Component: Component ?? UnknownPage }
}

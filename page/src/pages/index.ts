// The pages by the first part of their address.
import type { ComponentType } from 'preact'
import { DeadLetterPage, DeadLettersPage } from './dead_letters'
import { EventPage } from './event'
import { EventsPage } from './events'
import { FunctionsPage } from './functions'
import { GroupsPage } from './groups'
import { InstancePage } from './instance'
import { InstancesPage } from './instances'
import { NextPage } from './next'
import { OverviewPage } from './overview'
import { ServerPage } from './server'
import { TryEventPage } from './try_event'
import { ValuesPage } from './values'
import { WaitingPage } from './waiting'
import { WorkflowPage } from './workflow'
import { WorkflowsPage } from './workflows'
import { UnknownPage } from './unknown'

export interface PageProps {
  ns: string
  /** The parts of the address behind the namespace. */
  parts: string[]
}

/** The pages of the bar, in their order. */
export const kPages = [
  { path: '', name: 'Overview' },
  { path: 'instances', name: 'Instances' },
  { path: 'waiting', name: 'Waiting' },
  { path: 'events', name: 'Events' },
  { path: 'dead', name: 'Dead letters' },
  { path: 'workflows', name: 'Workflows' },
  { path: 'groups', name: 'Groups' },
  { path: 'next', name: 'Next' },
  { path: 'functions', name: 'Functions' },
  { path: 'values', name: 'Values' },
  { path: 'server', name: 'Server' },
]

const kLists: Record<string, ComponentType<PageProps>> = {
  instances: InstancesPage, waiting: WaitingPage, events: EventsPage, dead: DeadLettersPage, workflows: WorkflowsPage,
  groups: GroupsPage, next: NextPage, functions: FunctionsPage, values: ValuesPage, server: ServerPage,
}
const kDetails: Record<string, ComponentType<PageProps>> = { instances: InstancePage, events: EventPage, dead: DeadLetterPage, workflows: WorkflowPage }

/** The page for the parts of an address; addresses with the same key are one page with another state. */
export function pageOf(parts: string[]): { key: string; Component: ComponentType<PageProps> } {
  const [name, id] = parts
  if (name === undefined) return { key: '', Component: OverviewPage }
  if (name === 'events' && id === 'try') return { key: 'events/try', Component: TryEventPage }
  const Component = id === undefined ? kLists[name] : kDetails[name]
  return { key: parts.slice(0, 2).join('/'), Component: Component ?? UnknownPage }
}

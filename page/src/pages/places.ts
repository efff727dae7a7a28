// What an address may name: the pages of the bar, and the parts of a page.

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

/** The page of the bar to which an address belongs, by its first part. */
export function barPageOf(name: string | undefined): string {
  return name === 'webhooks' ? 'sources' : name ?? ''
}

/** The parts of a page that an address may name behind its id. The first of an instance and of a workflow is shown if it names none. */
export const kInstanceTabs = ['story', 'data', 'why', 'calls', 'children', 'variables'] as const
export const kWorkflowTabs = ['graph', 'text', 'revisions', 'run'] as const

const kTabs = new Map<string | undefined, readonly string[]>([['instances', kInstanceTabs], ['workflows', kWorkflowTabs], ['sources', ['try']]])

/** The parts of the page of one thing, by the first part of the address. */
export function tabsOf(name: string | undefined): readonly string[] {
  return kTabs.get(name) ?? []
}

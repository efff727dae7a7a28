// With which state an ended instance can be run again. Pure.
import type { Instance, WorkflowGraph } from '../api'
import type { Again } from '../ui/instance_actions'
import type { StoryRecord } from './story'

/** The types of states that neither wait nor act: the history has no data with which a run could begin there. */
const kWithoutData = ['noop', 'switch', 'validate', 'error']

/** What an operator can choose after the end of an instance: where it ended and where a run can begin. `records`: those that are loaded. */
export function againOf(instance: Instance, graph: WorkflowGraph | undefined, records: StoryRecord[]): Again {
  const typeOf = (id: string | undefined): string | undefined => graph?.states.find((state) => state.id === id)?.type
  const last = instance.failedState ?? (instance.status === 'complete' ? undefined : instance.state)
  const raises = instance.failedState !== undefined && typeOf(instance.failedState) === 'error' ? instance.failedState : undefined
  const earlier = records.findLast((record) => record.kind === 'entered' && record.state !== last && !kWithoutData.includes(typeOf(record.state) ?? 'noop'))?.state
  return { failed: instance.failedState, raises, from: (raises ? earlier : last) ?? graph?.start.state ?? undefined }
}

// How far a service is with a call, as its heartbeats say.
import { shortJson } from '../core/json'
import { Relative } from './basics'
import type { Column } from './table'

interface Told {
  progress?: unknown
  progressAt?: string
}

/** The column of the newest progress and its time; none if no call has any. */
export function progressColumns(items: Told[]): Array<Column<Told>> {
  if (items.every((item) => item.progress === undefined)) return []
  return [{ name: 'Progress', isWide: true, cell: ({ progress, progressAt }) => progress !== undefined && <><code>{shortJson(progress, 4096)}</code>{progressAt && <span class="quiet"> <Relative at={progressAt} /></span>}</> }]
}

// Which run of an instance this is, since when, and with which record the run before ended.
import type { History, HistoryRecord, Instance } from '../api'
import { inNamespace } from '../core/client'
import { useGet } from '../core/resource'
import { href } from '../core/route'
import { Clock } from '../ui/basics'

/** So many records are read for the one that began the run: `retry` writes one too, and begins none. */
const kRead = 20

export function Run({ ns, instance }: { ns: string; instance: Instance }) {
  const run = instance.run ?? 1
  const history = useGet<History>(run > 1 ? inNamespace(ns, 'instances', instance.id, 'history') : null, { kind: 'run,continued,revived', order: 'newest', limit: kRead, data: '0' })
  const begin = history.data?.items.find((record) => howOf(record) !== null)
  if (!begin) return <>run {run}</>
  // `continued` is the end of the run before, and all that is left of it.
  const last = begin.kind === 'continued' ? begin.number : begin.number - 1
  const isLeft = last > (instance.historyTrimmed ?? 0)
  const { revision, nextRevision } = (begin.detail ?? {}) as { revision?: number; nextRevision?: number }
  return (
    <>run {run} since <Clock at={begin.time} exact />, by {howOf(begin)}; the run before{revision !== nextRevision && `, of revision ${revision},`} ended with{' '}
      {isLeft ? <a href={href(ns, ['instances', instance.id, 'story'], { at: last })}>record {last}</a> : `record ${last}`}</>
  )
}

/** What began a run with this record; null: no run began. */
function howOf({ kind, detail }: HistoryRecord): string | null {
  if (kind === 'continued') return 'continueAsNew'
  if (kind === 'run') return 'the retries of the workflow'
  const how = (detail as { how?: string } | undefined)?.how
  return how === undefined || how === 'retry' ? null : how
}

// The last hour of the server: a chart that loads when it is shown, and its numbers as a table.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Series } from '../api'
import { useBusy } from '../core/busy'
import { useGet, useInterval } from '../core/resource'
import { theme } from '../core/settings'
import { count, Loaded } from '../ui/basics'
import { Table } from '../ui/table'
import type { Plot } from './plot'

const kNames = ['events', 'started', 'woken', 'ended', 'failed']

export function Rates() {
  const series = useGet<Series>('/v1/series', { names: kNames.join(',') })
  const { reload } = series
  useInterval(reload, 10_000)
  return (
    <Loaded resource={series}>{(data) => (data.from === null
      ? <p class="quiet">The series begins 10 s after the start of the server.</p>
      : <><Chart data={data} /><Sums data={data} /></>)}
    </Loaded>
  )
}

function Chart({ data }: { data: Series }) {
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<Plot | null>(null)
  const [isLoading, setLoading] = useState(true)
  const [hasFailed, setFailed] = useState(false)
  useBusy(isLoading)
  const shownTheme = theme.value
  useEffect(() => {
    let isGone = false
    import('./plot').then(({ makePlot }) => {
      if (isGone || !host.current) return
      plot.current = makePlot(host.current, data, kNames)
    }).catch(() => setFailed(true)).finally(() => setLoading(false))
    return () => { isGone = true; plot.current?.destroy(); plot.current = null }
  }, [shownTheme])
  useEffect(() => plot.current?.show(data), [data])
  return <><div class="chart" ref={host} aria-hidden="true" />{hasFailed && <p class="quiet">The chart could not be loaded; its numbers are below.</p>}</>
}

/** The numbers of the chart in six parts of the hour. */
function Sums({ data }: { data: Series }) {
  const length = data.series[kNames[0] ?? '']?.length ?? 0
  const size = 60
  const rows = Array.from({ length: Math.ceil(length / size) }, (_, index) => index)
  const from = Date.parse(data.from ?? '')
  const time = (step: number): string => new Date(from + step * data.step * 1000).toLocaleTimeString('en-GB')
  return (
    <details>
      <summary>The numbers as a table</summary>
      <Table caption="Numbers of the last hour, in parts of ten minutes" items={rows} keyOf={String} columns={[
        { name: 'From', isHeader: true, cell: (row) => time(row * size) },
        ...kNames.map((name) => ({ name, isNumber: true, cell: (row: number) => count((data.series[name] ?? []).slice(row * size, (row + 1) * size).reduce((sum, value) => sum + value, 0)) })),
      ]} />
    </details>
  )
}

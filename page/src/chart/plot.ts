// The only file that uses uPlot; it is a chunk of its own.
import uPlot from 'uplot'
import type { Series } from '../api'
import { isUtc } from '../core/settings'

export interface Plot {
  show: (data: Series) => void
  destroy: () => void
}

const kColours: Record<string, string> = { events: '--link', started: '--accent', woken: '--wait', ended: '--good', failed: '--bad' }
const kDashes: Record<string, number[]> = { events: [], started: [6, 3], woken: [2, 3], ended: [10, 4], failed: [] }

function columns(data: Series, names: string[]): uPlot.AlignedData {
  const from = Date.parse(data.from ?? '') / 1000
  const length = data.series[names[0] ?? '']?.length ?? 0
  const times = Array.from({ length }, (_, index) => from + index * data.step)
  return [times, ...names.map((name) => (data.series[name] ?? []).map((value) => value / data.step))]
}

/** Draws series, in numbers a second, in an element; the colours are those of the theme. */
export function makePlot(host: HTMLElement, data: Series, names: string[]): Plot {
  const style = getComputedStyle(host)
  const colour = (name: string): string => resolved(host, name)
  const axis = { stroke: colour('--quiet'), grid: { stroke: colour('--line'), width: 1 }, ticks: { stroke: colour('--line') }, font: `11px ${style.fontFamily}` }
  const plot = new uPlot({
    width: host.clientWidth || 300,
    height: 170,
    legend: { show: true, live: false },
    cursor: { show: false },
    axes: [{ ...axis, incrs: kSteps, values: (_self, ticks) => ticks.map(clockOf) }, { ...axis, size: 56, values: (_self, ticks) => ticks.map((tick) => `${tick}/s`) }],
    series: [{}, ...names.map((name) => ({ label: name, stroke: colour(kColours[name] ?? '--text'), width: 1.5, dash: kDashes[name] }))],
  }, columns(data, names), host)
  const observer = new ResizeObserver(() => plot.setSize({ width: host.clientWidth || 300, height: 170 }))
  observer.observe(host)
  return {
    show: (next) => plot.setData(columns(next, names)),
    destroy: () => { observer.disconnect(); plot.destroy() },
  }
}

/** The axis shows minutes, so its ticks are whole minutes apart. */
const kSteps = [60, 120, 300, 600, 900, 1800, 3600]

/** The time of day of a tick of the axis. */
function clockOf(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', ...(isUtc.peek() ? { timeZone: 'UTC' } : {}) })
}

/** The colour of a custom property, as the canvas takes it. */
function resolved(host: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  host.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

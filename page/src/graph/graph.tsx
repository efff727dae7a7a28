// The states of a workflow and the ways between them: an SVG of buttons, and always also a list.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { WorkflowGraph } from '../api'
import { useBusy } from '../core/busy'
import { generation } from '../core/client'
import { Problem } from '../ui/basics'
import type { BoxSize, Drawing, WayEnds } from './layout'
import { linesOf } from './lines'
import { place } from './place'

type State = WorkflowGraph['states'][number]
type Way = WorkflowGraph['ways'][number]

const kMostStates = 1000
/** In a narrower panel, in px, names stand in several lines and labels are shorter. */
const kNarrow = 480
/** A graph is made as small as this to fit its panel; below, the panel scrolls. */
const kLeastFit = 0.65
/** The width of a scroll bar, which a high graph has. */
const kScrollBar = 16
/** The ids of the boxes that are no states; a state's id has no such character. */
const kStart = '(start)'
export const kEnd = '(end)'
const kAny = '(any)'

/** The calls of a foreach or parallel state. */
export interface CallsEnded {
  /** With those that have failed. */
  ended: number
  failed: number
  total: number
}

/** The types of states that make many calls at once. */
const kManyCalls = ['foreach', 'parallel']

export function makesManyCalls(state: State): boolean {
  return kManyCalls.includes(state.type)
}

export interface GraphProps {
  graph: WorkflowGraph
  /** The state in which the instance is. */
  current?: string | null
  isBad?: boolean
  /** The states that were entered, in their order; `kEnd` last, if the way to the end was taken. */
  visited?: string[]
  status?: string
  /** What is shown in a state besides its type, such as a number of instances, or what became of its compensation. */
  notes?: Map<string, string>
  /** How many calls of a state have ended. If it is there, boxes of states with many calls have room for it, so that none moves later. */
  calls?: Map<string, CallsEnded>
  open: (state: string) => void
  openLabel: string
}

export function Graph(props: GraphProps) {
  const { graph } = props
  const [drawing, setDrawing] = useState<Drawing | null>(null)
  const [error, setError] = useState<Error | null>(null)
  /** null: as large as fits. */
  const [chosen, setZoom] = useState<number | null>(null)
  const panel = useRef<HTMLDivElement>(null)
  const width = useWidth(panel)
  const hasNotes = props.notes !== undefined
  const isNarrow = width !== null && width < kNarrow
  const hasCalls = props.calls !== undefined
  const model = useMemo(() => modelOf(graph, hasNotes, hasCalls, isNarrow), [graph, hasNotes, hasCalls, isNarrow])
  const isTooLarge = graph.states.length > kMostStates
  useEffect(() => {
    if (isTooLarge || width === null) return undefined
    let isGone = false
    place(model.boxes, model.ends).then((result) => { if (!isGone) { setDrawing(result); setError(null) } }, (failure: Error) => setError(failure))
    return () => { isGone = true }
    // The layout is loaded when it is first needed, and again after a lost connection if it could not be loaded.
  }, [model, isTooLarge, width === null, error !== null && generation.value])
  const isDrawn = drawing !== null && drawing.ways.length === model.ways.length
  useBusy(!isDrawn && !isTooLarge && error === null)
  const fit = drawing && width ? Math.min(1, Math.max(kLeastFit, (width - kScrollBar) / drawing.width)) : 1
  const zoom = chosen ?? fit
  return (
    <div ref={panel}>
      <div class="chips">
        <button type="button" class="small" aria-label="Larger" onClick={() => setZoom(Math.min(2.5, zoom * 1.25))}>+</button>
        <button type="button" class="small" aria-label="Smaller" onClick={() => setZoom(Math.max(0.4, zoom / 1.25))}>−</button>
        <button type="button" class="small" aria-pressed={chosen === 1} onClick={() => setZoom(1)}>100 %</button>
        <button type="button" class="small" aria-pressed={chosen === null} onClick={() => setZoom(null)}>Fit</button>
      </div>
      {error && <Problem error={error} />}
      {isTooLarge && <p class="notes">The workflow has {graph.states.length} states; above {kMostStates} only the list is shown.</p>}
      {isDrawn && <Picture {...props} model={model} drawing={drawing} zoom={zoom} />}
      <details open={isTooLarge}><summary>As a list</summary><StateList {...props} /></details>
    </div>
  )
}

/** The width of an element in px, also when it changes; null before it is in the document. */
function useWidth(element: { current: HTMLElement | null }): number | null {
  const [width, setWidth] = useState<number | null>(null)
  useLayoutEffect(() => {
    const shown = element.current
    if (!shown) return undefined
    const observer = new ResizeObserver(() => setWidth(shown.clientWidth))
    setWidth(shown.clientWidth)
    observer.observe(shown)
    return () => observer.disconnect()
  }, [])
  return width
}

/** The width of a box that has room for the numbers of its calls, of up to five digits. */
const kBarred = 190

interface Model {
  /** `lines` are those of the name, `undo` those of what undoes the state. */
  boxes: Array<BoxSize & { lines: string[]; undo: string[] }>
  ends: WayEnds[]
  ways: Array<Way & { source: string; target: string; text: string }>
}

/** The boxes do not depend on the notes, so that a change of numbers moves nothing. */
function modelOf(graph: WorkflowGraph, hasNotes: boolean, hasCalls: boolean, isNarrow: boolean): Model {
  const least = isNarrow ? 70 : 90
  const longest = isNarrow ? 16 : 28
  const width = (text: string): number => Math.max(least, text.length * 7.3 + (isNarrow ? 14 : 22))
  const ways = graph.ways.map((way) => ({ ...way, source: way.from ?? kAny, target: way.to ?? kEnd, text: way.label.length > longest ? `${way.label.slice(0, longest - 1)}…` : way.label }))
  const boxes = graph.states.map((state) => {
    const lines = isNarrow ? linesOf(state.id, 14) : [state.id]
    const undone = undoneText(state)
    const undo = undone === '' ? [] : isNarrow ? linesOf(undone, 14) : [undone]
    const isBarred = hasCalls && makesManyCalls(state)
    const [most, height] = isBarred ? [kBarred, 64] : hasNotes ? [130, 56] : [least, 42]
    return { id: state.id, lines, undo, width: Math.max(...[...lines, ...undo, state.type].map(width), most), height: height + kLine * (lines.length + undo.length - 1) }
  })
  const start = terminalText(kStart, graph.start.label)
  const startLines = isNarrow ? linesOf(start, 22) : [start]
  boxes.push({ id: kStart, lines: startLines, undo: [], width: Math.max(...startLines.map(width)), height: 28 + kLine * (startLines.length - 1) })
  if (ways.some((way) => way.target === kEnd)) boxes.push({ id: kEnd, lines: [terminalText(kEnd, '')], undo: [], width: 60, height: 28 })
  if (ways.some((way) => way.source === kAny)) boxes.push({ id: kAny, lines: [terminalText(kAny, '')], undo: [], width: 90, height: 28 })
  const ends = ways.map((way) => ({ from: way.source, to: way.target, label: way.text }))
  if (graph.start.state !== null) ends.push({ from: kStart, to: graph.start.state, label: '' })
  const first: Model['ways'] = graph.start.state === null ? [] : [{ from: null, to: graph.start.state, kind: 'transition', label: '', line: 0, source: kStart, target: graph.start.state, text: '' }]
  return { boxes, ends, ways: [...ways, ...first] }
}

/** What undoes a state, or that it makes compensations, as its box and its accessible name have it; empty: neither. */
function undoneText(state: State): string {
  return state.undo ? `(undone by ${state.undo})` : state.compensates ? '(compensates)' : ''
}

function takenWays(visited: string[]): Set<string> {
  return new Set([`${kStart}\n${visited[0] ?? ''}`, ...visited.slice(1).map((state, index) => `${visited[index]}\n${state}`)])
}

function Picture(props: GraphProps & { model: Model; drawing: Drawing; zoom: number }) {
  const { graph, model, drawing, zoom, current, isBad, visited = [], open } = props
  const notes = notesOf(props, false)
  const svg = useRef<SVGSVGElement>(null)
  const [focused, setFocused] = useState<string | null>(null)
  const middle = drawing.boxes[current ?? kStart] ?? drawing.boxes[kStart]
  useEffect(() => {
    const frame = svg.current?.parentElement
    if (!frame || !middle) return
    frame.scrollTo(middle.x * zoom - frame.clientWidth / 2, middle.y * zoom - frame.clientHeight / 2)
  }, [drawing, zoom])
  const taken = takenWays(visited)
  const states = new Map(graph.states.map((state) => [state.id, state]))
  const tabStop = focused ?? (current && states.has(current) ? current : graph.start.state) ?? graph.states[0]?.id
  const move = (event: KeyboardEvent, id: string): void => {
    const next = nextState(event.key, id, model, graph)
    if (event.key === 'Enter' || event.key === ' ') open(id)
    else if (next === null) return
    else svg.current?.querySelector<SVGGElement>(`[data-state="${CSS.escape(next)}"]`)?.focus()
    event.preventDefault()
  }
  return (
    <div class="graph">
      <svg ref={svg} width={drawing.width * zoom} height={drawing.height * zoom} viewBox={`0 0 ${drawing.width} ${drawing.height}`} role="group" aria-label={`Graph of ${graph.id}: arrow keys follow the ways`}>
        <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse" markerWidth="9" markerHeight="9" orient="auto"><path d="M0 0L8 4L0 8z" /></marker></defs>
        {model.ways.map((way, index) => {
          const points = drawing.ways[index]?.points ?? []
          return <path class={`way is-${way.kind}${taken.has(`${way.source}\n${way.target}`) ? ' is-taken' : ''}`} data-way={`${way.source}>${way.target}`} d={pathOf(points)} marker-end="url(#arrow)" />
        })}
        {model.ways.map((way, index) => {
          const at = drawing.ways[index]?.label
          return at && way.text ? <text class="way-label" x={at.x} y={at.y + 3} text-anchor="middle"><title>{way.label}</title>{way.text}</text> : null
        })}
        {model.boxes.map((box) => {
          const at = drawing.boxes[box.id] ?? { x: 0, y: 0 }
          const state = states.get(box.id)
          const top = kLine * (box.lines.length + box.undo.length - 1) / 2
          // The bar stands below the texts.
          const y = at.y - (state && props.calls && makesManyCalls(state) ? 4 : 0)
          const kindAt = y + (notes ? 5 : 12) - top + kLine * (box.lines.length - 1)
          if (!state) return <g key={box.id} class={`node terminal${visited.includes(box.id) ? ' is-taken' : ''}`}><rect x={at.x - box.width / 2} y={at.y - box.height / 2} width={box.width} height={box.height} rx="14" /><Lines x={at.x} y={at.y + 4 - top} lines={box.lines} /></g>
          const isNow = box.id === current
          return (
            <g key={box.id} class={`node${visited.includes(box.id) ? ' is-taken' : ''}${isNow ? (isBad ? ' is-bad' : ' is-now') : ''}`} data-state={box.id}
              role="button" tabIndex={box.id === tabStop ? 0 : -1} aria-label={describe(state, props)} aria-current={isNow ? 'step' : undefined}
              onClick={() => open(box.id)} onKeyDown={(event) => move(event, box.id)} onFocus={() => setFocused(box.id)}>
              <rect class="outer" x={at.x - box.width / 2} y={at.y - box.height / 2} width={box.width} height={box.height} rx="5" />
              {isNow && <rect x={at.x - box.width / 2 + 4} y={at.y - box.height / 2 + 4} width={box.width - 8} height={box.height - 8} rx="3" />}
              <Lines x={at.x} y={y - (notes ? 10 : 3) - top} lines={box.lines} />{' '}
              <text class="kind" x={at.x} y={kindAt} text-anchor="middle">{state.type}</text>{' '}
              {box.undo.length > 0 && <><Lines x={at.x} y={kindAt + kLine} lines={box.undo} kind="kind" />{' '}</>}
              {notes?.get(box.id) && <text class="note" x={at.x} y={y + 20 + top} text-anchor="middle">{notes.get(box.id)}</text>}
              <CallsBar calls={props.calls?.get(box.id)} x={at.x - box.width / 2 + 12} y={y + 26 + top} width={box.width - 24} />
            </g>
          )
        })}
      </svg>
    </div>
  )
}

/** How many calls have ended, as words; those that have failed only if `isWhole`. */
function callsText({ ended, failed, total }: CallsEnded, isWhole: boolean): string {
  return `${ended} of ${total} calls ended${isWhole && failed > 0 ? `, ${failed} failed` : ''}`
}

/** The notes with the numbers of calls: before the note of a state if `isWhole`, else in its place, because a box has one line. */
function notesOf({ notes, calls }: GraphProps, isWhole: boolean): Map<string, string> | undefined {
  if (!calls) return notes
  const all = new Map(notes)
  for (const [state, numbers] of calls) all.set(state, [callsText(numbers, isWhole), ...(isWhole ? [notes?.get(state)] : [])].filter(Boolean).join(', '))
  return all
}

/** The calls of a state as a bar: those that are complete, then those that have failed. */
function CallsBar({ calls, x, y, width }: { calls: CallsEnded | undefined; x: number; y: number; width: number }) {
  if (!calls) return null
  const failed = width * calls.failed / calls.total
  const done = width * calls.ended / calls.total - failed
  return (
    <>
      <rect class="bar" x={x} y={y} width={width} height="3" />
      <rect class="bar is-done" x={x} y={y} width={done} height="3" />
      <rect class="bar is-failed" x={x + done} y={y} width={failed} height="3" />
    </>
  )
}

/** The height of a line of a name. */
const kLine = 14

function Lines({ x, y, lines, kind }: { x: number; y: number; lines: string[]; kind?: string }) {
  return <text class={kind} text-anchor="middle">{lines.map((line, index) => <tspan x={x} y={y + index * kLine}>{line}</tspan>)}</text>
}

/** What stands in a box that is no state. */
function terminalText(id: string, label: string): string {
  return id === kStart ? label || 'start' : id === kEnd ? 'end' : 'any state'
}

/** The state to which an arrow key goes: along a way, back, or to the next one beside it. */
function nextState(key: string, id: string, model: Model, graph: WorkflowGraph): string | null {
  const isState = (name: string): boolean => !name.startsWith('(')
  const order = graph.states.map((state) => state.id)
  switch (key) {
    case 'ArrowDown': return model.ways.find((way) => way.source === id && isState(way.target))?.target ?? null
    case 'ArrowUp': return model.ways.find((way) => way.target === id && isState(way.source))?.source ?? null
    case 'ArrowRight': return order[order.indexOf(id) + 1] ?? null
    case 'ArrowLeft': return order[order.indexOf(id) - 1] ?? null
    case 'Home': return order[0] ?? null
    case 'End': return order.at(-1) ?? null
    default: return null
  }
}

function describe(state: State, props: GraphProps): string {
  const { graph, current, status, openLabel } = props
  const ways = graph.ways.filter((way) => way.from === state.id).map((way) => `${way.kind}${way.label ? ` ${way.label}` : ''} to ${way.to ?? 'the end'}${way.nextRun ? ' in the next run' : ''}`)
  const note = notesOf(props, true)?.get(state.id)
  return `${state.id} ${state.type}${undoneText(state) && ` ${undoneText(state)}`}${note ? ` ${note}` : ''}${state.id === current ? `, current state${status ? `, ${status}` : ''}` : ''}. ${ways.join(', ')}. Enter ${openLabel}`
}

function pathOf(points: Array<{ x: number; y: number }>): string {
  const [first, ...rest] = points
  if (!first) return ''
  if (rest.length < 2) return `M${first.x} ${first.y}${rest.map((point) => `L${point.x} ${point.y}`).join('')}`
  let path = `M${first.x} ${first.y}`
  for (let index = 0; index < rest.length - 1; index += 1) {
    const here = rest[index]
    const next = rest[index + 1]
    if (!here || !next) break
    const isLast = index === rest.length - 2
    const end = isLast ? next : { x: (here.x + next.x) / 2, y: (here.y + next.y) / 2 }
    path += `Q${here.x} ${here.y} ${end.x} ${end.y}`
  }
  return path
}

function StateList(props: GraphProps) {
  const { graph, current, visited = [], open } = props
  const notes = notesOf(props, true)
  return (
    <ul class="plain">
      {graph.states.map((state) => (
        <li>
          <button type="button" class="small" onClick={() => open(state.id)}>{state.id}</button> <span class="quiet">{state.type}{state.undo && `, undone by ${state.undo}`}{state.compensates && ', compensates'}{notes?.get(state.id) ? `, ${notes.get(state.id)}` : ''}{state.id === current ? ', current state' : visited.includes(state.id) ? ', was entered' : ''}</span>
          <ul>{graph.ways.filter((way) => way.from === state.id).map((way) => <li>{way.kind}{way.label && <> <code>{way.label}</code></>} → {way.to ?? 'end'}{way.nextRun && ' (next run)'}</li>)}</ul>
        </li>
      ))}
    </ul>
  )
}

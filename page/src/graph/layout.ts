// The only file that uses dagre. It is a chunk of its own, which the page loads, and which also runs as a worker beside the page.
import dagre from '@dagrejs/dagre'

export interface BoxSize {
  id: string
  width: number
  height: number
}
export interface WayEnds {
  from: string
  to: string
  label: string
}
interface Point {
  x: number
  y: number
}
export interface Drawing {
  width: number
  height: number
  /** The centre of each box. */
  boxes: Record<string, Point>
  /** The points of each way, in the order of the ways; the place of its label. */
  ways: Array<{ points: Point[]; label: Point | null }>
}

/** Lays boxes and ways out from top to bottom. */
export function layout(boxes: BoxSize[], ways: WayEnds[]): Drawing {
  const graph = new dagre.graphlib.Graph({ multigraph: true })
  graph.setGraph({ rankdir: 'TB', nodesep: 28, ranksep: 34, edgesep: 14, marginx: 12, marginy: 12 })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const box of boxes) graph.setNode(box.id, { width: box.width, height: box.height })
  ways.forEach((way, index) => graph.setEdge(way.from, way.to, way.label ? { width: widthOf(way), height: 14, labelpos: 'c' } : {}, String(index)))
  dagre.layout(graph)
  const size = graph.graph()
  const placed = Object.fromEntries(boxes.map((box) => [box.id, { x: graph.node(box.id).x ?? 0, y: graph.node(box.id).y ?? 0 }]))
  const edges = ways.map((way, index) => graph.edge({ v: way.from, w: way.to, name: String(index) }) as { points?: Point[]; x?: number; y?: number })
  /** How far to the right a way goes that leads to the box from which it comes: to its label, or to its middle. */
  const reach = (index: number): number => (edges[index]?.x ?? 0) - (ways[index]?.label ? widthOf(ways[index]) / 2 + 5 : 0)
  /** Such a way is a loop beside its box, in the place that dagre has left for it, around the loops before it. */
  const loop = (box: BoxSize, index: number): Point[] => {
    const loops = ways.flatMap((way, at) => (way.from === box.id && way.to === box.id ? [at] : [])).sort((a, b) => reach(a) - reach(b))
    const { x = 0, y = 0 } = placed[box.id] ?? {}
    const half = (box.height / 2 - 4) * (loops.indexOf(index) + 1) / loops.length
    const [right, far] = [x + box.width / 2, reach(index)]
    return [{ x: right, y: y - half }, { x: far, y: y - half }, { x: far, y: y + half }, { x: right, y: y + half }]
  }
  return {
    width: size.width ?? 0,
    height: size.height ?? 0,
    boxes: placed,
    ways: ways.map((way, index) => {
      const { points = [], x, y } = edges[index] ?? {}
      const box = way.from === way.to ? boxes.find(({ id }) => id === way.from) : undefined
      return { points: box ? loop(box, index) : points, label: way.label && x !== undefined && y !== undefined ? { x, y } : null }
    }),
  }
}

/** The width of a label. */
function widthOf({ label }: WayEnds): number {
  return label.length * 5.6 + 6
}

/** The address of this file, for a worker. */
export const kUrl = import.meta.url

// A worker has no document.
if (typeof document === 'undefined') {
  addEventListener('message', (event: MessageEvent<{ boxes: BoxSize[]; ways: WayEnds[] }>) => {
    postMessage(layout(event.data.boxes, event.data.ways))
  })
}

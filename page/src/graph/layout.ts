// The only file that uses dagre; it is a chunk of its own, and the worker's code.
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
export interface Drawing {
  width: number
  height: number
  /** The centre of each box. */
  boxes: Record<string, { x: number; y: number }>
  /** The points of each way, in the order of the ways; the place of its label. */
  ways: Array<{ points: Array<{ x: number; y: number }>; label: { x: number; y: number } | null }>
}

/** Lays boxes and ways out from top to bottom. */
export function layout(boxes: BoxSize[], ways: WayEnds[]): Drawing {
  const graph = new dagre.graphlib.Graph({ multigraph: true })
  graph.setGraph({ rankdir: 'TB', nodesep: 28, ranksep: 34, edgesep: 14, marginx: 12, marginy: 12 })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const box of boxes) graph.setNode(box.id, { width: box.width, height: box.height })
  ways.forEach((way, index) => graph.setEdge(way.from, way.to, way.label ? { width: way.label.length * 5.6 + 6, height: 14, labelpos: 'c' } : {}, String(index)))
  dagre.layout(graph)
  const size = graph.graph()
  return {
    width: size.width ?? 0,
    height: size.height ?? 0,
    boxes: Object.fromEntries(boxes.map((box) => [box.id, { x: graph.node(box.id).x ?? 0, y: graph.node(box.id).y ?? 0 }])),
    ways: ways.map((way, index) => {
      const edge = graph.edge({ v: way.from, w: way.to, name: String(index) }) as { points?: Array<{ x: number; y: number }>; x?: number; y?: number }
      return { points: edge.points ?? [], label: way.label && edge.x !== undefined && edge.y !== undefined ? { x: edge.x, y: edge.y } : null }
    }),
  }
}

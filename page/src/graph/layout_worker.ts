// Lays a large graph out beside the page.
import { layout, type BoxSize, type WayEnds } from './layout'

addEventListener('message', (event: MessageEvent<{ boxes: BoxSize[]; ways: WayEnds[] }>) => {
  postMessage(layout(event.data.boxes, event.data.ways))
})

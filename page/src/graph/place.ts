// Lays a graph out: small ones here, large ones in a worker.
import type { BoxSize, Drawing, WayEnds } from './layout'

const kWorkerFrom = 60

interface TrustedTypes {
  createPolicy: (name: string, rules: { createScriptURL: (text: string) => string }) => { createScriptURL: (text: string) => string }
}

let policy: { createScriptURL: (text: string) => string } | undefined

/** The address of the script of the worker, through the one policy of the page, which passes no other. */
function workerUrl(url: string): string {
  const trusted = (window as unknown as { trustedTypes?: TrustedTypes }).trustedTypes
  if (!trusted) return url
  policy ??= trusted.createPolicy('millrace', {
    createScriptURL: (text) => {
      if (text !== url) throw new TypeError(`not the address of the worker: ${text}`)
      return text
    },
  })
  return policy.createScriptURL(url)
}

/** The places of boxes and ways; loads the layout when it is first needed. */
export async function place(boxes: BoxSize[], ways: WayEnds[]): Promise<Drawing> {
  const { layout, kUrl } = await import('./layout')
  if (boxes.length <= kWorkerFrom) return layout(boxes, ways)
  const worker = new Worker(workerUrl(kUrl), { type: 'module' })
  try {
    return await new Promise<Drawing>((resolve, reject) => {
      worker.onmessage = (event: MessageEvent<Drawing>) => resolve(event.data)
      worker.onerror = (event) => reject(new Error(event.message || 'the layout failed'))
      worker.postMessage({ boxes, ways })
    })
  } finally {
    worker.terminate()
  }
}

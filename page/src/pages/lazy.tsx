// Pages, and parts of them, that load when they are first opened, so that the first load stays small.
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { generation, urlOf } from '../core/client'
import { Skeleton } from '../ui/basics'
import type { PageProps } from '.'

/** A component whose code is a chunk of its own; `load` returns it. `Heading` is that of the message if the chunk is missing: a part of a page has `h2`. */
export function lazy<Props extends object = PageProps>(load: () => Promise<ComponentType<Props>>, Heading: 'h1' | 'h2' = 'h1'): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null
  return function Lazy(props: Props) {
    const [Loaded, setLoaded] = useState<ComponentType<Props> | null>(() => loaded)
    const [fault, setFault] = useState<'unreachable' | 'missing' | null>(null)
    const [attempt, setAttempt] = useState(0)
    useEffect(() => {
      if (Loaded !== null) return
      load().then((component) => { loaded = component; setLoaded(() => component) }, () => {
        // An answer shows that the server is there, and lacks the file; 502 to 504 are those of a proxy without a server.
        fetch(urlOf('/livez'), { cache: 'no-store' }).then(({ status }) => setFault(status < 500 ? 'missing' : 'unreachable'), () => setFault('unreachable'))
      })
    }, [generation.value, attempt])
    if (Loaded === null && fault === 'unreachable') {
      return <div class="problem" role="alert"><Heading>The server does not answer</Heading><p>This part of the page is not loaded yet. It is loaded when the server answers again. <button type="button" onClick={() => setAttempt(attempt + 1)}>Try again</button></p></div>
    }
    if (Loaded === null && fault) return <div class="problem" role="alert"><Heading>A part of the page is missing</Heading><p>The server may have been updated. <button type="button" onClick={() => location.reload()}>Load the page again</button></p></div>
    return Loaded === null ? <Skeleton /> : <Loaded {...props} />
  }
}

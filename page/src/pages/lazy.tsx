// Pages, and parts of them, that load when they are first opened, so that the first load stays small.
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Skeleton } from '../ui/basics'
import type { PageProps } from '.'

/** A component whose code is a chunk of its own; `load` returns it. `Heading` is that of the message if the chunk is missing: a part of a page has `h2`. */
export function lazy<Props extends object = PageProps>(load: () => Promise<ComponentType<Props>>, Heading: 'h1' | 'h2' = 'h1'): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null
  return function Lazy(props: Props) {
    const [Loaded, setLoaded] = useState<ComponentType<Props> | null>(() => loaded)
    const [hasFailed, setFailed] = useState(false)
    useEffect(() => {
      if (Loaded === null) load().then((component) => { loaded = component; setLoaded(() => component) }, () => setFailed(true))
    }, [])
    if (hasFailed) return <div class="problem" role="alert"><Heading>A part of the page is missing</Heading><p>The server may have been updated. <button type="button" onClick={() => location.reload()}>Load the page again</button></p></div>
    return Loaded === null ? <Skeleton /> : <Loaded {...props} />
  }
}

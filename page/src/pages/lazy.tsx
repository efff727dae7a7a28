// Pages that load when they are first opened, so that the first load stays small.
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Skeleton } from '../ui/basics'
import type { PageProps } from '.'

/** A page whose code is a chunk of its own; `load` returns its component. */
export function lazy(load: () => Promise<ComponentType<PageProps>>): ComponentType<PageProps> {
  let loaded: ComponentType<PageProps> | null = null
  return function Lazy(props: PageProps) {
    const [Loaded, setLoaded] = useState<ComponentType<PageProps> | null>(() => loaded)
    const [hasFailed, setFailed] = useState(false)
    useEffect(() => {
      if (Loaded === null) load().then((component) => { loaded = component; setLoaded(() => component) }, () => setFailed(true))
    }, [])
    if (hasFailed) return <div class="problem" role="alert"><h1>A part of the page is missing</h1><p>The server may have been updated. <button type="button" onClick={() => location.reload()}>Load the page again</button></p></div>
    return Loaded === null ? <Skeleton /> : <Loaded {...props} />
  }
}

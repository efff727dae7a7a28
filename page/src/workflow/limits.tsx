// The limits of the starts of a workflow and of its calls, in short.
import type { WorkflowGraph } from '../api'
import { href } from '../core/route'

type Limit = NonNullable<WorkflowGraph['limits']>[number]

export function Limits({ ns, graph }: { ns: string; graph: WorkflowGraph }) {
  const limits = graph.limits ?? []
  if (limits.length === 0) return null
  const hasCalls = limits.some((limit) => limit.function ?? limit.state)
  return (
    <section class="panel" aria-labelledby="limits-title">
      <h2 id="limits-title">Limits</h2>
      <dl class="facts">
        {limits.map((limit) => <><dt><Of limit={limit} /></dt><dd><code>{limit.kind}</code> {limit.text} <span class="quiet">line {limit.line}</span></dd></>)}
      </dl>
      <p><a href={href(ns, ['queues'], { workflow: graph.id })}>The starts that wait for them</a>{hasCalls && <>; <a href={href(ns, ['queues'])}>all that waits, also calls</a></>}</p>
    </section>
  )
}

function Of({ limit }: { limit: Limit }) {
  if (limit.function) return <>calls of <span class="mono">{limit.function}</span></>
  if (limit.state) return <>calls of the state <span class="mono">{limit.state}</span></>
  return <>starts</>
}

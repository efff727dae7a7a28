// Applies a definition, unless the workflow has got another revision than the one that was seen.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Workflow, WorkflowApplied } from '../api'
import { ApiError, call, inNamespace } from '../core/client'
import { commandLine, httpCall, withInput } from '../core/commands'
import { Diff } from '../ui/diff'
import { ActionDialog } from '../ui/dialog'

/** A revision and its text; 0: the workflow does not exist. */
export type Seen = Pick<Workflow, 'revision' | 'definition'>

/** The dialog that applies `text`. `seen` is the newest revision that the page has shown; `load` takes that which was made since in place of the text. */
export function ApplyDialog({ ns, id, text, seen, title, label = 'Apply', children, applied, load, close }: {
  ns: string
  id: string
  text: string
  seen: Seen
  title: string
  label?: string
  children: ComponentChildren
  applied: () => void
  load: () => void
  close: () => void
}) {
  /** The newest revision, read when the server has one that was not seen. */
  const [newest, setNewest] = useState<(Seen & { of: string }) | null>(null)
  const conflict = newest?.of === id ? newest : null
  const path = inNamespace(ns, 'workflows', id || 'ID')
  const query = { base_revision: (conflict ?? seen).revision }
  const run = async (): Promise<string> => {
    try {
      const answer = await call<WorkflowApplied>('PUT', path, { query, body: text, contentType: 'application/yaml' })
      applied()
      return `Workflow ${id} ${answer.changed ? `is revision ${answer.revision}` : 'has this text already'}`
    } catch (error) {
      if (error instanceof ApiError && error.code === 'workflow.revision_conflict') {
        const { revision, definition } = await call<Workflow>('GET', path).catch((failure: ApiError): Seen => {
          if (failure.status !== 404) throw failure
          return { revision: 0, definition: '' }
        })
        setNewest({ revision, definition, of: id })
      }
      throw error
    }
  }
  return (
    <ActionDialog title={conflict ? `Nothing was applied to ${id}` : title} label={conflict ? `Apply anyway as revision ${conflict.revision + 1}` : label} isReady={id !== ''} close={close} run={run}
      instead={conflict && conflict.revision > 0 ? { label: `Load revision ${conflict.revision} in place of this text`, act: () => { load(); close() } } : undefined}
      command={{ line: withInput(commandLine(ns, 'workflow', 'apply', '-', '--base-revision', String(query.base_revision)), text), http: withInput(httpCall('PUT', path, query, '@-', 'application/yaml'), text) }}>
      {children}
      {!conflict && seen.revision > 0 && <Diff before={seen.definition} after={text} />}
      {conflict && (
        <div class="notes">
          {conflict.revision > 0
            ? <><p>The differences of this text from revision {conflict.revision}:</p><Diff before={conflict.definition} after={text} /></>
            : <p>The workflow was deleted: “Apply anyway” makes its first revision.</p>}
        </div>
      )}
    </ActionDialog>
  )
}

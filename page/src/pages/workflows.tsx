// The workflows of a namespace, with counts, next ticks, and whether they are paused.
import { useState } from 'preact/hooks'
import type { WorkflowHead, Workflows } from '../api'
import { inNamespace } from '../core/client'
import { commandLine, httpCall } from '../core/commands'
import { useLive } from '../core/live'
import { useList, useThrottle } from '../core/resource'
import { href, navigate } from '../core/route'
import { Clock, count, Empty, kStatuses, Loaded, More, Page, Relative, Status } from '../ui/basics'
import { CopyAsCommand } from '../ui/dialog'
import { DraftLine, draftKey, drafts } from '../ui/draft'
import { Table } from '../ui/table'
import { ApplyDialog } from '../workflow/apply'
import type { PageProps } from '.'

const kExample = `id: hello
states:
  - id: greet
    type: noop
    transform: 'jq({greeting: ("hello " + (.name // "world"))})'
`

export function WorkflowsPage({ ns }: PageProps) {
  const path = inNamespace(ns, 'workflows')
  const list = useList<WorkflowHead, Workflows>(path, { limit: 200 })
  const [isNew, setNew] = useState(false)
  const soon = useThrottle(list.reload, 2000)
  useLive({ ns, topics: ['counts'] }, { counts: soon })
  return (
    <Page title="Workflows" actions={<>
      <button type="button" onClick={() => setNew(true)}>Apply a definition…</button>
      <CopyAsCommand command={{ line: commandLine(ns, 'workflow', 'list'), http: httpCall('GET', path) }} />
    </>}>
      <Loaded resource={list} ns={ns}>{(data) => (data.items.length === 0
        ? <Empty command={commandLine(ns, 'workflow', 'apply', 'workflow.yaml')}><p>No workflows. A definition in YAML becomes a workflow when it is applied: here by “Apply a definition”, or by:</p></Empty>
        : (
          <>
            <Table caption="Workflows" items={data.items} keyOf={(item) => item.id} columns={[
              { name: 'Workflow', isHeader: true, cell: (item) => <><a href={href(ns, ['workflows', item.id, 'graph'])}>{item.id}</a>{item.name && <span class="quiet"> {item.name}</span>}</> },
              { name: 'Revision', isNumber: true, cell: (item) => item.revision },
              { name: 'Starts by', cell: (item) => startOf(item) },
              { name: 'Status', cell: (item) => (item.paused ? <Status status="paused" /> : 'active') },
              { name: 'Instances', cell: (item) => <Counts ns={ns} item={item} /> },
              { name: 'Next tick', cell: (item) => item.nextTick && <Relative at={item.nextTick} /> },
              { name: 'Applied', cell: (item) => <Clock at={item.updatedAt} /> },
              { name: 'Run', cell: (item) => <a href={href(ns, ['workflows', item.id, 'run'])}>run {item.id}</a> },
            ]} />
            <More list={list} />
          </>
        ))}
      </Loaded>
      {isNew && <NewDialog ns={ns} close={() => setNew(false)} />}
    </Page>
  )
}

function Counts({ ns, item }: { ns: string; item: WorkflowHead }) {
  const shown = kStatuses.filter((status) => item.counts?.[status])
  return <>{shown.map((status) => <><a href={href(ns, ['instances'], { workflow: item.id, status })}>{count(item.counts?.[status] ?? 0)} {status}</a> </>)}</>
}

/** What starts a workflow. */
export function startOf({ start }: Pick<WorkflowHead, 'start'>): string {
  return { default: 'call', scheduled: 'schedule' }[start as string] ?? start
}

/** The id of a definition, as its text has it. */
export function idOfDefinition(text: string): string {
  return /^\s*(?:id|"id")\s*:\s*['"]?([\w.-]+)/m.exec(text)?.[1] ?? ''
}

function NewDialog({ ns, close }: { ns: string; close: () => void }) {
  const key = draftKey(ns)
  const [isKept, setKept] = useState(drafts.has(key))
  const [text, setText] = useState(drafts.get(key)?.text ?? kExample)
  const id = idOfDefinition(text)
  const show = (tab: string): void => {
    drafts.delete(key)
    navigate(href(ns, ['workflows', id, tab]))
  }
  return (
    <ApplyDialog ns={ns} id={id} text={text} seen={kNone} title="Apply a definition" label={id ? `Apply ${id}` : 'Apply'} applied={() => show('graph')} load={() => show('text')} close={close}>
      {isKept && <DraftLine revision={0} discard={() => { drafts.delete(key); setText(kExample); setKept(false) }} />}
      <label>Definition (YAML)<textarea rows={14} value={text} spellcheck={false} onInput={(event) => { setText(event.currentTarget.value); drafts.set(key, { text: event.currentTarget.value, revision: 0 }) }} /></label>
    </ApplyDialog>
  )
}

/** No workflow of this name is known. */
const kNone = { revision: 0, definition: '' }

// The calls that wait for an answer from outside: a service has accepted the task, and has not answered it. An
// operator answers one in place of the service, with a result or an error.
import { useState } from 'preact/hooks'
import type { AcceptedTasks, CallbackAccepted } from '../api'
import { call, inNamespace } from '../core/client'
import { commandLine, httpCall, option, quote } from '../core/commands'
import { parseJson } from '../core/json'
import { useInterval, useList } from '../core/resource'
import { Clock, Empty, InstanceLink, Loaded, More, Relative } from './basics'
import { progressColumns } from './call_progress'
import { ActionDialog } from './dialog'
import { Table, type Column } from './table'

type Task = AcceptedTasks['items'][number]
type Verb = 'complete' | 'fail'

/** So many calls are read at once. */
const kPage = 100

export interface AcceptedCallsProps {
  ns: string
  /** Only the calls of this instance. */
  instance?: string | null
  /** The list is a part of the page of the instance, which is shown only if calls wait. */
  isPart?: boolean
  /** Called when a call was answered. */
  changed?: () => void
}

export function AcceptedCalls({ ns, instance = null, isPart = false, changed }: AcceptedCallsProps) {
  const list = useList<Task, AcceptedTasks>(inNamespace(ns, 'calls'), { instance, limit: kPage })
  const [action, setAction] = useState<{ verb: Verb; task: Task } | null>(null)
  // A service accepts a task, and answers it, without a change of the counts of instances. What "Older" has read stays.
  useInterval(list.reload, 5000, (list.data?.items.length ?? 0) <= kPage)
  const answered = (): void => { list.reload(); changed?.() }
  const columns: Array<Column<Task>> = [
    ...(isPart ? [] : [{ name: 'Instance', cell: (item: Task) => <InstanceLink ns={ns} id={item.instance} /> }]),
    { name: 'State', isHeader: true, cell: (item) => item.state },
    { name: 'Function', cell: (item) => <>{item.function}{item.detached && <span class="quiet"> async: no call waits for it</span>}</> },
    { name: 'Attempt', isNumber: true, cell: (item) => item.attempt },
    { name: 'Since', cell: (item) => <><Clock at={item.since} />, <Relative at={item.since} /></> },
    { name: 'Times out', cell: (item) => item.deadline && <><Clock at={item.deadline} />, <Relative at={item.deadline} /></> },
    ...progressColumns(list.data?.items ?? []),
    { name: 'Task', cell: (item) => <span class="mono">{item.task}</span> },
    { name: 'Answer', cell: (item) => <span class="nowrap">{(['complete', 'fail'] as const).map((verb) => <><button type="button" class="small" onClick={() => setAction({ verb, task: item })}>{verb === 'complete' ? 'Complete…' : 'Fail…'}</button> </>)}</span> },
  ]
  return (
    <>
      <Loaded resource={list} ns={ns}>{(data) => (data.items.length === 0 && data.next === null
        ? !isPart && <NoCalls instance={instance} />
        : <>
          {isPart && <h2>Calls that wait for an answer from outside</h2>}
          <Table caption="Calls that wait for an answer from outside" items={data.items} keyOf={(item) => item.task} columns={columns} />
          <More list={list} />
        </>)}
      </Loaded>
      {action?.verb === 'complete' && <CompleteDialog ns={ns} task={action.task} close={() => setAction(null)} answered={answered} />}
      {action?.verb === 'fail' && <FailDialog ns={ns} task={action.task} close={() => setAction(null)} answered={answered} />}
    </>
  )
}

function NoCalls({ instance }: { instance: string | null }) {
  return (
    <Empty>
      <p>{instance ? 'No call of this instance waits for an answer from outside. Clear the filter to see those of all instances.' : 'No call waits for an answer from outside. A call is here when its service has accepted the task and answers it later, for example after the decision of a person.'}</p>
    </Empty>
  )
}

interface AnswerProps {
  ns: string
  task: Task
  close: () => void
  answered: () => void
}

/** What both dialogs say of the call. */
function About({ ns, task }: { ns: string; task: Task }) {
  return <p>Attempt {task.attempt} of the function {task.function}, which the state {task.state} of the instance <InstanceLink ns={ns} id={task.instance} /> has called. The answer counts as that of the service, and cannot be taken back.</p>
}

function CompleteDialog({ ns, task, close, answered }: AnswerProps) {
  const [text, setText] = useState('')
  const mistake = mistakeOf(text)
  const path = inNamespace(ns, 'calls', task.task, 'complete')
  const body = text.trim() === '' ? undefined : text
  const line = body === undefined ? commandLine(ns, 'call', 'complete', task.task) : `printf %s ${quote(body)} | ${commandLine(ns, 'call', 'complete', task.task, '-f', '-')}`
  const run = async (): Promise<string> => {
    await call<CallbackAccepted>('POST', path, { body, contentType: 'application/json' })
    answered()
    return `The call of ${task.function} got its result`
  }
  return (
    <ActionDialog title={`Complete the call of ${task.function}?`} label="Complete" close={close} run={run} isReady={mistake === null} command={{ line, http: httpCall('POST', path, {}, body) }}>
      <About ns={ns} task={task} />
      <label>Result (JSON); empty: null<textarea rows={6} value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} /></label>
      {mistake !== null && <p class="no" role="alert">The result is not JSON: {mistake}. Write a JSON value, such as {'{"approved": true}'}.</p>}
    </ActionDialog>
  )
}

/** What is wrong with a text as JSON; null: nothing, or it is empty. */
function mistakeOf(text: string): string | null {
  if (text.trim() === '') return null
  try {
    parseJson(text)
    return null
  } catch (error) {
    return (error as Error).message
  }
}

function FailDialog({ ns, task, close, answered }: AnswerProps) {
  const [error, setError] = useState({ code: '', message: '' })
  const path = inNamespace(ns, 'calls', task.task, 'fail')
  const body = { code: error.code, ...(error.message === '' ? {} : { message: error.message }) }
  const run = async (): Promise<string> => {
    await call<CallbackAccepted>('POST', path, { body })
    answered()
    return `The call of ${task.function} has failed with ${error.code}`
  }
  return (
    <ActionDialog title={`Fail the call of ${task.function}?`} label="Fail" isDanger close={close} run={run} isReady={error.code !== ''}
      command={{ line: commandLine(ns, 'call', 'fail', task.task, '--code', error.code || 'CODE', ...option('message', error.message)), http: httpCall('POST', path, {}, body) }}>
      <About ns={ns} task={task} />
      <p>The retry policy of the call and the entries of <code>catch</code> compare the code.</p>
      <label>Error code<input value={error.code} required onInput={(event) => setError({ ...error, code: event.currentTarget.value.trim() })} /></label>
      <label>Message<input value={error.message} onInput={(event) => setError({ ...error, message: event.currentTarget.value })} /></label>
    </ActionDialog>
  )
}

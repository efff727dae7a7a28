// The form that starts an instance: fields from the schema of the input where it is flat, else JSON.
import { useEffect, useState } from 'preact/hooks'
import type { Instance, InputSchema, InstanceStarted } from '../api'
import { ApiError, call, inNamespace } from '../core/client'
import { commandLine, httpCall, option } from '../core/commands'
import { parseJson, prettyJson } from '../core/json'
import { useGet } from '../core/resource'
import { href, navigate } from '../core/route'
import { clock } from '../core/time'
import { Loaded, Problem } from '../ui/basics'
import { announce, CopyAsCommand } from '../ui/dialog'

interface Field {
  name: string
  kind: 'text' | 'number' | 'boolean' | 'enum' | 'date'
  choices: string[]
  isRequired: boolean
  description: string
}

/** The fields of a schema of a flat object; null if the input needs JSON. */
function fieldsOf(schema: unknown): Field[] | null {
  const object = schema as { type?: string; properties?: Record<string, { type?: string; enum?: unknown[]; format?: string; description?: string }>; required?: string[] } | null
  if (!object?.properties) return null
  const fields: Field[] = []
  for (const [name, member] of Object.entries(object.properties)) {
    const kind = kindOf(member)
    if (kind === null) return null
    fields.push({ name, kind, choices: (member.enum ?? []).map(String), isRequired: object.required?.includes(name) ?? false, description: member.description ?? '' })
  }
  return fields.length > 0 ? fields : null
}

function kindOf(member: { type?: string; enum?: unknown[]; format?: string }): Field['kind'] | null {
  if (member.enum) return member.enum.every((value) => typeof value === 'string') ? 'enum' : null
  if (member.type === 'string') return member.format === 'date' ? 'date' : 'text'
  if (member.type === 'number' || member.type === 'integer') return 'number'
  return member.type === 'boolean' ? 'boolean' : null
}

export function Run({ ns, id }: { ns: string; id: string }) {
  const schema = useGet<InputSchema>(inNamespace(ns, 'workflows', id, 'input'))
  return <Loaded resource={schema} ns={ns}>{(data) => <RunForm key={id} ns={ns} id={id} input={data} />}</Loaded>
}

function RunForm({ ns, id, input }: { ns: string; id: string; input: InputSchema }) {
  const fields = fieldsOf(input.schema)
  const [text, setText] = useState(() => prettyJson(input.example ?? {}))
  const [isJson, setJson] = useState(fields === null)
  const [key, setKey] = useState('')
  const [timeouts, setTimeouts] = useState({ executionTimeout: '', runTimeout: '', taskTimeout: '' })
  const [error, setError] = useState<Error | null>(null)
  const [isRunning, setRunning] = useState(false)
  const check = useCheck(ns, id, text)
  const path = inNamespace(ns, 'workflows', id, 'start')
  const start = async (event: Event): Promise<void> => {
    event.preventDefault()
    setRunning(true)
    setError(null)
    try {
      const answer = await call<InstanceStarted>('POST', path, { query: timeouts, body: text, contentType: 'application/json', headers: key ? { 'Idempotency-Key': key } : {} })
      announce(`Instance ${answer.id} ${answer.startsAt ? `starts at ${clock(answer.startsAt)}` : key ? 'was started, or had been started with this key' : 'was started'}`)
      navigate(href(ns, ['instances', answer.id, 'story']))
    } catch (failure) {
      setError(failure as Error)
    }
    setRunning(false)
  }
  const words = [...option('id', key), ...option('execution-timeout', timeouts.executionTimeout), ...option('run-timeout', timeouts.runTimeout), ...option('task-timeout', timeouts.taskTimeout)]
  return (
    <div class="columns">
      <form class="panel form" onSubmit={(event) => void start(event)}>
        <h2>Run {id}</h2>
        {input.from ? <p class="quiet">The state {input.from} validates the input; the fields are those of its schema.</p> : <p class="quiet">The workflow has no schema of its input: any JSON may be given.</p>}
        {fields && <label><input type="checkbox" checked={isJson} onChange={(event) => setJson(event.currentTarget.checked)} /> As JSON</label>}
        {fields && !isJson
          ? <Fields fields={fields} text={text} setText={setText} />
          : <label>Input (JSON)<textarea rows={10} value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} /></label>}
        <div role="status">{check.error ? <Problem error={check.error} /> : check.isValid && <p class="ok">The input is valid.</p>}</div>
        <label>Idempotency key: no second instance starts with it<input value={key} onInput={(event) => setKey(event.currentTarget.value)} /></label>
        <details><summary>Timeouts</summary>
          {(['executionTimeout', 'runTimeout', 'taskTimeout'] as const).map((name) => <label>{{ executionTimeout: 'Execution: all runs', runTimeout: 'Each run', taskTimeout: 'Evaluation of one state' }[name]} (such as 10m)<input value={timeouts[name]} onInput={(event) => setTimeouts({ ...timeouts, [name]: event.currentTarget.value.trim() })} /></label>)}
        </details>
        {error && <Problem error={error} />}
        <div class="buttons">{check.isRefused && <span class="no">{input.from ? `The state ${input.from}` : 'The workflow'} refuses this input, and an instance would fail at once: change it, to run the workflow.</span>}<button type="submit" class="primary" disabled={isRunning || check.isRefused}>Run</button></div>
        <CopyAsCommand command={{ line: commandLine(ns, 'run', id, '--input', oneLine(text), ...words), http: `${httpCall('POST', path, timeouts, oneLine(text))}${key ? ` -H 'Idempotency-Key: ${key}'` : ''}` }} />
      </form>
      <section class="panel" aria-label="Other inputs">
        <h2>With the input of an instance</h2>
        <FromInstance ns={ns} take={(value) => setText(prettyJson(value))} />
        {input.schema !== null && <details><summary>Schema of the input</summary><pre class="data" tabIndex={0} aria-label="Schema of the input">{prettyJson(input.schema)}</pre></details>}
      </section>
    </div>
  )
}

function oneLine(text: string): string {
  try {
    return JSON.stringify(parseJson(text))
  } catch {
    return text
  }
}

/** What the server says of an input, a moment after the last change; `isRefused`: of the text as it is now. */
function useCheck(ns: string, id: string, text: string): { error: ApiError | null; isValid: boolean; isRefused: boolean } {
  const [state, setState] = useState<{ error: ApiError | null; isValid: boolean; of?: string }>({ error: null, isValid: false })
  useEffect(() => {
    const control = new AbortController()
    const timer = setTimeout(() => {
      call('POST', inNamespace(ns, 'workflows', id, 'input'), { body: text, contentType: 'application/json', abort: control.signal }).then(
        () => setState({ error: null, isValid: true }),
        (error: Error) => { if (error instanceof ApiError) setState({ error, isValid: false, of: text }) },
      )
    }, 300)
    return () => { clearTimeout(timer); control.abort() }
  }, [text])
  return { ...state, isRefused: state.of === text && state.error?.code === 'input.refused' }
}

function Fields({ fields, text, setText }: { fields: Field[]; text: string; setText: (text: string) => void }) {
  let value: Record<string, unknown> = {}
  try {
    value = (parseJson(text) as Record<string, unknown> | null) ?? {}
  } catch {
    return <p class="no">The JSON has a mistake; correct it under “As JSON”.</p>
  }
  const set = (name: string, member: unknown): void => {
    const next = { ...value, [name]: member }
    if (member === undefined) delete next[name]
    setText(prettyJson(next))
  }
  return <>{fields.map((field) => <label>{field.name}{field.isRequired && ' (required)'} {field.description && <span class="quiet">{field.description}</span>}<FieldInput field={field} value={value[field.name]} set={(member) => set(field.name, member)} /></label>)}</>
}

function FieldInput({ field, value, set }: { field: Field; value: unknown; set: (value: unknown) => void }) {
  if (field.kind === 'boolean') return <input type="checkbox" checked={value === true} onChange={(event) => set(event.currentTarget.checked)} />
  if (field.kind === 'enum') return <select value={String(value ?? '')} onChange={(event) => set(event.currentTarget.value || undefined)}><option value="" />{field.choices.map((choice) => <option value={choice}>{choice}</option>)}</select>
  const read = (text: string): unknown => (text === '' ? undefined : field.kind === 'number' && Number.isFinite(Number(text)) ? Number(text) : text)
  const shown = value === undefined ? '' : String(value)
  if (field.kind === 'date') return <input type="date" value={shown} onInput={(event) => set(read(event.currentTarget.value))} />
  return <input inputMode={field.kind === 'number' ? 'decimal' : 'text'} value={shown} onInput={(event) => set(read(event.currentTarget.value))} />
}

function FromInstance({ ns, take }: { ns: string; take: (input: unknown) => void }) {
  const [id, setId] = useState('')
  const [error, setError] = useState<Error | null>(null)
  const load = async (event: Event): Promise<void> => {
    event.preventDefault()
    setError(null)
    try {
      take((await call<Instance>('GET', inNamespace(ns, 'instances', id.trim()))).input)
    } catch (failure) {
      setError(failure as Error)
    }
  }
  return (
    <form class="filters" onSubmit={(event) => void load(event)}>
      <label>Instance<input size={36} value={id} onInput={(event) => setId(event.currentTarget.value)} /></label>
      <button type="submit" disabled={id.trim() === ''}>Take its input</button>
      {error && <Problem error={error} />}
    </form>
  )
}

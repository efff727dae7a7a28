// The definition in an editor, with findings at their places; it becomes a revision when it is applied.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { DefinitionSchema, ExpressionResult, Finding, Findings, Instance, Workflow } from '../api'
import { useBusy } from '../core/busy'
import { ApiError, call, inNamespace } from '../core/client'
import { parseJson, prettyJson } from '../core/json'
import { Problem } from '../ui/basics'
import { Diff } from '../ui/diff'
import { DraftLine, draftKey, drafts } from '../ui/draft'
import { Icon } from '../ui/icons'
import type { Editor } from '../editor/editor'
import { ApplyDialog, type Seen } from './apply'

export function TextTab({ ns, workflow, changed }: { ns: string; workflow: Workflow; changed: () => void }) {
  const key = draftKey(ns, workflow.id)
  const draft = drafts.get(key)
  const [text, setText] = useState(draft?.text ?? workflow.definition)
  /** Whether the text was typed before this part of the page was opened. */
  const [isKept, setKept] = useState(draft !== undefined)
  /** Grows when the editor is to have another text than the one that was typed. */
  const [round, setRound] = useState(0)
  /** null: the text was not checked yet. */
  const [findings, setFindings] = useState<Finding[] | null>(null)
  const [lintError, setLintError] = useState<Error | null>(null)
  const [checks, setChecks] = useState(0)
  /** The revision from which the dialog that applies the text shows the differences. */
  const [seen, setSeen] = useState<Seen | null>(null)
  const editor = useRef<Editor | null>(null)
  useEffect(() => {
    const control = new AbortController()
    const timer = setTimeout(() => {
      lint(text, control.signal).then(
        (found) => { setFindings(found); setLintError(null); editor.current?.mark(found) },
        (error: Error) => { if (error.name !== 'AbortError') setLintError(error) },
      )
    }, 300)
    return () => { clearTimeout(timer); control.abort() }
  }, [text, checks])
  const change = (next: string): void => {
    setText(next)
    if (next === workflow.definition) drafts.delete(key)
    else drafts.set(key, { text: next, revision: drafts.get(key)?.revision ?? workflow.revision })
  }
  const discard = (): void => {
    change(workflow.definition)
    setKept(false)
    setRound(round + 1)
  }
  // Another revision was applied, here or elsewhere: a draft stays.
  useEffect(() => {
    const typed = drafts.get(key)?.text ?? workflow.definition
    if (typed === workflow.definition && text !== typed) discard()
    if (typed === workflow.definition) drafts.delete(key)
  }, [workflow.definition])
  const isChanged = text !== workflow.definition
  const errors = (findings ?? []).filter((finding) => finding.severity === 'error').length
  return (
    <div class="columns left-wide">
      <section class="panel" aria-labelledby="text-title">
        <h2 id="text-title">Text</h2>
        {isChanged && draft && (isKept || draft.revision !== workflow.revision) && <DraftLine revision={draft.revision} newest={workflow.revision} discard={discard} />}
        <EditorHost key={round} text={text} changed={change} ready={(value) => { editor.current = value; value.mark(findings ?? []) }} />
        <div class="buttons"><button type="button" class="primary" disabled={!isChanged || errors > 0} onClick={() => setSeen(workflow)}>Apply as revision {workflow.revision + 1}…</button></div>
        {isChanged && <details open><summary>Differences from revision {workflow.revision}</summary><Diff before={workflow.definition} after={text} /></details>}
      </section>
      <div>
        <section class="panel" aria-labelledby="findings"><h2 id="findings">Findings</h2>{lintError ? <Problem error={lintError} retry={() => setChecks(checks + 1)} /> : <FindingList findings={findings} go={(finding) => editor.current?.go(finding.line, finding.column)} />}</section>
        <ExpressionTrial ns={ns} workflow={workflow.id} />
      </div>
      {seen && (
        <ApplyDialog ns={ns} id={workflow.id} text={text} seen={seen} title={`Apply as revision ${seen.revision + 1} of ${workflow.id}?`} applied={changed} close={() => { setSeen(null); changed() }}
          load={discard}>
          <p>Instances that start once this text is applied use it; those that run keep their revision.</p>
        </ApplyDialog>
      )}
    </div>
  )
}

/** The findings of a definition, whether or not it has errors. */
async function lint(text: string, abort: AbortSignal): Promise<Finding[]> {
  try {
    return (await call<Findings>('POST', '/v1/lint', { body: text, contentType: 'application/yaml', abort })).errors
  } catch (error) {
    if (error instanceof ApiError && error.mistakes.length > 0) return error.mistakes as Finding[]
    throw error
  }
}

function FindingList({ findings, go }: { findings: Finding[] | null; go: (finding: Finding) => void }) {
  if (findings === null) return <p class="quiet">The server checks the text.</p>
  if (findings.length === 0) return <p class="ok"><Icon name="check" /> No errors, warnings or notes.</p>
  return (
    <ul class="plain" role="status">
      {findings.map((finding) => (
        <li data-finding={finding.code}><button type="button" class="small" onClick={() => go(finding)}>{finding.line}:{finding.column}</button> <span class={finding.severity === 'error' ? 'no' : 'warning'}><Icon name={finding.severity === 'error' ? 'cross' : 'warning'} /> {finding.severity}</span> {finding.message} <code class="quiet">{finding.code}</code></li>
      ))}
    </ul>
  )
}

/** The editor, which begins with a text. It loads when it is first needed and takes no focus then; a plain field if it cannot be loaded. */
function EditorHost({ text, changed, ready }: { text: string; changed: (text: string) => void; ready: (editor: Editor) => void }) {
  const host = useRef<HTMLDivElement>(null)
  const [isLoading, setLoading] = useState(true)
  const [hasFailed, setFailed] = useState(false)
  useBusy(isLoading)
  useEffect(() => {
    let editor: Editor | null = null
    let isGone = false
    const schema = call<DefinitionSchema>('GET', '/v1/schema').catch(() => null)
    import('../editor/editor').then(({ makeEditor }) => {
      if (isGone || !host.current) return
      editor = makeEditor(host.current, text, changed, schema)
      ready(editor)
    }).catch(() => setFailed(true)).finally(() => setLoading(false))
    return () => { isGone = true; editor?.destroy() }
  }, [])
  if (hasFailed) return <label>Definition<textarea rows={24} defaultValue={text} spellcheck={false} onInput={(event) => changed(event.currentTarget.value)} /></label>
  return <div class="editor-host" ref={host} />
}

function ExpressionTrial({ ns, workflow }: { ns: string; workflow: string }) {
  const [text, setText] = useState('.')
  const [data, setData] = useState('{}')
  const [instance, setInstance] = useState('')
  const [result, setResult] = useState<string | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    setError(null)
    try {
      await work()
    } catch (failure) {
      setError(failure as Error)
    }
  }
  const evaluate = (event: Event): void => {
    event.preventDefault()
    const program = text.trim().replace(/^jq\(([\s\S]*)\)$/, '$1')
    void attempt(async () => {
      const answer = await call<ExpressionResult>('POST', '/v1/expressions', { body: { text: program, data: parseJson(data) } })
      setResult(prettyJson(answer.result))
    })
  }
  const load = (): void => void attempt(async () => setData(prettyJson((await call<Instance>('GET', inNamespace(ns, 'instances', instance.trim()))).data)))
  return (
    <section class="panel" aria-labelledby="expression">
      <h2 id="expression">Try an expression</h2>
      <form class="form" onSubmit={evaluate}>
        <label>jq program<input value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} /></label>
        <label>Data (JSON)<textarea value={data} spellcheck={false} onInput={(event) => setData(event.currentTarget.value)} /></label>
        <label>or the data of an instance of {workflow}<input value={instance} onInput={(event) => setInstance(event.currentTarget.value)} /></label>
        <div class="buttons"><button type="button" disabled={instance.trim() === ''} onClick={load}>Take its data</button><button type="submit" class="primary">Evaluate</button></div>
      </form>
      <div role="status">{error ? <Problem error={error} /> : result !== null && <pre class="data" tabIndex={0} aria-label="Result">{result}</pre>}</div>
    </section>
  )
}

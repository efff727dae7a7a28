// The history of an instance as a JSON file, and the scenario that plays what it met.
import { useState } from 'preact/hooks'
import type { History, HistoryRecord, Instance } from '../api'
import { call, inNamespace } from '../core/client'
import { commandLine } from '../core/commands'
import { prettyJson } from '../core/json'
import { CommandText, plural, Problem } from '../ui/basics'
import { announce } from '../ui/dialog'

const kMostRecords = 100_000

/** Saves a text as a file of the browser. */
function saveFile(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

async function wholeHistory(ns: string, id: string, report: (count: number) => void): Promise<HistoryRecord[]> {
  const records: HistoryRecord[] = []
  let cursor: string | null = null
  do {
    const page: History = await call<History>('GET', inNamespace(ns, 'instances', id, 'history'), { query: { limit: 1000, cursor } })
    records.push(...page.items)
    cursor = page.next
    report(records.length)
  } while (cursor !== null && records.length < kMostRecords)
  return records
}

export function Save({ ns, instance }: { ns: string; instance: Instance }) {
  const [error, setError] = useState<Error | null>(null)
  const [state, setState] = useState('')
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    setError(null)
    try {
      await work()
    } catch (failure) {
      setError(failure as Error)
    }
    setState('')
  }
  const saveHistory = (): void => void attempt(async () => {
    const items = await wholeHistory(ns, instance.id, (count) => setState(plural(count, 'record')))
    saveFile(`${instance.workflow}-${instance.id}.history.json`, 'application/json', prettyJson({ instance, items }))
    announce(`The history was saved: ${plural(items.length, 'record')}`)
  })
  const saveScenario = (): void => void attempt(async () => {
    const text = await call<string>('GET', inNamespace(ns, 'instances', instance.id, 'scenario'), { headers: { accept: '*/*' } })
    saveFile(`${instance.workflow}-${instance.id}.test.yaml`, 'application/yaml', text)
    announce('The scenario was saved')
  })
  return (
    <details class="as-command"><summary>Save</summary>
      <ul class="plain">
        <li><button type="button" class="small" onClick={saveHistory}>History (JSON)</button> {state}</li>
        <li><button type="button" class="small" onClick={saveScenario}>Scenario (YAML)</button> for <code>millrace test</code></li>
        <li><pre><CommandText text={commandLine(ns, 'instance', 'scenario', instance.id)} /></pre></li>
      </ul>
      {error && <Problem error={error} />}
    </details>
  )
}

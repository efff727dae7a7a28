// Variables of the namespace, a workflow or an instance, and the names of secrets. A secret's value is sent and never shown.
import { useState } from 'preact/hooks'
import type { Secrets, Variables } from '../api'
import { call, inNamespace, urlOf } from '../core/client'
import { commandLine, httpCall, option } from '../core/commands'
import { useList } from '../core/resource'
import { route, setQuery } from '../core/route'
import { bytes, Empty, Loaded, More, Page } from '../ui/basics'
import { ActionDialog, CopyAsCommand } from '../ui/dialog'
import { FilterField, FilterForm } from '../ui/filter_field'
import { Table } from '../ui/table'
import type { PageProps } from '.'

type Action = { kind: 'set' | 'delete'; what: 'variable' | 'secret'; name: string }

export function ValuesPage({ ns }: PageProps) {
  const workflow = route.value.query.get('workflow')
  const instance = workflow ? null : route.value.query.get('instance')
  const scope = [...option('workflow', workflow), ...option('instance', instance)]
  const base = workflow ? inNamespace(ns, 'workflows', workflow) : instance ? inNamespace(ns, 'instances', instance) : inNamespace(ns)
  const variables = useList<Variables['items'][number], Variables>(`${base}/variables`, { limit: 200 })
  const secrets = useList<Secrets['items'][number], Secrets>(inNamespace(ns, 'secrets'), { limit: 200 })
  const [action, setAction] = useState<Action | null>(null)
  return (
    <Page title="Values" actions={<>
      <button type="button" onClick={() => setAction({ kind: 'set', what: 'variable', name: '' })}>Set a variable…</button>
      <button type="button" onClick={() => setAction({ kind: 'set', what: 'secret', name: '' })}>Set a secret…</button>
      <CopyAsCommand command={{ line: commandLine(ns, 'variable', 'list', ...scope), http: httpCall('GET', `${base}/variables`) }} />
    </>}>
      <section aria-labelledby="variables">
        <h2 id="variables">Variables {workflow ? `of the workflow ${workflow}` : instance ? `of the instance ${instance}` : 'of the namespace'}</h2>
        <FilterForm label="Whose variables">
          <label>Of the workflow (empty: of the namespace)<FilterField size={20} value={workflow ?? ''} set={(text) => setQuery({ workflow: text, instance: null })} /></label>
          <label>or of the instance<FilterField size={36} value={instance ?? ''} set={(text) => setQuery({ instance: text, workflow: null })} /></label>
        </FilterForm>
        <Loaded resource={variables} ns={ns}>{(data) => (data.items.length === 0
          ? <Empty command={commandLine(ns, 'variable', 'set', 'KEY', 'VALUE', ...scope)}><p>No variables here. A state with <code>setter</code> sets one, and so does:</p></Empty>
          : <>
            <Table caption="Variables" items={data.items} keyOf={(item) => item.key} columns={[
              { name: 'Key', isHeader: true, cell: (item) => <a href={urlOf(`${base}/variables/${encodeURIComponent(item.key)}`)} download={item.key}>{item.key}</a> },
              { name: 'Type', cell: (item) => item.contentType },
              { name: 'Size', isNumber: true, cell: (item) => bytes(item.size) },
              { name: 'Sealed', cell: (item) => item.sealed && 'sealed' },
              { name: 'Action', cell: (item) => <><button type="button" class="small" onClick={() => setAction({ kind: 'set', what: 'variable', name: item.key })}>Set…</button> <button type="button" class="small" onClick={() => setAction({ kind: 'delete', what: 'variable', name: item.key })}>Delete…</button></> },
            ]} />
            <More list={variables} />
          </>)}
        </Loaded>
      </section>
      <section aria-labelledby="secrets">
        <h2 id="secrets">Secrets</h2>
        <Loaded resource={secrets} ns={ns} shown={variables}>{(data) => (data.items.length === 0
          ? <Empty command={`${commandLine(ns, 'secret', 'set', 'NAME')} < secret.txt`}><p>No secrets. States read a secret by its name; its value is never shown.</p></Empty>
          : <>
            <Table caption="Names of secrets" items={data.items} keyOf={(item) => item.name} columns={[
              { name: 'Name', isHeader: true, cell: (item) => item.name },
              { name: 'Action', cell: (item) => <><button type="button" class="small" onClick={() => setAction({ kind: 'set', what: 'secret', name: item.name })}>Set…</button> <button type="button" class="small" onClick={() => setAction({ kind: 'delete', what: 'secret', name: item.name })}>Delete…</button></> },
            ]} />
            <More list={secrets} />
          </>)}
        </Loaded>
      </section>
      {action && <ValueDialog ns={ns} base={action.what === 'variable' ? base : inNamespace(ns)} scope={action.what === 'variable' ? scope : []} action={action} close={() => setAction(null)}
        changed={action.what === 'variable' ? variables.reload : secrets.reload} />}
    </Page>
  )
}

function ValueDialog({ ns, base, scope, action, close, changed }: { ns: string; base: string; scope: string[]; action: Action; close: () => void; changed: () => void }) {
  const [name, setName] = useState(action.name)
  const [value, setValue] = useState('')
  const [type, setType] = useState('application/json')
  const isSecret = action.what === 'secret'
  const path = `${base}/${action.what}s/${encodeURIComponent(name || 'NAME')}`
  if (action.kind === 'delete') {
    return (
      <ActionDialog title={`Delete the ${action.what} ${name}?`} label="Delete" isDanger close={close}
        command={{ line: commandLine(ns, action.what, 'delete', name, ...scope), http: httpCall('DELETE', path) }}
        run={async () => { await call('DELETE', path); changed(); return `The ${action.what} ${name} was deleted` }}>
        <p>{isSecret ? 'States that read it fail from then on.' : 'Its value is erased.'} This cannot be taken back.</p>
      </ActionDialog>
    )
  }
  const line = isSecret ? `${commandLine(ns, 'secret', 'set', name || 'NAME')} < secret.txt` : commandLine(ns, 'variable', 'set', name || 'KEY', value || 'VALUE', '--type', type, ...scope)
  return (
    <ActionDialog title={`Set ${name ? `the ${action.what} ${name}` : `a ${action.what}`}`} label="Set" close={close} isReady={name !== '' && (isSecret || value !== '')}
      command={{ line, http: isSecret ? httpCall('PUT', path, {}, '@secret.txt', 'application/octet-stream') : httpCall('PUT', path, {}, value, type), first: isSecret ? 'Save the value as secret.txt first.' : undefined }}
      run={async () => { await call('PUT', path, { body: value, contentType: isSecret ? 'application/octet-stream' : type }); changed(); return `The ${action.what} ${name} was set` }}>
      <label>Name<input value={name} required readOnly={action.name !== ''} onInput={(event) => setName(event.currentTarget.value.trim())} /></label>
      {isSecret
        ? <label>Value; it is sent and never shown again<input type="password" autocomplete="off" value={value} onInput={(event) => setValue(event.currentTarget.value)} /></label>
        : <>
          <label>Content type<input value={type} onInput={(event) => setType(event.currentTarget.value)} /></label>
          <label>Value<textarea value={value} spellcheck={false} onInput={(event) => setValue(event.currentTarget.value)} /></label>
        </>}
    </ActionDialog>
  )
}

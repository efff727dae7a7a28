// The server: version, limits, streams, losses, store, namespaces with their settings, cluster, the session.
import { useState } from 'preact/hooks'
import type { Cluster, Namespace, NamespaceCreated, Namespaces, ServerInfo, Session } from '../api'
import { ApiError, call, inNamespace } from '../core/client'
import { commandLine, httpCall, withInput } from '../core/commands'
import { prettyJson } from '../core/json'
import { useGet, useList } from '../core/resource'
import { href, route, setQuery } from '../core/route'
import { bytes, Clock, count, Empty, Loaded, More, Page, Problem } from '../ui/basics'
import { ActionDialog, CopyAsCommand } from '../ui/dialog'
import { signOut } from '../ui/sign_in'
import { Table } from '../ui/table'
import type { PageProps } from '.'

export function ServerPage(_props: PageProps) {
  const info = useGet<ServerInfo>('/v1/info')
  const namespaces = useList<Namespaces['items'][number], Namespaces>('/v1/ns', { limit: 200 })
  const chosen = route.value.query.get('namespace')
  const [isCreating, setCreating] = useState(false)
  return (
    <Page title="Server" actions={<CopyAsCommand command={{ line: `${commandLine('', 'version')}; ${commandLine('', 'status')}`, http: httpCall('GET', '/v1/info') }} />}>
      <section class="panel" aria-labelledby="info"><h2 id="info">This server</h2><Loaded resource={info}>{(data) => <Info info={data} />}</Loaded></section>
      <section aria-labelledby="namespaces">
        <div class="heading"><h2 id="namespaces">Namespaces</h2><div class="actions"><button type="button" onClick={() => setCreating(true)}>Create a namespace…</button></div></div>
        <Loaded resource={namespaces}>{(data) => (data.items.length === 0
          ? <Empty command={commandLine('', 'namespace', 'create', 'NAME')}><p>No namespaces. The unit that workflows, instances, variables, secrets and settings belong to is made by:</p></Empty>
          : <><Table caption="Namespaces of the server" items={data.items} keyOf={(item) => item.name} rowClass={(item) => (item.name === chosen ? 'is-current' : '')} columns={[
            { name: 'Name', isHeader: true, cell: (item) => <a href={href(item.name)}>{item.name}</a> },
            { name: 'Created', cell: (item) => <Clock at={item.createdAt} /> },
            { name: 'Settings', cell: (item) => <>{item.settingsError ? <span class="no">{item.settingsError}</span> : item.settings ? 'set' : 'none'} <button type="button" class="small" onClick={() => setQuery({ namespace: item.name })}>Show, change, delete…</button></> },
          ]} /><More list={namespaces} /></>)}
        </Loaded>
        {chosen && <NamespacePanel key={chosen} name={chosen} changed={namespaces.reload} />}
      </section>
      <ClusterPanel />
      <SessionPanel />
      {isCreating && <CreateDialog close={() => setCreating(false)} changed={namespaces.reload} />}
    </Page>
  )
}

function Info({ info }: { info: ServerInfo }) {
  const losses = info.broker?.losses ?? []
  return (
    <>
      <dl class="facts">
        <dt>Version</dt><dd>{info.version}</dd>
        {info.data && <><dt>Data folder</dt><dd class="mono">{info.data}</dd></>}
        {info.broker && <><dt>Broker</dt><dd>{info.broker.reading ? 'events are read' : `events are not read: ${info.broker.waitingFor ?? ''}`}</dd></>}
        {info.store && <><dt>Store</dt><dd>{bytes(info.store.usedBytes)} used of {bytes(info.store.dataBytes)}</dd></>}
        {info.engine && <><dt>Longest unit of work</dt><dd>{(info.engine.longestUnitSeconds * 1000).toFixed(1)} ms, {info.engine.longestUnitKind}</dd></>}
        {info.damagedRows && <><dt>Damaged rows</dt><dd class={info.damagedRows.count > 0 ? 'no' : ''}>{count(info.damagedRows.count)}; see <code>millrace verify</code></dd></>}
      </dl>
      {(info.unreadableSettings ?? []).map((item) => <p class="no">Settings of {item.namespace} cannot be read: {item.error}</p>)}
      <h3>Messages that the broker lost</h3>
      {losses.length === 0 ? <p class="quiet">None.</p> : <Table caption="Losses" items={losses} keyOf={(item) => `${item.time}${item.first}`} columns={[
        { name: 'Time', isHeader: true, cell: (item) => <Clock at={item.time} /> },
        { name: 'Kind', cell: (item) => item.kind },
        { name: 'Sequences', cell: (item) => `${item.first} – ${item.last}` },
        { name: 'Detail', cell: (item) => item.detail },
      ]} />}
      <details><summary>Limits</summary><dl class="facts">{Object.entries(info.limits ?? {}).map(([name, value]) => <><dt>{name}</dt><dd>{count(value)}</dd></>)}</dl></details>
      <details><summary>Streams and retention</summary><pre class="data" tabIndex={0} aria-label="Streams and retention">{prettyJson({ streams: info.streams, retention: info.retention, nats: info.nats })}</pre></details>
    </>
  )
}

function NamespacePanel({ name, changed }: { name: string; changed: () => void }) {
  const path = inNamespace(name)
  const namespace = useGet<Namespace>(path)
  const [action, setAction] = useState<'settings' | 'delete' | null>(null)
  const [text, setText] = useState('')
  const [isCancelling, setCancelling] = useState(false)
  const [isDropping, setDropping] = useState(false)
  const drops = isCancelling && isDropping
  const parse = (): unknown => JSON.parse(text)
  return (
    <section class="panel" aria-labelledby="settings">
      <h2 id="settings">Namespace {name}</h2>
      <Loaded resource={namespace} ns={name}>{(data) => (
        <>
          <h3>Quotas</h3>
          <Table caption={`Quotas of ${name}`} items={Object.entries(data.quotas)} keyOf={([quota]) => quota} columns={[
            { name: 'Quota', isHeader: true, cell: ([quota]) => quota },
            { name: 'Used', isNumber: true, cell: ([, value]) => (value.used === undefined ? '' : count(value.used)) },
            { name: 'Limit', isNumber: true, cell: ([, value]) => (typeof value.limit === 'number' ? count(value.limit) : value.limit) },
          ]} />
          <h3>Settings</h3>
          {data.settingsError && <p class="no">{data.settingsError}</p>}
          {(data.settingsWarnings ?? []).map((warning) => <p class="warning"><code>{warning.path}</code> {warning.message}</p>)}
          <pre class="data" tabIndex={0} aria-label={`Settings of ${name}`}>{data.settings ? (typeof data.settings === 'string' ? data.settings : prettyJson(data.settings)) : 'No settings: services, defaults, webhooks, retention and quotas are those of the server. docs/operating.md describes them.'}</pre>
          <div class="buttons">
            <button type="button" onClick={() => { setText(typeof data.settings === 'object' && data.settings !== null ? prettyJson(data.settings) : '{}'); setAction('settings') }}>Change the settings…</button>
            <button type="button" onClick={() => setAction('delete')}>Delete the namespace…</button>
          </div>
        </>
      )}</Loaded>
      {action === 'settings' && (
        <ActionDialog title={`Change the settings of ${name}`} label="Replace the settings" close={() => setAction(null)} command={{ line: withInput(commandLine('', 'namespace', 'create', name, '--settings', '-'), text), http: httpCall('PUT', path, {}, text) }}
          run={async () => { const answer = await call<NamespaceCreated>('PUT', path, { body: parse() }); namespace.reload(); changed(); return `The settings of ${name} were replaced${answer.warnings?.length ? `, with ${answer.warnings.length} warnings` : ''}${answer.removed?.length ? `; removed: ${answer.removed.map((one) => one.path).join(', ')}` : ''}` }}>
          <p>The settings are replaced as a whole. <code>***</code> stands for passwords and queries in URLs; a URL that is sent back so stays as it is.</p>
          <label>Settings (JSON)<textarea rows={14} value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} /></label>
        </ActionDialog>
      )}
      {action === 'delete' && (
        <ActionDialog title={`Delete the namespace ${name}?`} label="Delete" isDanger mustType={name} close={() => setAction(null)} command={{ line: commandLine('', 'namespace', 'delete', name, isCancelling && '--cancel', drops && '--drop-compensations'), http: httpCall('DELETE', path, { cancel: isCancelling, dropCompensations: drops }) }}
          run={async () => { await call('DELETE', path, { query: { cancel: isCancelling, dropCompensations: drops } }); setQuery({ namespace: null }); changed(); return `The namespace ${name} was deleted` }}>
          <p>Its workflows, instances, variables, secrets and settings are erased. This cannot be taken back.</p>
          <label><input type="checkbox" checked={isCancelling} onChange={(event) => setCancelling(event.currentTarget.checked)} /> Cancel its live instances</label>
          {isCancelling && <label><input type="checkbox" checked={isDropping} onChange={(event) => setDropping(event.currentTarget.checked)} /> Make none of their compensations. Otherwise they are made first: delete again when they are done</label>}
        </ActionDialog>
      )}
    </section>
  )
}

function CreateDialog({ close, changed }: { close: () => void; changed: () => void }) {
  const [name, setName] = useState('')
  const path = inNamespace(name || 'NAME')
  return (
    <ActionDialog title="Create a namespace" label="Create" isReady={name !== ''} close={close} command={{ line: commandLine('', 'namespace', 'create', name || 'NAME'), http: httpCall('PUT', path) }}
      run={async () => { await call('PUT', path); changed(); return `The namespace ${name} exists` }}>
      <label>Name<input value={name} required onInput={(event) => setName(event.currentTarget.value.trim())} /></label>
    </ActionDialog>
  )
}

function ClusterPanel() {
  const cluster = useGet<Cluster>('/v1/cluster')
  const [removed, setRemoved] = useState<string | null>(null)
  if (cluster.error instanceof ApiError && cluster.error.code === 'cluster.none') return <section class="panel"><h2>Cluster</h2><p class="quiet">This server belongs to no cluster. docs/cluster.md describes how several servers run one engine together.</p></section>
  return (
    <section aria-labelledby="cluster">
      <h2 id="cluster">Cluster</h2>
      <Loaded resource={cluster}>{(data) => (
        <Table caption={`Nodes of the cluster ${data.cluster}`} items={data.nodes} keyOf={(node) => node.node} columns={[
          { name: 'Node', isHeader: true, cell: (node) => node.node },
          { name: 'Role', cell: (node) => <span class={node.role === 'away' ? 'no' : ''}>{node.role}</span> },
          { name: 'Address', cell: (node) => <span class="mono">{node.address}</span> },
          { name: 'Epoch', isNumber: true, cell: (node) => node.epoch },
          { name: 'Behind', cell: (node) => node.behindCommits !== undefined && `${count(node.behindCommits)} commits, ${node.behindSeconds ?? 0} s` },
          { name: 'Error', cell: (node) => node.error && <><code>{node.error.code}</code> {node.error.detail}</> },
          { name: 'Action', cell: (node) => node.role === 'away' && <button type="button" class="small" onClick={() => setRemoved(node.node)}>Remove…</button> },
        ]} />
      )}</Loaded>
      {removed && (
        <ActionDialog title={`Remove the node ${removed}?`} label="Remove" isDanger close={() => setRemoved(null)} command={{ line: commandLine('', 'cluster', 'remove', removed), http: httpCall('DELETE', `/v1/cluster/nodes/${removed}`) }}
          run={async () => { await call('DELETE', `/v1/cluster/nodes/${removed}`); cluster.reload(); return `The node ${removed} is no longer registered` }}>
          <p>Its registration ends, so that no other node waits for it when the log has lost something. Do this only if the node does not exist any more.</p>
        </ActionDialog>
      )}
    </section>
  )
}

function SessionPanel() {
  const session = useGet<Session>('/v1/session')
  const [error, setError] = useState<Error | null>(null)
  return (
    <section class="panel" aria-labelledby="session">
      <h2 id="session">Session</h2>
      {session.error && (session.error instanceof ApiError && session.error.code === 'session.none'
        ? <p class="quiet">No session: the server was started without a token, and answers calls of this machine only.</p>
        : <Problem error={session.error} retry={session.reload} />)}
      {session.data && (
        <>
          <dl class="facts"><dt>Scopes</dt><dd>{session.data.scopes.join(', ')}</dd><dt>Namespaces</dt><dd>{session.data.namespaces.join(', ')}</dd>{session.data.until && <><dt>Until</dt><dd><Clock at={session.data.until} /></dd></>}</dl>
          <div class="buttons"><button type="button" onClick={() => void signOut().catch((failure: Error) => setError(failure))}>Sign out</button></div>
        </>
      )}
      {error && <Problem error={error} />}
    </section>
  )
}

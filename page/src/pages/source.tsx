// One source: where it reads, what it waits for, what became of its messages; and what the newest of them would become.
import { useState } from 'preact/hooks'
import type { Source } from '../api'
import { inNamespace } from '../core/client'
import { commandLine, httpCall } from '../core/commands'
import { prettyJson } from '../core/json'
import { useGet, useInterval } from '../core/resource'
import { href, navigate } from '../core/route'
import { Clock, CopyButton, count, Loaded, Page } from '../ui/basics'
import { CopyAsCommand } from '../ui/dialog'
import { incidentsOf, Lag, NewestEvents, Refusal, SourceActionDialog, SourceState, type SourceAction } from '../sources/parts'
import { Try } from '../sources/try'
import { sourceOfEvents } from '../sources/webhooks'
import type { PageProps } from '.'

export function SourcePage({ ns, parts }: PageProps) {
  const name = parts[1] ?? ''
  const isTry = parts[2] === 'try'
  const path = inNamespace(ns, 'sources', name)
  const source = useGet<Source>(path)
  const [action, setAction] = useState<SourceAction | null>(null)
  useInterval(source.reload, 2000, source.data !== undefined && action === null)
  const done = action === 'delete' ? () => navigate(href(ns, ['sources'])) : source.reload
  return (
    <Page title={`Source ${name}`} back={{ href: href(ns, ['sources']), label: 'Sources' }} actions={<>
      {source.data && <button type="button" onClick={() => setAction(source.data?.paused ? 'resume' : 'pause')}>{source.data.paused ? 'Resume…' : 'Pause…'}</button>}
      {source.data && <button type="button" onClick={() => setAction('delete')}>Delete…</button>}
      <CopyAsCommand command={{ line: commandLine(ns, 'source', 'describe', name), http: httpCall('GET', path) }} />
    </>}>
      <Loaded resource={source} ns={ns}>{(data) => (
        <>
          <p><SourceState source={data} /> <span class="quiet">· lag</span> <Lag source={data} /> <span class="quiet">· position</span> {count(data.position)}</p>
          {data.notice && <p class="notes">{data.notice.msg} <code>{data.notice.code}</code></p>}
          <nav aria-label="Parts of the source"><ul class="tabs">
            <li><a href={href(ns, ['sources', name])} aria-current={isTry ? undefined : 'page'}>Reading</a></li>
            <li><a href={href(ns, ['sources', name, 'try'])} aria-current={isTry ? 'page' : undefined}>Try</a></li>
          </ul></nav>
          {isTry ? <Try ns={ns} source={data} changed={source.reload} /> : <Reading ns={ns} source={data} />}
        </>
      )}</Loaded>
      {action && source.data && <SourceActionDialog ns={ns} source={source.data} action={action} close={() => setAction(null)} done={done} />}
    </Page>
  )
}

function Reading({ ns, source }: { ns: string; source: Source }) {
  const settings = prettyJson(source.settings ?? {})
  const attribute = sourceOfEvents(ns, 'source', source.name, source.settings?.mapping)
  const incidents = incidentsOf(source)
  return (
    <>
      <div class="panel">
        <dl class="facts">
          <dt>Stream</dt><dd>{source.stream}</dd>
          <dt>Subjects</dt><dd class="mono">{source.subjects.length === 0 ? 'all' : source.subjects.join(' ')}</dd>
          <dt>Applied up to</dt><dd>{count(source.position)}{source.highest > source.position && `, and further ones up to ${count(source.highest)}`}</dd>
          {source.read !== undefined && <><dt>Read up to</dt><dd>{count(source.read)}</dd></>}
          <dt>Lag</dt><dd><Lag source={source} />{source.lag === undefined && source.paused && ': it reads nothing while it is paused'}</dd>
          <dt>Events</dt><dd>{count(source.events)}</dd>
          <dt>Repetitions dropped</dt><dd>{count(source.repeated)}</dd>
          <dt>Dead letters</dt><dd class={source.refused > 0 ? 'no' : ''}>{count(source.refused)}</dd>
          {source.lastRefusal && <><dt>Latest dead letter</dt><dd><Refusal ns={ns} refusal={source.lastRefusal} /></dd></>}
          <dt>Begins at</dt><dd class="mono">{typeof source.begin === 'string' ? source.begin : Object.entries(source.begin).map(([key, value]) => `${key} ${String(value)}`).join()}</dd>
          <dt>At most</dt><dd>{count(source.rate)} messages a second</dd>
          <dt>Created</dt><dd><Clock at={source.createdAt} />; settings applied <Clock at={source.appliedAt} /></dd>
          {incidents.length > 0 && <><dt>In this process</dt><dd>{incidents.join('; ')}</dd></>}
        </dl>
        <details><summary>The settings</summary><pre class="data" tabIndex={0} aria-label="The settings">{settings}</pre><CopyButton text={settings} /></details>
      </div>
      {attribute === null
        ? <p class="quiet">The mapping sets the attribute <code>source</code> of each event, so the events of this source cannot be listed by it. <a href={href(ns, ['sources', source.name, 'try'])}>Try</a> shows the ids of the newest.</p>
        : (
          <NewestEvents ns={ns} source={attribute}>
            The event stream has no events of this source. When a program publishes a message to the stream, and the source reads it, its event is here. A message that is a CloudEvent keeps its own source, so it is in the list of all events.
          </NewestEvents>
        )}
    </>
  )
}

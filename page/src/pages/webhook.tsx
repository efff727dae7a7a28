// One inbound webhook: its URL, how its requests are signed, and what became of them.
import { useState } from 'preact/hooks'
import type { InboundWebhook as WebhookFigures, Namespace } from '../api'
import { inNamespace, urlOf } from '../core/client'
import { commandLine, httpCall } from '../core/commands'
import { prettyJson, shortJson } from '../core/json'
import { useGet, useInterval } from '../core/resource'
import { href } from '../core/route'
import { Clock, CopyButton, count, Empty, Loaded, Page } from '../ui/basics'
import { CopyAsCommand } from '../ui/dialog'
import { NewestEvents, RequestError, WebhookActionDialog, WebhookState } from '../sources/parts'
import { TryWebhook } from '../sources/try_webhook'
import { inboundWebhooksOf, sourceOfEvents, type InboundWebhook } from '../sources/webhooks'
import type { PageProps } from '.'

export function WebhookPage({ ns, parts }: PageProps) {
  const name = parts[1] ?? ''
  const path = inNamespace(ns)
  const namespace = useGet<Namespace>(path)
  return (
    <Page title={`Inbound webhook ${name}`} back={{ href: href(ns, ['sources']), label: 'Sources' }}
      actions={<CopyAsCommand command={{ line: commandLine('', 'namespace', 'get', ns), http: httpCall('GET', path) }} />}>
      <Loaded resource={namespace} ns={ns}>{(data) => {
        const webhook = inboundWebhooksOf(data.settings).find((one) => one.name === name)
        return webhook
          ? <About ns={ns} webhook={webhook} />
          : (
            <Empty command={commandLine('', 'namespace', 'create', ns, '--settings', '@settings.json')}>
              <p>The settings of the namespace have no inbound webhook {name}; requests for it are refused. It is here when the settings have it under <code>hooks</code>; new settings replace the old ones:</p>
            </Empty>
          )
      }}</Loaded>
    </Page>
  )
}

/** What became of the requests, and whether it is paused. */
function Figures({ ns, name }: { ns: string; name: string }) {
  const figures = useGet<WebhookFigures>(inNamespace(ns, 'hooks', name))
  const [isAsking, setAsking] = useState(false)
  useInterval(figures.reload, 2000, figures.data !== undefined)
  return (
    <Loaded resource={figures} ns={ns}>{(one) => (
      <div class="panel">
        <dl class="facts">
          <dt>Status</dt><dd><WebhookState webhook={one} /> <button type="button" class="small" onClick={() => setAsking(true)}>{one.paused ? 'Resume…' : 'Pause…'}</button></dd>
          <dt>Requests</dt><dd>since <Clock at={one.countedSince} />: {count(one.accepted)} accepted, {count(one.repeated)} repeated, {count(one.refused)} refused, {count(one.unmapped)} not mapped, {count(one.deferred)} to be sent again</dd>
          {one.lastAcceptedAt && <><dt>Latest accepted</dt><dd><Clock at={one.lastAcceptedAt} /></dd></>}
          {one.lastRefusal && <><dt>Latest refused</dt><dd><RequestError failure={one.lastRefusal} /></dd></>}
          {one.lastError && <><dt>Latest error</dt><dd><RequestError failure={one.lastError} /></dd></>}
        </dl>
        {isAsking && <WebhookActionDialog ns={ns} webhook={one} close={() => setAsking(false)} done={figures.reload} />}
      </div>
    )}</Loaded>
  )
}

function About({ ns, webhook }: { ns: string; webhook: InboundWebhook }) {
  const url = urlOf(inNamespace(ns, 'hooks', webhook.name))
  const mapping = prettyJson(webhook.mapping)
  const source = sourceOfEvents(ns, 'webhook', webhook.name, webhook.mapping)
  return (
    <>
      <div class="panel">
        <dl class="facts">
          <dt>URL</dt><dd><span class="mono">{url}</span> <CopyButton text={url} /></dd>
          <dt>Signature</dt><dd>in the form {webhook.form}; each of the secrets is valid</dd>
          <dt>Secrets</dt><dd><a href={href(ns, ['values'])}>{webhook.secrets.join(', ')}</a></dd>
          {webhook.verify.map(([key, value]) => <><dt>{key}</dt><dd class="mono">{typeof value === 'string' ? value : shortJson(value)}</dd></>)}
          <dt>Type</dt><dd class="mono">{String(webhook.mapping.type)}</dd>
        </dl>
        <details><summary>The mapping</summary><pre class="data" tabIndex={0} aria-label="The mapping">{mapping}</pre><CopyButton text={mapping} /></details>
        <p class="quiet">The other service may need another host in the URL than this browser. An inbound webhook that is removed from the settings refuses all requests.</p>
      </div>
      <Figures ns={ns} name={webhook.name} />
      <TryWebhook ns={ns} name={webhook.name} />
      {source === null
        ? <p class="quiet">The mapping sets the attribute <code>source</code> of each event, so the events of this inbound webhook cannot be listed by it. See <a href={href(ns, ['events'])}>all events</a>.</p>
        : (
          <NewestEvents ns={ns} source={source}>
            The event stream has no events of this inbound webhook. When the other service posts a request to the URL, and its signature is valid, its event is here.
          </NewestEvents>
        )}
    </>
  )
}

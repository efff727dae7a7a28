// The calls of a namespace that wait for an answer from outside, oldest first.
import { inNamespace } from '../core/client'
import { commandLine, httpCall, option } from '../core/commands'
import { route, setQuery } from '../core/route'
import { AcceptedCalls } from '../ui/accepted_calls'
import { Page } from '../ui/basics'
import { CopyAsCommand } from '../ui/dialog'
import { FilterField, FilterForm } from '../ui/filter_field'
import type { PageProps } from '.'

export function CallsPage({ ns }: PageProps) {
  const instance = route.value.query.get('instance')
  const path = inNamespace(ns, 'calls')
  return (
    <Page title="Calls" actions={<CopyAsCommand command={{ line: commandLine(ns, 'call', 'list', ...option('instance', instance)), http: httpCall('GET', path, { instance }) }} />}>
      <p class="quiet">Calls that wait for an answer from outside, oldest first: a service has accepted the task, and answers it later.</p>
      <FilterForm names={['instance']}>
        <label>Instance<FilterField size={36} value={instance ?? ''} set={(text) => setQuery({ instance: text })} /></label>
      </FilterForm>
      <AcceptedCalls ns={ns} instance={instance} />
    </Page>
  )
}

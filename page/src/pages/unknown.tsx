// An address that names no page: what it names, and where to go.
import { href } from '../core/route'
import { GoToButton, Page } from '../ui/basics'
import type { PageProps } from '.'
import { barPageOf, kPages, tabsOf } from './places'

export function UnknownPage({ ns, parts }: PageProps) {
  const [name = '', id = ''] = parts
  const tabs = parts.length > 2 ? tabsOf(name) : []
  const list = kPages.find((page) => page.path === barPageOf(name) && page.path !== 'server')
  return (
    <Page title="No such page">
      <p>The address names <code>{parts.join('/')}</code> in the namespace <code>{ns}</code>, which is not a page.</p>
      {tabs.length > 0 && <p>Pages below <code>{name}/{id}</code>: {tabs.map((tab, index) => <>{index > 0 && ', '}<a href={href(ns, [name, id, tab])}>{tab}</a></>)}.</p>}
      <p>See {list && <><a href={href(ns, [list.path])}>{list.name}</a> or </>}<a href={href(ns)}>the overview</a>. <GoToButton /></p>
    </Page>
  )
}

// An address that names no page.
import { href } from '../core/route'
import { Page } from '../ui/basics'
import type { PageProps } from '.'

export function UnknownPage({ ns, parts }: PageProps) {
  return (
    <Page title="Not a page">
      <p>The address names the page <code>{parts.join('/')}</code>, which does not exist. See <a href={href(ns)}>the overview</a>, or press <kbd>/</kbd> to look for an id.</p>
    </Page>
  )
}

// What axe finds in a page, in each theme and in a wide and a narrow window.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const kAxe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The themes, and the widths of the window in pixels. */
export const kLooks = [['light', 1280], ['dark', 1280], ['light', 320], ['dark', 320]]

/** axe is put in by the browser's own protocol, which the policy does not bind. */
export async function addAxe(page) {
  await page.evaluate(kAxe)
}

/** Of the dark theme only the colours are looked at: all else is that of the light one. */
export async function violations(page, scheme) {
  return page.evaluate(async (isDark) => {
    const result = await window.axe.run(document, { resultTypes: ['violations'], runOnly: isDark ? ['color-contrast', 'link-in-text-block'] : ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
    return result.violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.target.join(' ')} ${node.failureSummary.split('\n')[1] ?? ''}`))
  }, scheme === 'dark')
}

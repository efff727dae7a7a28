// Keys as commands: off by a switch, and none while a text is typed or a dialog is open.
import { useEffect } from 'preact/hooks'
import { hasKeys, isLive, nextTheme } from '../core/settings'
import { href, lastNamespace, navigate, route, setQuery } from '../core/route'

/** The pages behind `g`. */
export const kGoKeys: Record<string, [string, string]> = {
  o: ['', 'Overview'], i: ['instances', 'Instances'], w: ['workflows', 'Workflows'], e: ['events', 'Events'],
  s: ['sources', 'Sources'], d: ['dead', 'Dead letters'], c: ['calls', 'Calls'], f: ['functions', 'Functions'], n: ['next', 'Next'], q: ['queues', 'Queues'],
}

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null
  return !!element?.closest?.('input:not([type=checkbox]), textarea, select, [contenteditable], .editor-host, dialog')
}

export function useKeys({ help, goTo }: { help: () => void; goTo: () => void }): void {
  useEffect(() => {
    let isAfterG = false
    const press = (event: KeyboardEvent): void => {
      if (event.key === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey) {
        event.preventDefault()
        if (!document.querySelector('dialog[open]')) goTo()
        return
      }
      if (!hasKeys.value || isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return
      const page = isAfterG ? kGoKeys[event.key] : undefined
      isAfterG = event.key === 'g'
      if (page) navigate(href(lastNamespace.value, page[0] ? [page[0]] : []))
      else if (!runKey(event.key, help, goTo)) return
      event.preventDefault()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
}

/** Runs the command of a key; false if it has none. */
function runKey(key: string, help: () => void, goTo: () => void): boolean {
  switch (key) {
    case '/': goTo(); return true
    case '?': help(); return true
    case 'l': isLive.value = !isLive.value; return true
    case 't': nextTheme(); return true
    case 'j': return moveRow(1)
    case 'k': return moveRow(-1)
    case 'x': return clickInRow('input[type=checkbox]')
    // The actions on the rows that are selected, if there are some, else those of the page.
    case '.': return focusFirst('.bulk button:enabled') || focusFirst('.heading .actions :is(a, button:enabled, summary)')
    case '[': return moveRecord(-1)
    case ']': return moveRecord(1)
    default: return false
  }
}

/** Moves the focus to the link of the next or the previous row. */
function moveRow(step: number): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>('main tbody tr')]
  if (rows.length === 0) return false
  const current = rows.findIndex((row) => row.contains(document.activeElement))
  const row = rows[Math.max(0, Math.min(rows.length - 1, current === -1 ? 0 : current + step))]
  row?.querySelector<HTMLElement>('a, button')?.focus()
  row?.scrollIntoView({ block: 'nearest' })
  return true
}

function clickInRow(selector: string): boolean {
  const box = document.activeElement?.closest('tr')?.querySelector<HTMLElement>(selector)
  box?.click()
  return !!box
}

function focusFirst(selector: string): boolean {
  const element = document.querySelector<HTMLElement>(selector)
  element?.focus()
  return !!element
}

/** Shows the record before or behind the one of the address. */
function moveRecord(step: number): boolean {
  const slider = document.querySelector<HTMLInputElement>('.slider input')
  if (!slider || route.value.parts[0] !== 'instances') return false
  const next = Math.max(Number(slider.min), Math.min(Number(slider.max), Number(slider.value) + step))
  setQuery({ at: next }, true)
  return true
}

// What the browser remembers: theme, time zone, and whether keys are on. Nothing else is stored.
import { effect, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

function stored(name: string): string | null {
  try {
    return localStorage.getItem(`millrace.${name}`)
  } catch {
    return null
  }
}

function store(name: string, value: string): void {
  try {
    localStorage.setItem(`millrace.${name}`, value)
  } catch {
    // A browser without storage forgets the setting.
  }
}

const themes: Theme[] = ['system', 'light', 'dark']
export const theme = signal<Theme>(themes.find((name) => name === stored('theme')) ?? 'system')
/** Whether times are shown in UTC. */
export const isUtc = signal(stored('utc') === '1')
/** Whether single keys are commands. */
export const hasKeys = signal(stored('keys') !== '0')
/** Whether the page follows changes. */
export const isLive = signal(true)

effect(() => {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
  store('theme', theme.value)
})
effect(() => store('utc', isUtc.value ? '1' : '0'))
effect(() => store('keys', hasKeys.value ? '1' : '0'))

/** The next theme in the order system, light, dark. */
export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? 'system'
}

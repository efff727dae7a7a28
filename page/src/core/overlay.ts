// The dialog over any page: the keys and help, or "Go to".
import { signal } from '@preact/signals'

export const overlay = signal<'help' | 'goto' | null>(null)

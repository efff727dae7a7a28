// The filters of a list: their form, and its text fields. A field whose value is that of the address loses what is typed when the page is
// drawn again, which each change of the data does, so the field has a text of its own.
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'
import { route, setQuery } from '../core/route'

/**
 * Fields that are applied with Enter, when they are left, or with the button `apply`. "Clear" drops the parameters `names` of the address.
 * `submit` is called if the fields are as they were applied: a change reads by the address that it makes.
 */
export function FilterForm({ children, names = [], label = 'Filters', apply = 'Apply', submit }: { children: ComponentChildren; names?: readonly string[]; label?: string; apply?: string; submit?: () => void }) {
  const { query } = route.value
  const address = location.hash
  const send = (event: Event): void => {
    event.preventDefault()
    if (location.hash === address) submit?.()
  }
  return (
    <form class="filters" onSubmit={send} aria-label={label}>
      {children}
      <button type="submit" title="Enter in a field does the same">{apply}</button>
      {names.some((name) => query.has(name)) && <button type="button" onClick={() => setQuery(Object.fromEntries(names.map((name) => [name, null])))}>Clear</button>}
    </form>
  )
}

/** What is typed stays while the data beside it changes, and counts when the field is left, or with Enter. White space around it counts only if `isExact`. */
export function FilterField({ value, set, size, placeholder, isNumeric = false, isExact = false }: { value: string; set: (text: string) => void; size: number; placeholder?: string; isNumeric?: boolean; isExact?: boolean }) {
  const [text, setText] = useState(value)
  // A layout effect: it runs before anything can be typed.
  useLayoutEffect(() => setText(value), [value])
  return <input size={size} placeholder={placeholder} inputMode={isNumeric ? 'numeric' : undefined} value={text} onInput={(event) => setText(event.currentTarget.value)} onChange={(event) => set(isExact ? event.currentTarget.value : event.currentTarget.value.trim())} />
}

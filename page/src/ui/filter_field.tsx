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

/** What is typed stays while the data beside it changes, and counts when the field is left, or with Enter. White space around it counts only if `isExact`. `mistake` says what is wrong with a text; empty: nothing. The address gets also such a text, so that no rows of an earlier one stay. */
export function FilterField({ value, set, size, placeholder, isNumeric = false, isExact = false, mistake = () => '' }: { value: string; set: (text: string) => void; size: number; placeholder?: string; isNumeric?: boolean; isExact?: boolean; mistake?: (text: string) => string }) {
  const [text, setText] = useState(value)
  const [fault, setFault] = useState('')
  // A layout effect: it runs before anything can be typed.
  useLayoutEffect(() => { setText(value); setFault(mistake(value)) }, [value])
  const apply = (typed: string): void => {
    setFault(mistake(typed))
    set(typed)
  }
  return (
    <>
      <input class={size === kIdSize ? 'mono' : undefined} size={size} placeholder={placeholder} inputMode={isNumeric ? 'numeric' : undefined} aria-invalid={fault !== ''} value={text} onInput={(event) => setText(event.currentTarget.value)} onChange={(event) => apply(isExact ? event.currentTarget.value : event.currentTarget.value.trim())} />
      {fault && <span class="no" role="alert">{fault}</span>}
    </>
  )
}

/** The length of the id of an instance: a field of this size shows it whole. */
export const kIdSize = 36

/** What is wrong with the id of an instance; empty: nothing. */
export function idMistake(text: string): string {
  return text === '' || /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text) ? '' : `“${text}” is not a whole id: expected are its ${kIdSize} characters, which “Copy the id” on the page of the instance has`
}

/** What is wrong with the name of an attribute; empty: nothing. */
export function attributeMistake(name: string): string {
  return /[A-Z]/.test(name) ? `names of attributes are in lower case: write ${name.toLowerCase()}` : ''
}

/** The field of the name of an attribute. A wrong name stays in the address, so that no row of another filter is shown. */
export function AttributeField({ size }: { size: number }) {
  return <FilterField size={size} value={route.value.query.get('attribute') ?? ''} set={(text) => setQuery({ attribute: text })} mistake={attributeMistake} />
}

/** Whether the address filters by an attribute that has a wrong name or lacks its value, or by a value without an attribute. */
export function lacksAttribute(): boolean {
  const { query } = route.value
  return !query.get('attribute') !== !query.get('value') || attributeMistake(query.get('attribute') ?? '') !== ''
}

/** What a filter by attribute and value has found; if one of the two is missing, which. The names are those of the fields. */
export function ByAttribute({ attribute = 'Attribute', value = 'Value', children }: { attribute?: string; value?: string; children: ComponentChildren }) {
  if (!lacksAttribute()) return <>{children}</>
  if (attributeMistake(route.value.query.get('attribute') ?? '')) return <p class="notes" role="status">Nothing is shown until “{attribute}” is corrected.</p>
  const [missing, given] = route.value.query.get('value') ? [attribute, value] : [value, attribute]
  return <p class="notes" role="status">The filter is incomplete, so nothing is shown: fill in “{missing}” too, or empty “{given}”.</p>
}

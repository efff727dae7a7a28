// The text field of a filter. A controlled field loses what is typed when the page is drawn again, which each change of the data does.
import { useEffect, useState } from 'preact/hooks'

/** What is typed stays while the data beside it changes, and counts when the field is left, or with Enter. */
export function FilterField({ value, set, size, placeholder, isNumeric = false }: { value: string; set: (text: string) => void; size: number; placeholder?: string; isNumeric?: boolean }) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  return <input size={size} placeholder={placeholder} inputMode={isNumeric ? 'numeric' : undefined} value={text} onInput={(event) => setText(event.currentTarget.value)} onChange={(event) => set(event.currentTarget.value.trim())} />
}

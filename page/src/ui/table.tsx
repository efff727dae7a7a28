// Lists as real tables: a caption, headers with scope, and a region that scrolls where the page is narrow. Rows stay rows there, so that
// they can be compared; a line above the table says that there are more columns.
import type { ComponentChildren, VNode } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { usePortion } from '../core/portions'

export interface Column<Item> {
  name: string
  cell: (item: Item) => ComponentChildren
  /** The cell that names the row. */
  isHeader?: boolean
  isNumber?: boolean
  /** The cell has long texts. */
  isWide?: boolean
}

interface TableProps<Item> {
  caption: string
  /** Rows whose items stay are not drawn again while `columns` and `rowClass` are the same objects. */
  columns: Array<Column<Item>>
  items: Item[]
  keyOf: (item: Item) => string
  rowClass?: (item: Item) => string
}

export function Table<Item>(props: TableProps<Item>) {
  const { caption, columns } = props
  const rows = useRows(props)
  return (
    <Frame label={caption}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead><tr>{columns.map((column) => <th scope="col" class={column.isNumber ? 'number' : ''}>{column.name || <span class="hidden">Select</span>}</th>)}</tr></thead>
        <tbody>{rows}</tbody>
      </table>
    </Frame>
  )
}

/** The rows that are drawn now. */
function useRows<Item>({ columns, items, keyOf, rowClass }: TableProps<Item>): VNode[] {
  const shown = items.slice(0, usePortion(items.length))
  const before = useRef<{ columns: unknown; rowClass: unknown; rows: Map<Item, VNode> }>({ columns: null, rowClass: null, rows: new Map() })
  const known = before.current.columns === columns && before.current.rowClass === rowClass ? before.current.rows : null
  const rows = new Map<Item, VNode>()
  for (const item of shown) {
    rows.set(item, known?.get(item) ?? (
      <tr key={keyOf(item)} class={rowClass?.(item)} data-row={keyOf(item)}>
        {columns.map((column) => (column.isHeader
          ? <th scope="row">{column.cell(item)}</th>
          : <td class={column.isNumber ? 'number' : column.isWide ? 'wide' : undefined}>{column.cell(item)}</td>))}
      </tr>
    ))
  }
  before.current = { columns, rowClass, rows }
  return [...rows.values()]
}

/** The region of a table. It scrolls sideways, and says so, while the table is wider; the page itself never does. */
function Frame({ label, children }: { label: string; children: ComponentChildren }) {
  const frame = useRef<HTMLDivElement>(null)
  const isCut = useIsCut(frame)
  return (
    <>
      {isCut && <p class="sideways">Scroll the table sideways for more columns <span aria-hidden="true">→</span></p>}
      <div class="scroll" ref={frame} role="region" aria-label={label} tabIndex={0}>{children}</div>
    </>
  )
}

/** Whether the content of an element is wider than the element, also when one of them changes. */
function useIsCut(frame: { current: HTMLElement | null }): boolean {
  const [isCut, setCut] = useState(false)
  useLayoutEffect(() => {
    const shown = frame.current
    if (!shown) return undefined
    const measure = (): void => setCut(shown.scrollWidth > shown.clientWidth + 1)
    const observer = new ResizeObserver(measure)
    // The observer measures when the browser has laid the page out, which is cheaper; but it does not see a table in a closed part.
    if (shown.closest('details:not([open])') !== null) measure()
    for (const element of [shown, ...shown.children]) observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return isCut
}

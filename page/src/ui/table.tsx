// Lists as real tables: a caption, headers with scope, and a region that scrolls where the page is narrow.
import type { ComponentChildren } from 'preact'

export interface Column<Item> {
  name: string
  cell: (item: Item) => ComponentChildren
  /** The cell that names the row. */
  isHeader?: boolean
  isNumber?: boolean
  /** The cell has long texts. */
  isWide?: boolean
}

export function Table<Item>({ caption, columns, items, keyOf, rowClass }: {
  caption: string
  columns: Array<Column<Item>>
  items: Item[]
  keyOf: (item: Item) => string
  rowClass?: (item: Item) => string
}) {
  return (
    <div class="scroll" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead><tr>{columns.map((column) => <th scope="col" class={column.isNumber ? 'number' : ''}>{column.name || <span class="hidden">Select</span>}</th>)}</tr></thead>
        <tbody>
          {items.map((item) => (
            <tr key={keyOf(item)} class={rowClass?.(item)} data-row={keyOf(item)}>
              {columns.map((column) => (column.isHeader
                ? <th scope="row">{column.cell(item)}</th>
                : <td class={column.isNumber ? 'number' : column.isWide ? 'wide' : ''}>{column.cell(item)}</td>))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

// The difference of two texts by lines.

export interface DiffLine {
  kind: 'same' | 'added' | 'removed'
  text: string
}

/** So many lines are compared exactly, after the beginning and the end that are the same. */
const kMost = 3000

/** The lines of two texts in one list: removed lines before added ones. */
export function diffLines(before: string, after: string): DiffLine[] {
  const first = before.split('\n')
  const second = after.split('\n')
  let start = 0
  while (start < first.length && start < second.length && first[start] === second[start]) start += 1
  let end = 0
  while (end < first.length - start && end < second.length - start && first[first.length - 1 - end] === second[second.length - 1 - end]) end += 1
  const same = (text: string): DiffLine => ({ kind: 'same', text })
  return [
    ...first.slice(0, start).map(same),
    ...compare(first.slice(start, first.length - end), second.slice(start, second.length - end)),
    ...first.slice(first.length - end).map(same),
  ]
}

function compare(first: string[], second: string[]): DiffLine[] {
  if (first.length * second.length > kMost * kMost) {
    return [...first.map((text): DiffLine => ({ kind: 'removed', text })), ...second.map((text): DiffLine => ({ kind: 'added', text }))]
  }
  // lengths[i][j]: the longest common subsequence of first[i…] and second[j…].
  const width = second.length + 1
  const lengths = new Uint16Array((first.length + 1) * width)
  for (let i = first.length - 1; i >= 0; i -= 1) {
    for (let j = second.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = first[i] === second[j] ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1 : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0)
    }
  }
  return walk(first, second, (i, j) => lengths[i * width + j] ?? 0)
}

function walk(first: string[], second: string[], length: (i: number, j: number) => number): DiffLine[] {
  const lines: DiffLine[] = []
  let i = 0
  let j = 0
  while (i < first.length || j < second.length) {
    if (i < first.length && j < second.length && first[i] === second[j]) {
      lines.push({ kind: 'same', text: first[i] ?? '' })
      i += 1
      j += 1
    } else if (i < first.length && (j >= second.length || length(i + 1, j) >= length(i, j + 1))) {
      lines.push({ kind: 'removed', text: first[i] ?? '' })
      i += 1
    } else {
      lines.push({ kind: 'added', text: second[j] ?? '' })
      j += 1
    }
  }
  return lines
}

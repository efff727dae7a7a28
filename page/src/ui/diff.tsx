// A difference by lines; long parts that are the same are folded.
import { diffLines, type DiffLine } from '../core/diff'
import { plural } from './basics'

const kContext = 3

export function Diff({ before, after }: { before: string; after: string }) {
  const lines = diffLines(before, after)
  const changed = lines.filter((line) => line.kind !== 'same').length
  if (changed === 0) return <p class="quiet">The texts are the same.</p>
  return (
    <>
      <p class="quiet">{plural(lines.filter((line) => line.kind === 'added').length, 'line')} added, {lines.filter((line) => line.kind === 'removed').length} removed</p>
      <div class="diff" tabIndex={0} role="region" aria-label="Differences">
        {folded(lines).map((line) => (line === null
          ? <div class="quiet">┄</div>
          : <div class={line.kind === 'same' ? '' : line.kind} data-kind={line.kind}><span aria-hidden="true">{{ same: '  ', added: '+ ', removed: '− ' }[line.kind]}</span>{line.kind !== 'same' && <span class="hidden">{line.kind}: </span>}{line.text}</div>))}
      </div>
    </>
  )
}

/** The changed lines and those near them; null stands for lines that are left out. */
function folded(lines: DiffLine[]): Array<DiffLine | null> {
  const near = lines.map((_line, index) => lines.slice(Math.max(0, index - kContext), index + kContext + 1).some((line) => line.kind !== 'same'))
  return lines.flatMap((line, index) => (near[index] ? [line] : near[index - 1] || index === 0 ? [null] : []))
}

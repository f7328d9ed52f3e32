/** The difference between two objects, as lines of YAML with the unchanged ones folded. */
import { useMemo, useState } from 'preact/hooks'
import { diffLines } from '../../src/lib/line-diff.ts'
import { type YamlLine, yamlLines } from '../core/yaml-lines.ts'

export type DiffRow = { readonly sign: ' ' | '+' | '-'; readonly text: string; readonly path: readonly string[] }

/** Lines of both objects with their paths. */
export function diffRows(before: unknown, after: unknown): DiffRow[] {
  const [a, b] = [before === undefined ? [] : yamlLines(before), after === undefined ? [] : yamlLines(after)]
  const rows = diffLines(
    a.map(({ text }) => text),
    b.map(({ text }) => text),
  )
  let [i, j] = [0, 0]
  return rows.map(({ sign, text }) => {
    const line: YamlLine | undefined = sign === '-' ? a[i] : b[j]
    if (sign !== '+') i++
    if (sign !== '-') j++
    return { sign, text, path: line?.path ?? [] }
  })
}

const AROUND = 3

type DiffProps = {
  readonly before: unknown
  readonly after: unknown
  /** A note beside a changed line, such as that admission made it. */
  note?(row: DiffRow): string | undefined
  readonly label: string
}

export function Diff({ before, after, note, label }: DiffProps) {
  const rows = useMemo(() => diffRows(before, after), [before, after])
  const [isWhole, setWhole] = useState(false)
  const isChanged = rows.some(({ sign }) => sign !== ' ')
  if (!isChanged) return <p class="muted">No difference.</p>
  const isNear = (i: number) => isWhole || rows.slice(Math.max(0, i - AROUND), i + AROUND + 1).some(({ sign }) => sign !== ' ')
  const shown: (DiffRow | number)[] = []
  rows.forEach((row, i) => {
    if (isNear(i)) shown.push(row)
    else if (typeof shown.at(-1) === 'number') shown[shown.length - 1] = (shown.at(-1) as number) + 1
    else shown.push(1)
  })
  return (
    // A region that scrolls can be scrolled by keys.
    <section class="diff code" aria-label={label} tabIndex={0}>
      {shown.map((row, i) => {
        if (typeof row === 'number')
          return (
            <button type="button" class="diff-skip" key={`skip${i}`} onClick={() => setWhole(true)}>
              {row} unchanged {row === 1 ? 'line' : 'lines'}
            </button>
          )
        const remark = row.sign === ' ' ? undefined : note?.(row)
        return (
          <div
            key={i}
            class={`diff-line ${row.sign === '+' ? 'diff-add' : row.sign === '-' ? 'diff-del' : ''} ${remark ? 'diff-mark' : ''}`}
          >
            <span aria-hidden="true">{row.sign}</span>
            <span>
              {row.sign !== ' ' && <span class="visually-hidden">{row.sign === '+' ? 'added ' : 'removed '}</span>}
              {row.text}
            </span>
            {remark && <span class="diff-note">{remark}</span>}
          </div>
        )
      })}
    </section>
  )
}

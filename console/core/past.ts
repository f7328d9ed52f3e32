/** The past of an object as a signal of a component, and the field that one line stands for in it. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { type Past, PastReader, PORTION, type Revision } from './revisions.ts'
import { type Path, valueAt } from './yaml-lines.ts'

const NOTHING: Past = { revisions: [], isComplete: false, hasMore: false, isReading: true, note: '' }

/** Goes on when the object has a new revision; `readMore` reads older ones than at first. */
export function usePast(path: string, newest: string | undefined): Past & { readMore(): void } {
  const reader = useMemo(() => new PastReader(path), [path])
  const [past, setPast] = useState<Past>(NOTHING)
  const [most, setMost] = useState(PORTION)
  useEffect(() => {
    const abort = new AbortController()
    void reader.read(most, setPast, abort.signal)
    return () => abort.abort()
  }, [reader, newest, most])
  return { ...past, readMore: () => setMost(past.revisions.length + PORTION) }
}

export type FieldChange = { readonly revision: Revision; readonly value: unknown; readonly before: unknown; readonly isFirst: boolean }

const same = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b)

/** Every change of a field that the history keeps, newest first. */
export function changesOfField({ revisions, isComplete, isReading }: Past, path: Path): FieldChange[] {
  const found: FieldChange[] = []
  revisions.forEach((revision, i) => {
    const earlier = revisions[i + 1]
    const value = valueAt(revision.object, path)
    if (earlier) {
      const before = valueAt(earlier.object, path)
      if (!same(value, before)) found.push({ revision, value, before, isFirst: false })
    } else if (isComplete && !isReading && value !== undefined) found.push({ revision, value, before: undefined, isFirst: true })
  })
  return found
}

/** The last change of a field only: cheaper for every line of an object. */
export function lastChangeOf({ revisions, isComplete, isReading }: Past, path: Path): Revision | undefined {
  for (const [i, revision] of revisions.entries()) {
    const earlier = revisions[i + 1]
    if (!earlier) return isComplete && !isReading ? revision : undefined
    if (!same(valueAt(revision.object, path), valueAt(earlier.object, path))) return revision
  }
  return undefined
}

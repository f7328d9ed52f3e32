/** The past of an object as a signal of a component, and the field that one line stands for in it. */
import { useEffect, useState } from 'preact/hooks'
import { type Past, type Revision, readPast } from './revisions.ts'
import { type Path, valueAt } from './yaml-lines.ts'

const NOTHING: Past = { revisions: [], isComplete: false, isReading: true, note: '' }

/** Read again when the object has a new revision. */
export function usePast(path: string, newest: string | undefined): Past {
  const [past, setPast] = useState<Past>(NOTHING)
  useEffect(() => {
    const abort = new AbortController()
    void readPast(path, setPast, abort.signal)
    return () => abort.abort()
  }, [path, newest])
  return past
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

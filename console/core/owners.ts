/** Field managers of an object: which manager owns which field, by the paths of its YAML lines. */
import type { KubeObject, ManagedFields } from './object.ts'
import { forPeople, itemStep, type Path, valueAt, type YamlLine, yamlLines } from './yaml-lines.ts'

export type Owner = { readonly manager: string; readonly operation: string; readonly time: string; readonly subresource: string }

/** Paths as keys of maps. */
export const keyOf = (path: Path): string => path.join('\u0000')

/** The owners of each field that one owns, by path. */
export function ownersOf(object: KubeObject): Map<string, Owner[]> {
  const found = new Map<string, Owner[]>()
  for (const entry of object.metadata.managedFields ?? []) {
    const owner = ownerOf(entry)
    walk(entry.fieldsV1 ?? {}, object, [], path => {
      const key = keyOf(path)
      found.set(key, [...(found.get(key) ?? []), owner])
    })
  }
  return found
}

export const ownerOf = ({ manager = '', operation = '', time = '', subresource = '' }: ManagedFields): Owner => ({
  manager,
  operation,
  time,
  subresource,
})

function walk(fields: unknown, value: unknown, path: Path, found: (path: Path) => void): void {
  if (typeof fields !== 'object' || fields === null) return
  for (const [key, below] of Object.entries(fields)) {
    if (key === '.') {
      found(path)
      continue
    }
    const step = stepOf(key, value)
    if (step === undefined) continue
    const next = [...path, step.text]
    if (Object.keys(below as object).length === 0) found(next)
    else walk(below, step.value, next, found)
  }
}

function stepOf(key: string, value: unknown): { text: string; value: unknown } | undefined {
  const [form, rest] = [key.slice(0, 2), key.slice(2)]
  if (form === 'f:') return { text: rest, value: isObject(value) ? value[rest] : undefined }
  if (!Array.isArray(value)) return undefined
  let index = -1
  try {
    if (form === 'i:') index = Number(rest)
    else if (form === 'v:') index = value.findIndex(item => JSON.stringify(item) === JSON.stringify(JSON.parse(rest)))
    else if (form === 'k:') {
      const wanted = Object.entries(JSON.parse(rest) as object)
      index = value.findIndex(item => isObject(item) && wanted.every(([name, content]) => item[name] === content))
    }
  } catch {
    return undefined
  }
  return index < 0 || index >= value.length ? undefined : { text: itemStep(value, index), value: value[index] }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The newest owner of a field or of the nearest field around it that has one. */
export function ownerAt(owners: ReadonlyMap<string, readonly Owner[]>, path: Path): Owner | undefined {
  for (let length = path.length; length > 0; length--) {
    const found = owners.get(keyOf(path.slice(0, length)))
    if (found?.length) return [...found].sort((a, b) => (a.time < b.time ? 1 : -1))[0]
  }
  return undefined
}

/**
 * The manager whose entry is new or changed: the writer of a revision. Two writes within a second have the same time; then it is the owner
 * of a field that changed.
 */
export function writerOf(object: KubeObject, before: KubeObject | undefined): Owner | undefined {
  const key = ({ manager, operation, subresource = '' }: ManagedFields) => `${operation} ${subresource} ${manager}`
  const known = new Map(before?.metadata.managedFields?.map(entry => [key(entry), entry]))
  const size = ({ fieldsV1 }: ManagedFields) => JSON.stringify(fieldsV1 ?? {}).length
  const changed = (object.metadata.managedFields ?? []).filter(entry => {
    const was = known.get(key(entry))
    return !was || was.time !== entry.time || size(was) < size(entry)
  })
  const newest = changed.sort((a, b) => ((a.time ?? '') < (b.time ?? '') ? 1 : -1))[0]
  if (newest) return ownerOf(newest)
  const field = before && yamlLines(forPeople(object, { isStable: true })).find(line => isChanged(line, object, before))
  return field && ownerAt(ownersOf(object), field.path)
}

const isChanged = ({ path, isOpening }: YamlLine, object: KubeObject, before: KubeObject): boolean =>
  !isOpening && JSON.stringify(valueAt(object, path)) !== JSON.stringify(valueAt(before, path))

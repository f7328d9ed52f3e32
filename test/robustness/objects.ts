/** The objects that a run writes and reads back: their content, and the part that is recorded. */
import type { Key, Labels, Seen } from './history.ts'
import { collectionPath, type Plural, RESOURCES } from './selection.ts'

export const NAMESPACES = ['east', 'west'] as const

export const keyOf = (resource: Plural, namespace: string, name: string): Key => `${resource}/${namespace}/${name}`

export function partsOf(key: Key): { resource: Plural; namespace: string; name: string } {
  const [resource, namespace, name] = key.split('/') as [Plural, string, string]
  return { resource, namespace, name }
}

/** The path of a key's object. */
export function objectPath(key: Key): string {
  return `${collectionOfKey(key)}/${partsOf(key).name}`
}

/** The collection that the object of a key is created in. */
export function collectionOfKey(key: Key): string {
  const { resource, namespace } = partsOf(key)
  return collectionPath({ resource, ...(namespace !== '' && { namespace }) })
}

/** Some objects are large, so that slow readers fall behind. The size is part of the value, so that no loss goes unnoticed. */
export const valueWith = (id: string, bytes: number): string => `${id}+${bytes}`

const paddingOf = (value: string): string => value.slice(-1).repeat(Number(value.slice(value.indexOf('+') + 1)))

/** The annotations that contain a value. */
export const annotationsOf = (value: string) => ({ value, padding: paddingOf(value) })

export function objectOf(key: Key, { value, labels, expects }: { value: string; labels: object; expects?: number }) {
  const { resource, name } = partsOf(key)
  const { kind, apiVersion } = RESOURCES[resource]
  const metadata = { name, labels, annotations: annotationsOf(value), ...(expects !== undefined && { resourceVersion: String(expects) }) }
  const spec = resource === 'deviceclasses' ? {} : resource === 'widgets' ? specOf(labels) : undefined
  return { kind, apiVersion, metadata, ...(spec && { spec }) }
}

/** Fields of a widget that repeat its labels, for field selectors. */
export const specOf = (labels: object) => ('color' in labels ? { color: labels.color } : {})

/** The recorded part of a received object. */
export function seen(resource: Plural, { metadata }: any): Seen {
  // The server's own objects have no value of ours: each of their revisions is unique.
  const { value = `the server's own at ${metadata.resourceVersion}`, padding = paddingOf(value) } = metadata.annotations ?? {}
  return {
    key: keyOf(resource, metadata.namespace ?? '', metadata.name),
    revision: Number(metadata.resourceVersion),
    uid: metadata.uid,
    value: padding === paddingOf(value) ? value : `${value} with ${padding?.length} bytes of padding`,
    labels: (metadata.labels ?? {}) as Labels,
  }
}

/** The default class for objects that name none: marked by an annotation, the newest one wins. */
import { getOwn } from '../../lib/json-value.ts'
import type { AnyObject } from '../../schema/object-meta.ts'

/** Whether a class is marked as the default by one of these annotations. */
const markedBy =
  (...annotations: readonly string[]) =>
  ({ metadata }: AnyObject): boolean =>
    annotations.some(annotation => getOwn(metadata.annotations ?? {}, annotation) === 'true')

export const isDefaultStorageClass = markedBy(
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
)
export const isDefaultIngressClass = markedBy('ingressclass.kubernetes.io/is-default-class')

/** The newest of the default classes; the first by name of those with the same time. */
export function newestDefault(classes: Iterable<AnyObject>, isDefault: (o: AnyObject) => boolean): AnyObject | undefined {
  const cached = chosen.get(classes)
  if (cached) return cached.found
  let found: AnyObject | undefined
  for (const each of classes) if (isDefault(each) && (!found || precedes(each, found))) found = each
  chosen.set(classes, { found })
  return found
}
/** Called once per Table row. */
const chosen = new WeakMap<Iterable<AnyObject>, { readonly found: AnyObject | undefined }>()

function precedes({ metadata: a }: AnyObject, { metadata: b }: AnyObject): boolean {
  const [created, other] = [a.creationTimestamp ?? '', b.creationTimestamp ?? '']
  return created === other ? (a.name ?? '') < (b.name ?? '') : created > other
}

/** Resources as an encryption configuration names them. */

/** A name taken apart at the first dot: `*.apps` is every resource of the group apps. */
export type GroupResource = { readonly group: string; readonly resource: string }

export function parseGroupResource(text: string): GroupResource {
  const dot = text.indexOf('.')
  return dot < 0 ? { group: '', resource: text } : { group: text.slice(dot + 1), resource: text.slice(0, dot) }
}

/** The name in full: all resources of the core group are `*.`. */
export function nameOf({ group, resource }: GroupResource): string {
  if (group !== '') return `${resource}.${group}`
  return resource === '*' ? '*.' : resource
}

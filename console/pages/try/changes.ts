/** The operations of a JSON Patch as lines for people. */

export type Change = { readonly op: 'add' | 'remove' | 'replace'; readonly path: string; readonly value: string }

type Operation = { readonly op: Change['op']; readonly path: string; readonly value?: unknown }

export function changesIn(patch: string): Change[] {
  try {
    return (JSON.parse(patch) as Operation[]).map(({ op, path, value }) => ({
      op,
      path: fieldOf(path),
      value: value === undefined ? '' : JSON.stringify(value),
    }))
  } catch {
    return []
  }
}

/** `/spec/containers/0/image` as `spec.containers[0].image`. */
export function fieldOf(pointer: string): string {
  const names = pointer
    .split('/')
    .slice(1)
    .map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  const text = names.map(name => (/^\d+$/.test(name) ? `[${name}]` : /^[\w-]+$/.test(name) ? `.${name}` : `["${name}"]`)).join('')
  return text.replace(/^\./, '') || 'the whole object'
}

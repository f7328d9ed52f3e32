/** Objects that are only counted. */
import { countName, type Evaluator } from './evaluator.ts'
import { ONE } from './resource-list.ts'

/** Kinds that quotas could count before any kind could be counted by `count/`. */
const OWN_NAMES: ReadonlySet<string> = new Set(['configmaps', 'resourcequotas', 'replicationcontrollers', 'secrets'])

export function objectCounts(resource: { readonly group: string; readonly plural: string }): Evaluator {
  const { group, plural } = resource
  const names = [countName(resource), ...(group === '' && OWN_NAMES.has(plural) ? [plural] : [])]
  const usage = new Map(names.map(name => [name, ONE]))
  return {
    handles: ({ operation, subresource }) => operation === 'CREATE' && subresource === '',
    limits: name => usage.has(name),
    usage: () => usage,
    isUniform: true,
  }
}

/** Which evaluator measures the objects of a resource. */
import type { Evaluator } from './evaluator.ts'
import { objectCounts } from './object-counts.ts'
import { persistentVolumeClaims } from './persistent-volume-claims.ts'
import { pods } from './pods.ts'
import { type ClaimParts, resourceClaims } from './resource-claims.ts'
import { services } from './services.ts'

type NamedResource = { readonly group: string; readonly plural: string; readonly namespaced: boolean }

/** The evaluator of a resource; undefined for those that no quota counts. */
export type EvaluatorOf = (resource: NamedResource) => Evaluator | undefined

export function evaluators(parts: ClaimParts): EvaluatorOf {
  const { groupDomain } = parts
  const special: ReadonlyMap<string, Evaluator | undefined> = new Map([
    ['pods', pods(parts)],
    ['services', services],
    ['persistentvolumeclaims', persistentVolumeClaims(groupDomain)],
    [`resourceclaims.resource.${groupDomain}`, resourceClaims(parts)],
    // Virtual kinds and events were never counted.
    ['bindings', undefined],
    ['events', undefined],
    [`events.events.${groupDomain}`, undefined],
    [`localsubjectaccessreviews.authorization.${groupDomain}`, undefined],
  ])
  const counts = new Map<string, Evaluator>()
  return ({ group, plural, namespaced }) => {
    if (!namespaced) return undefined
    const name = group === '' ? plural : `${plural}.${group}`
    if (special.has(name)) return special.get(name)
    let evaluator = counts.get(name)
    if (!evaluator) counts.set(name, (evaluator = objectCounts({ group, plural })))
    return evaluator
  }
}

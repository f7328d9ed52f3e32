/** The difference between a stored role or binding and its bootstrap policy: rules and subjects are added, never removed. */
import { uncovered } from '../../kinds/rbac/coverage.ts'
import type { PolicyRule } from '../../kinds/rbac/policy-rule.ts'
import { deepEqual } from '../../lib/json-value.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { AUTOUPDATE, type BootstrapBinding, type BootstrapRole, type Subject } from './policy.ts'

/** The fields to write, as a merge patch; undefined when nothing is missing, or the object is protected. */
export function missingFromRole(stored: AnyObject, bootstrap: BootstrapRole): object | undefined {
  if (isProtected(stored)) return undefined
  const { rules, aggregationRule } = stored as AnyObject & Pick<BootstrapRole, 'aggregationRule'> & { rules?: PolicyRule[] | null }
  const held = rules ?? []
  const wants = bootstrap.rules ?? []
  const added = deepEqual(held, wants) ? [] : uncovered(held, wants)
  const selectors = aggregationRule?.clusterRoleSelectors ?? []
  const wantedSelectors = bootstrap.aggregationRule?.clusterRoleSelectors ?? []
  const addedSelectors = wantedSelectors.filter(selector => !selectors.some(each => deepEqual(each, selector)))
  return patchOf({
    ...metadataMissing(stored, bootstrap),
    ...(added.length > 0 && { rules: [...held, ...added] }),
    ...(addedSelectors.length > 0 && { aggregationRule: { clusterRoleSelectors: [...selectors, ...addedSelectors] } }),
    // An aggregated role would not keep the rules that it should have.
    ...(!bootstrap.aggregationRule && aggregationRule && { aggregationRule: null }),
  })
}

/** As missingFromRole; `recreate` when the binding refers to another role, which is immutable. */
export function missingFromBinding(stored: AnyObject, bootstrap: BootstrapBinding): object | 'recreate' | undefined {
  if (isProtected(stored)) return undefined
  const { roleRef, subjects = [] } = stored as AnyObject & { roleRef: object; subjects?: Subject[] }
  if (!deepEqual(roleRef, bootstrap.roleRef)) return 'recreate'
  const added = (bootstrap.subjects ?? []).filter(subject => !subjects.some(each => deepEqual(each, subject)))
  return patchOf({ ...metadataMissing(stored, bootstrap), ...(added.length > 0 && { subjects: [...subjects, ...added] }) })
}

const isProtected = ({ metadata }: AnyObject) => metadata.annotations?.[AUTOUPDATE] === 'false'
const patchOf = (patch: object) => (Object.keys(patch).length === 0 ? undefined : patch)

function metadataMissing({ metadata }: AnyObject, { metadata: bootstrap }: BootstrapRole | BootstrapBinding): { metadata?: object } {
  const absent = (from: Readonly<Record<string, string>>, has: Readonly<Record<string, string>> = {}) =>
    Object.fromEntries(Object.entries(from).filter(([key]) => !Object.hasOwn(has, key)))
  const labels = patchOf(absent(bootstrap.labels, metadata.labels))
  const annotations = patchOf(absent(bootstrap.annotations, metadata.annotations))
  return labels || annotations ? { metadata: { ...(labels && { labels }), ...(annotations && { annotations }) } } : {}
}

/** Certificate policies along a chain: RFC 5280, 6.1, with the simpler bookkeeping of RFC 9618. Any policy is acceptable to this server. */
import type { Certificate } from './certificate.ts'

/**
 * Whether the policies of a chain, from the leaf to the anchor, allow it: a chain is refused where one of its authorities requires a policy
 * and none is valid.
 */
export function policiesHold(chain: readonly Certificate[]): boolean {
  // The anchor itself is not checked.
  const count = chain.length - 1
  let [explicit, mapping, any] = [count + 1, count + 1, count + 1]
  // The policies valid down to a certificate, each with the policies that the next certificate may map to it; undefined once there are
  // none.
  let held: Map<string, readonly string[]> | undefined = new Map([[ANY, [ANY]]])
  for (let i = count - 1; i >= 0; i--) {
    const { policies, subject, issuer } = chain[i]!
    const isSelfIssued = subject.equals(issuer)
    if (policies.identifiers.length === 0) held = undefined
    if (held) {
      held = next(held, policies.identifiers, any > 0 || (i > 0 && isSelfIssued))
      if (i > 0 && !map(held, policies.mappings, mapping > 0)) return false
    } else if (explicit === 0) return false
    if (i === 0) continue
    if (!isSelfIssued) [explicit, mapping, any] = [explicit, mapping, any].map(left => Math.max(0, left - 1)) as [number, number, number]
    explicit = Math.min(explicit, policies.requireExplicit ?? explicit)
    mapping = Math.min(mapping, policies.inhibitMapping ?? mapping)
    any = Math.min(any, policies.inhibitAny ?? any)
  }
  const isDemanded = explicit <= 1 || chain[0]!.policies.requireExplicit === 0
  return count === 0 || !isDemanded || (held?.size ?? 0) > 0
}

/** anyPolicy, which matches every other. */
const ANY = '2.5.29.32.0'

function next(
  held: ReadonlyMap<string, readonly string[]>,
  named: readonly string[],
  isAnyAllowed: boolean,
): Map<string, readonly string[]> {
  const expected = new Set([...held.values()].flat())
  const found = new Map<string, readonly string[]>()
  for (const policy of named) if (policy !== ANY && (expected.has(policy) || held.has(ANY))) found.set(policy, [policy])
  if (isAnyAllowed && named.includes(ANY)) for (const policy of expected) if (!found.has(policy)) found.set(policy, [policy])
  return found
}

/** Applies policy mappings. False for a mapping from or to anyPolicy, which is not allowed. */
function map(
  held: Map<string, readonly string[]>,
  mappings: readonly { readonly issuer: string; readonly subject: string }[],
  isAllowed: boolean,
): boolean {
  const subjects = new Map<string, string[]>()
  for (const { issuer, subject } of mappings) {
    if (!isAllowed) {
      held.delete(issuer)
      continue
    }
    if (issuer === ANY || subject === ANY) return false
    subjects.set(issuer, [...(subjects.get(issuer) ?? []), subject])
  }
  const hadAny = held.has(ANY)
  for (const [issuer, names] of subjects) if (held.has(issuer) || hadAny) held.set(issuer, names)
  return true
}

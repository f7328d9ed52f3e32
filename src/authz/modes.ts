/** The authorization modes, and their union. */
import type { Cancellation } from '../lib/cancellation.ts'
import { aggregate } from '../lib/go-text.ts'
import type { Attributes, Decision, RulesFound } from '../schema/access.ts'
import type { User } from '../schema/user.ts'
import type { Authorizer, RuleResolver } from './authorizer.ts'

/** An authorizer and its name in reasons. */
export type NamedAuthorizer = Authorizer & RuleResolver & { readonly name: string }

type Cancellable = { readonly signal: Cancellation }

const NOTHING: RulesFound = { resourceRules: [], nonResourceRules: [], incomplete: false }
const EVERYTHING: RulesFound = {
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  incomplete: false,
}
const ALLOW: Decision = { verdict: 'allow' }

/** Allows everything. */
export const alwaysAllow: NamedAuthorizer = { name: 'alwaysallow', authorize: () => ALLOW, rulesFor: () => EVERYTHING }

/** Denies everything; members of `system:masters` are not subject to it. */
export const alwaysDeny: NamedAuthorizer = {
  name: 'alwaysdeny',
  authorize: () => ({ verdict: 'no-opinion', reason: 'Everything is forbidden.' }),
  rulesFor: () => NOTHING,
}

/** The group of administrators, who may do everything whatever roles exist, so that roles can always be repaired. */
const MASTERS = 'system:masters'

/** Tries one authorizer after the other until one has an opinion. Members of `system:masters` may do everything. */
export function inTurn(chain: readonly NamedAuthorizer[]): Authorizer & RuleResolver {
  return {
    authorize(user, attributes, request) {
      return user.groups.includes(MASTERS) ? ALLOW : askFrom(0, { chain, user, attributes, request, reasons: [], errors: [] })
    },
    rulesFor(user, namespace) {
      const found = chain.map(each => each.rulesFor(user, namespace))
      const problems = found.flatMap(({ problem }) => problem ?? [])
      return {
        resourceRules: found.flatMap(({ resourceRules }) => resourceRules),
        nonResourceRules: found.flatMap(({ nonResourceRules }) => nonResourceRules),
        incomplete: found.some(({ incomplete }) => incomplete),
        ...(problems.length > 0 && { problem: aggregate(problems) }),
      }
    },
  }
}

/** An authorizer whose decisions are counted; no opinion is not counted. */
export function counted(authorizer: NamedAuthorizer, count: (verdict: 'allow' | 'deny') => void): NamedAuthorizer {
  const take = (decision: Decision): Decision => {
    if (decision.verdict !== 'no-opinion') count(decision.verdict)
    return decision
  }
  return {
    name: authorizer.name,
    authorize(user, attributes, request) {
      const decision = authorizer.authorize(user, attributes, request)
      return decision instanceof Promise ? decision.then(take) : take(decision)
    },
    rulesFor: (user, namespace) => authorizer.rulesFor(user, namespace),
  }
}

type Asking = {
  readonly chain: readonly NamedAuthorizer[]
  readonly user: User
  readonly attributes: Attributes
  readonly request: Cancellable
  readonly reasons: readonly string[]
  readonly errors: readonly string[]
}

/** Awaits only results that are promises. */
function askFrom(start: number, asking: Asking): Decision | Promise<Decision> {
  const { chain, user, attributes, request } = asking
  const reasons = [...asking.reasons]
  const errors = [...asking.errors]
  for (let i = start; i < chain.length; i++) {
    const { name } = chain[i]!
    const answer = chain[i]!.authorize(user, attributes, request)
    const take = (decision: Decision) => {
      if (decision.verdict !== 'no-opinion') return decision
      if (decision.reason) reasons.push(`${name}: ${decision.reason}`)
      if (decision.error) errors.push(decision.error)
      return undefined
    }
    if (answer instanceof Promise) return answer.then(decision => take(decision) ?? askFrom(i + 1, { ...asking, reasons, errors }))
    const decision = take(answer)
    if (decision) return decision
  }
  return {
    verdict: 'no-opinion',
    ...(reasons.length > 0 && { reason: reasons.join('\n') }),
    ...(errors.length > 0 && { error: aggregate(errors) }),
  }
}

/** Authorization as expressions ask for it. */
import type { CelAccess, CelAuthorizer, CelDecision, CelUser } from '../cel/libraries/authorizer.ts'
import type { Cancellation } from '../lib/cancellation.ts'
import { isStep, type MaybeStep, type Step } from '../lib/step.ts'
import type { Attributes as AccessAttributes, Decision } from '../schema/access.ts'
import type { User } from '../schema/user.ts'
import type { Attributes } from './attributes.ts'

export type Authorize = (user: User, attributes: AccessAttributes, request: { readonly signal: Cancellation }) => MaybeStep<Decision>

/** Every evaluation asks for one more decision at least, and the cost limit of expressions allows fewer checks than this. */
const MAX_EVALUATIONS = 64

/**
 * Expressions do not wait. Where a decision has to be waited for, the expression is evaluated to its end, the decision is awaited and
 * remembered for this request, and the expression is evaluated again.
 */
export class ExpressionAuthorizer {
  readonly #authorize: Authorize
  /** The decisions that requests have waited for. */
  readonly #awaited = new WeakMap<Attributes, Map<string, CelDecision>>()

  constructor(authorize: Authorize) {
    this.#authorize = authorize
  }

  /** The result of an evaluation once all decisions that it asked for are known. */
  *evaluate<T>(attributes: Attributes, evaluation: (authorize: CelAuthorizer) => Step<T>): Step<T> {
    let pending: Map<string, Step<Decision>> | undefined
    const decide: CelAuthorizer = (user, access) => {
      const known = this.#awaited.get(attributes)?.get(keyOf(user, access))
      if (known) return known
      if (pending?.has(keyOf(user, access))) return UNDECIDED
      const decision = this.#authorize(userOf(user), accessOf(access), attributes)
      if (!isStep(decision)) return celDecision(decision)
      pending ??= new Map()
      pending.set(keyOf(user, access), decision)
      return UNDECIDED
    }
    for (let n = 1; ; n++) {
      const outcome = yield* outcomeOf(evaluation(decide))
      if (!pending) return outcome()
      for (const [key, deciding] of pending) this.#remember(attributes, key, celDecision(yield* deciding))
      if (n === MAX_EVALUATIONS) return outcome()
      pending = undefined
    }
  }

  #remember(attributes: Attributes, key: string, decision: CelDecision): void {
    let all = this.#awaited.get(attributes)
    if (!all) this.#awaited.set(attributes, (all = new Map()))
    all.set(key, decision)
  }
}

const keyOf = ({ name, uid, groups }: CelUser, access: CelAccess) => JSON.stringify([name, uid, groups, access])

const UNDECIDED: CelDecision = { allowed: false, reason: '', error: 'the authorizer has not decided yet' }

/** The value or the error of an evaluation. It counts only when nothing was undecided. */
function* outcomeOf<T>(evaluation: Step<T>): Step<() => T> {
  try {
    const value = yield* evaluation
    return () => value
  } catch (error) {
    return () => {
      throw error
    }
  }
}

const celDecision = ({ verdict, reason = '', error }: Decision): CelDecision => ({
  allowed: verdict === 'allow',
  reason,
  ...(error !== undefined && { error }),
})

const userOf = ({ name, groups, uid, extra }: CelUser): User => ({
  name,
  groups,
  ...(uid && { uid }),
  ...(extra && { extra: Object.fromEntries(extra) }),
})

function accessOf(access: CelAccess): AccessAttributes {
  const { verb } = access
  if (access.kind === 'path') return { verb, path: access.path }
  const { group, resource: plural, subresource, namespace, name, fieldSelector, labelSelector } = access
  return {
    verb,
    path: '',
    resource: {
      group,
      version: '*',
      plural,
      subresource,
      namespace,
      name,
      ...(fieldSelector && { fieldSelector }),
      ...(labelSelector && { labelSelector }),
    },
  }
}

/** Authorization as expressions ask for it. */
import type { CelAccess, CelAuthorizer, CelDecision, CelUser } from '../cel/libraries/authorizer.ts'
import type { Cancellation } from '../lib/cancellation.ts'
import type { InParts } from '../lib/in-parts.ts'
import { type MaybePromise, whenDone } from '../lib/maybe-promise.ts'
import type { Attributes as AccessAttributes, Decision } from '../schema/access.ts'
import type { User } from '../schema/user.ts'
import type { Attributes } from './attributes.ts'

export type Authorize = (user: User, attributes: AccessAttributes, request: { readonly signal: Cancellation }) => MaybePromise<Decision>

/** Every evaluation asks for one more decision at least, and what expressions may cost allows for fewer checks than this. */
const MAX_EVALUATIONS = 64

/**
 * Expressions do not wait. Where a decision has to be waited for, the expression is evaluated to its end, the decision is awaited and
 * remembered for this request, and the expression is evaluated again.
 */
export class ExpressionAuthorizer {
  readonly #authorize: Authorize
  readonly #awaited = new WeakMap<Attributes, Map<string, Awaited>>()

  constructor(authorize: Authorize) {
    this.#authorize = authorize
  }

  /** What an evaluation comes to once all decisions that it asked for are known. A promise only when one had to be waited for, or it took long. */
  evaluate<T>(attributes: Attributes, evaluation: (authorize: CelAuthorizer) => InParts<T>): MaybePromise<T> {
    let pending: Promise<unknown>[] | undefined
    const decide: CelAuthorizer = (user, access) => {
      const known = this.#awaited.get(attributes)?.get(keyOf(user, access))
      if (known?.decision) return known.decision
      let settled = known?.settled
      if (!settled) {
        const decision = this.#authorize(userOf(user), accessOf(access), attributes)
        if (!(decision instanceof Promise)) return celDecision(decision)
        settled = this.#remember(attributes, keyOf(user, access), decision)
      }
      pending ??= []
      pending.push(settled)
      return UNDECIDED
    }
    const attempt = () => outcomeOf(attributes, evaluation(decide))
    const evaluateAgain = async (first: () => T): Promise<T> => {
      let latest = first
      for (let n = 1; pending; n++) {
        await Promise.all(pending)
        if (n === MAX_EVALUATIONS) break
        pending = undefined
        latest = await attempt()
      }
      return latest()
    }
    return whenDone(attempt(), outcome => (pending ? evaluateAgain(outcome) : outcome()))
  }

  #remember(attributes: Attributes, key: string, decision: Promise<Decision>): Promise<void> {
    let all = this.#awaited.get(attributes)
    if (!all) this.#awaited.set(attributes, (all = new Map()))
    const awaited: Awaited = {
      settled: decision.then(settled => {
        awaited.decision = celDecision(settled)
      }),
    }
    all.set(key, awaited)
    return awaited.settled
  }
}

type Awaited = { readonly settled: Promise<void>; decision?: CelDecision }

const keyOf = ({ name, uid, groups }: CelUser, access: CelAccess) => JSON.stringify([name, uid, groups, access])

const UNDECIDED: CelDecision = { allowed: false, reason: '', error: 'the authorizer has not decided yet' }

/** What an evaluation returned or threw. It counts only when nothing was undecided. */
function outcomeOf<T>(attributes: Attributes, evaluation: InParts<T>): MaybePromise<() => T> {
  const failed = (error: unknown) => (): never => {
    throw error
  }
  try {
    const result = attributes.runParts(evaluation)
    return result instanceof Promise ? result.then(value => () => value, failed) : () => result
  } catch (error) {
    return failed(error)
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

/** What the rules and hooks of kinds know about a request, beside the object. */

import type { Cancellation } from '../lib/cancellation.ts'
import type { Stopwatch } from '../lib/stopwatch.ts'
import type { Access } from './access.ts'
import type { Budget } from './budget.ts'
import type { Explanation } from './explanation.ts'
import type { AnyObject } from './object-meta.ts'
import type { User } from './user.ts'

export type RequestContext = {
  readonly user: User
  readonly now: Date
  /** The domain of API groups and well-known names, `k8s.io` unless configured. */
  readonly groupDomain: string
  /** Whether a feature gate is on. */
  readonly gate: (name: string) => boolean
  /** The work that checking what was sent may cost. */
  readonly budget: Budget
  /** A namespace as it is stored, for rules that depend on its labels. */
  readonly namespace?: ((name: string) => AnyObject | undefined) | undefined
  /** Records what admission decides, where an explanation is wanted. */
  readonly explanation?: Explanation | undefined
  /** Measures the phases of the request. */
  readonly stopwatch?: Stopwatch
}

/** What defaults may depend on. */
export type DefaultingContext = Pick<RequestContext, 'now' | 'groupDomain'>

/** What reviews, such as TokenReview, may use in addition. */
export type ReviewContext = RequestContext & { readonly signal: Cancellation; readonly access: Access }

/** The context of a request for the rules and hooks of kinds. */

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
  /** The work budget for checking the request. */
  readonly budget: Budget
  /** Whether the request holds so much that rules let others run meanwhile. */
  readonly isLarge?: boolean | undefined
  /** A stored namespace, for rules that depend on its labels. */
  readonly namespace?: ((name: string) => AnyObject | undefined) | undefined
  /** Records decisions of admission, where an explanation is requested. */
  readonly explanation?: Explanation | undefined
  /** Measures the phases of the request. */
  readonly stopwatch?: Stopwatch
}

/** The context of defaults. */
export type DefaultingContext = Pick<RequestContext, 'now' | 'groupDomain' | 'gate'>

/** The additional context of reviews, such as TokenReview. */
/** The level of the audit from which on an annotation is recorded. */
export type AnnotationLevel = 'Metadata' | 'Request'

/** Adds an annotation to the audit event of a request; the first value of a key stays. */
export type Annotate = (key: string, value: string, level?: AnnotationLevel) => void

export type ReviewContext = RequestContext & {
  readonly signal: Cancellation
  readonly access: Access
  /** Adds an annotation to the audit event of the request, if there is one. */
  readonly annotate?: Annotate | undefined
}

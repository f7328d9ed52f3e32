/** Whom admission tells what it does: metrics, the log, and callers who ask for an explanation. */
import type { Attributes } from './plugin.ts'

type Operation = Attributes['operation']
/** The names that Kubernetes' metrics have for mutating and validating. */
type StepType = 'admit' | 'validating'

export interface AdmissionObserver {
  webhookCalled(call: {
    readonly name: string
    readonly type: StepType
    readonly operation: Operation
    readonly rejected: boolean
    readonly code: number
    readonly seconds: number
  }): void
  webhookRejected(rejection: {
    readonly name: string
    readonly type: StepType
    readonly operation: Operation
    readonly errorType: 'no_error' | 'calling_webhook_error' | 'apiserver_internal_error'
    readonly code: number
  }): void
  webhookFailedOpen(failure: { readonly name: string; readonly type: StepType; readonly message: string }): void
  excludedByCondition(about: ConditionAbout): void
  conditionFailed(about: ConditionAbout): void
  /** One step of the decision about a request, for those who want to know why. */
  explain(attributes: Attributes, step: Readonly<Record<string, string | boolean>>): void
}

export type ConditionAbout = {
  readonly name: string
  readonly kind: 'webhook' | 'policy'
  readonly type: StepType
  readonly operation: Operation
}

/** Tells nobody. */
export const silentObserver: AdmissionObserver = {
  webhookCalled() {},
  webhookRejected() {},
  webhookFailedOpen() {},
  excludedByCondition() {},
  conditionFailed() {},
  explain() {},
}

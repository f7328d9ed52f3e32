/** The observer of admission, which counts and times its work. */
import type { Attributes } from './attributes.ts'

type Operation = Attributes['operation']
/** The names that Kubernetes' metrics have for mutating and validating: by webhooks, and by plugins and policies. */
type WebhookStep = 'admit' | 'validating'
export type StepType = 'admit' | 'validate'
/** The outcome of an expression of a policy. */
export type ExpressionError = 'no_error' | 'compile_error' | 'invalid_error' | 'out_of_budget'
/** Records the time that one plugin, or all of them, took over a request. */
export type Timer = (operation: Operation, seconds: number, rejected: boolean) => void

export interface AdmissionObserver {
  /** Records the times of a plugin. */
  plugin(name: string, type: StepType): Timer
  /** Counts requests with which plugins had nothing to do, and over which they took no time. */
  uninvolved(names: readonly string[], type: StepType): (operation: Operation) => void
  /** Records the times of all plugins together. */
  step(type: StepType): Timer
  webhookCalled(call: {
    readonly name: string
    readonly type: WebhookStep
    readonly operation: Operation
    readonly rejected: boolean
    readonly code: number
    readonly seconds: number
  }): void
  webhookRejected(rejection: {
    readonly name: string
    readonly type: WebhookStep
    readonly operation: Operation
    readonly errorType: 'no_error' | 'calling_webhook_error' | 'apiserver_internal_error'
    readonly code: number
  }): void
  webhookFailedOpen(failure: { readonly name: string; readonly type: WebhookStep; readonly message: string }): void
  excludedByCondition(about: ConditionAbout): void
  conditionFailed(about: ConditionAbout): void
  /** A validation failed, or could not be evaluated, and the action that was taken. */
  policyChecked(check: PolicyCheck & { readonly action: 'allow' | 'deny' | 'audit' | 'warn' }): void
  /** A policy has mutated a request, or could not. */
  policyMutated(check: PolicyCheck): void
}

export type PolicyCheck = {
  readonly policy: string
  readonly binding: string
  readonly errorType: ExpressionError
  readonly seconds: number
}

export type ConditionAbout = {
  readonly name: string
  readonly kind: 'webhook' | 'policy'
  readonly type: WebhookStep | StepType
  readonly operation: Operation
}

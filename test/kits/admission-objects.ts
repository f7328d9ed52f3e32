/** Webhook configurations, policies and bindings, for tests of admission. */
import assert from 'node:assert/strict'
import { ask, type Target } from '../kit.ts'
import type { Webhook } from './webhooks.ts'

const GROUP = 'admissionregistration.k8s.io/v1'
export const ADMISSION = `/apis/${GROUP}`

const KINDS = { validating: 'ValidatingWebhookConfiguration', mutating: 'MutatingWebhookConfiguration' } as const

/** A rule for all operations on some resources of a group. */
export const ruleFor = (resources: readonly string[], { group = '', version = '*', operations = ['*'] as readonly string[] } = {}) => ({
  apiGroups: [group],
  apiVersions: [version],
  operations,
  resources,
})
export const podRule = (...operations: string[]) => ruleFor(['pods'], { operations: operations.length > 0 ? operations : ['*'] })

/** A webhook of a configuration: its address, and differences from a webhook for config maps. */
export type Configured = { readonly hook: Pick<Webhook, 'clientConfig'>; readonly [field: string]: unknown }

/** Creates a configuration of webhooks; its webhooks are named `NAME-0.example.com` and so on. */
export async function configure(target: Target, type: keyof typeof KINDS, name: string, ...webhooks: Configured[]): Promise<void> {
  const body = {
    apiVersion: GROUP,
    kind: KINDS[type],
    metadata: { name },
    webhooks: webhooks.map(({ hook, ...more }, i) => ({
      name: `${name}-${i}.example.com`,
      clientConfig: hook.clientConfig,
      rules: [ruleFor(['configmaps'])],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      ...more,
    })),
  }
  await make(target, `${ADMISSION}/${KINDS[type].toLowerCase()}s`, body)
}

/** Creates an object. */
export async function make(target: Target, path: string, body: object): Promise<any> {
  const { status, text, json } = await ask(target, path, { method: 'POST', body })
  assert.equal(status, 201, text)
  return json
}

/** A policy and its bindings, by their differences from a denying policy for writes of config maps. */
export async function makePolicy(
  target: Target,
  type: 'Validating' | 'Mutating',
  name: string,
  { spec, bindings = [{}] }: { readonly spec: object; readonly bindings?: readonly object[] },
): Promise<() => Promise<void>> {
  const kind = `${type}AdmissionPolicy`
  const [policies, bound] = [
    `${ADMISSION}/${type.toLowerCase()}admissionpolicies`,
    `${ADMISSION}/${type.toLowerCase()}admissionpolicybindings`,
  ]
  const matchConstraints = { resourceRules: [ruleFor(['configmaps'], { operations: ['CREATE', 'UPDATE'] })] }
  const usual = type === 'Mutating' ? { reinvocationPolicy: 'Never' } : {}
  await make(target, policies, { apiVersion: GROUP, kind, metadata: { name }, spec: { matchConstraints, ...usual, ...spec } })
  const actions = type === 'Validating' ? { validationActions: ['Deny'] } : {}
  for (const [i, binding] of bindings.entries())
    await make(target, bound, {
      apiVersion: GROUP,
      kind: `${kind}Binding`,
      metadata: { name: `${name}-${i}` },
      spec: { policyName: name, ...actions, ...binding },
    })
  // Deletes all of it again.
  return async () => {
    for (const path of [`${policies}/${name}`, ...bindings.map((_, i) => `${bound}/${name}-${i}`)])
      await ask(target, path, { method: 'DELETE' })
  }
}

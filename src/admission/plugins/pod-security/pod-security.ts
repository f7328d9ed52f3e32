/** PodSecurity: pods are held to the standard that the labels of their namespace name; workloads are warned about. */
import type { AnyObject } from '../../../schema/object-meta.ts'
import { internalError, invalidObject } from '../../../schema/status-error.ts'
import type { Attributes } from '../../attributes.ts'
import type { Plugin } from '../../plugin.ts'
import type { Reader } from '../../reader.ts'
import { forbidden } from '../../refusal.ts'
import { existingViolations } from './existing-violations.ts'
import {
  compareLevels,
  describeLabels,
  formatPolicy,
  isEquivalent,
  isPrivileged,
  isSamePolicy,
  MODES,
  type NamespacePolicy,
  policyOf,
} from './namespace-policy.ts'
import { detailsOf, type LevelVersion, type Pod, violations } from './standards.ts'

export type PodSecurityConfiguration = {
  /** The policy of namespaces without labels. */
  readonly defaults: NamespacePolicy
  readonly exemptions: {
    readonly usernames: readonly string[]
    readonly runtimeClasses: readonly string[]
    readonly namespaces: readonly string[]
  }
}

const PRIVILEGED: LevelVersion = { level: 'privileged', version: 'latest' }
const DEFAULT_POD_SECURITY: PodSecurityConfiguration = {
  defaults: { enforce: PRIVILEGED, audit: PRIVILEGED, warn: PRIVILEGED },
  exemptions: { usernames: [], runtimeClasses: [], namespaces: [] },
}

const PODS = { group: '', version: 'v1', plural: 'pods' }
/** Subresources through which no container can be changed. */
const IGNORED_SUBRESOURCES = ['exec', 'attach', 'binding', 'eviction', 'log', 'portforward', 'proxy', 'status']

export type PodSecurityParts = {
  readonly reader: Reader
  readonly namespace: (name: string) => AnyObject | undefined
  readonly configuration?: PodSecurityConfiguration | undefined
}

export function podSecurity({ configuration = DEFAULT_POD_SECURITY, ...parts }: PodSecurityParts): Plugin {
  const security: Security = { ...parts, ...configuration }
  return {
    name: 'PodSecurity',
    plurals: ['namespaces', 'pods', ...Object.keys(TEMPLATES).map(name => name.slice(name.indexOf('/') + 1))],
    validate(attributes) {
      const { operation, resource, subresource } = attributes
      if (operation !== 'CREATE' && operation !== 'UPDATE') return
      const name = `${resource.group}/${resource.plural}`
      if (name === '/namespaces' && subresource === '') validateNamespace(security, attributes)
      if (name === '/pods' && !IGNORED_SUBRESOURCES.includes(subresource)) validatePod(security, attributes)
      const template = subresource === '' ? TEMPLATES[name] : undefined
      if (template) validateWorkload(security, attributes, template)
    },
  }
}

/** The configuration of the plugin, with its access to objects. */
type Security = PodSecurityConfiguration & Pick<PodSecurityParts, 'reader' | 'namespace'>

function validateNamespace(security: Security, attributes: Attributes): void {
  const { object, oldObject: old, resource, name } = attributes
  const { defaults, exemptions } = security
  const labels = object!.metadata.labels ?? {}
  const { policy, errors } = policyOf(labels, defaults)
  const before = old && policyOf(old.metadata.labels ?? {}, defaults)
  if (errors.length > 0 && !(before && isSameErrors(errors, before.errors)))
    throw invalidObject({ group: resource.group, kind: resource.kind }, name, errors)
  if (!before) {
    warnExempt(security, attributes, policy)
    return
  }
  const { enforce } = policy
  const former = before.policy.enforce
  if (isSamePolicy(enforce, former) || enforce.level === 'privileged') return
  if (enforce.version === former.version && compareLevels(enforce.level, former.level) < 1) return
  if (exemptions.namespaces.includes(name)) {
    warnExempt(security, attributes, policy)
    return
  }
  const pods = security.reader.list(PODS, name).filter(pod => !isExemptRuntime(security, pod as unknown as Pod))
  for (const warning of existingViolations(name, enforce, pods)) attributes.warn(warning)
}

function warnExempt({ defaults, exemptions }: Security, attributes: Attributes, policy: NamespacePolicy): void {
  const { name, object } = attributes
  if (!exemptions.namespaces.includes(name)) return
  if (isPrivileged(policy) || MODES.every(mode => isEquivalent(policy[mode], defaults[mode]))) return
  const asked = describeLabels(policy, object!.metadata.labels ?? {})
  attributes.warn(`namespace ${JSON.stringify(name)} is exempt from Pod Security, and the policy (${asked}) will be ignored`)
}

function validatePod(security: Security, attributes: Attributes): void {
  const { object, oldObject: old, namespace } = attributes
  const exemption = exemptionOf(security, attributes)
  if (exemption) {
    attributes.annotate(EXEMPT, exemption)
    return
  }
  const found = security.namespace(namespace)
  if (!found) throw internalError(`failed to lookup namespace ${JSON.stringify(namespace)}`)
  const { policy, errors } = policyOf(found.metadata.labels ?? {}, security.defaults)
  if (errors.length === 0 && isPrivileged(policy)) {
    attributes.annotate(ENFORCED, formatPolicy(PRIVILEGED))
    return
  }
  const pod = object as unknown as Pod
  if (old && !changesImages(pod, old as unknown as Pod)) return
  if (isExemptRuntime(security, pod)) {
    attributes.annotate(EXEMPT, 'runtimeClass')
    return
  }
  annotateErrors(attributes, errors)
  attributes.annotate(ENFORCED, formatPolicy(policy.enforce))
  const refused = violations(policy.enforce, pod)
  audit(attributes, policy, pod)
  if (refused.length > 0)
    throw forbidden(attributes, `violates PodSecurity ${JSON.stringify(formatPolicy(policy.enforce))}: ${detailsOf(refused)}`)
  warnOf(attributes, policy, pod)
}

function validateWorkload(security: Security, attributes: Attributes, template: (object: any) => Pod | undefined): void {
  const exemption = exemptionOf(security, attributes)
  if (exemption) {
    attributes.annotate(EXEMPT, exemption)
    return
  }
  const found = security.namespace(attributes.namespace)
  if (!found) {
    attributes.annotate(ERROR, `failed to lookup namespace ${JSON.stringify(attributes.namespace)}`)
    return
  }
  const { policy, errors } = policyOf(found.metadata.labels ?? {}, security.defaults)
  if (errors.length === 0 && policy.warn.level === 'privileged' && policy.audit.level === 'privileged') return
  const pod = template(attributes.object)
  if (!pod?.spec) return
  if (isExemptRuntime(security, pod)) {
    attributes.annotate(EXEMPT, 'runtimeClass')
    return
  }
  annotateErrors(attributes, errors)
  audit(attributes, policy, pod)
  warnOf(attributes, policy, pod)
}

function exemptionOf({ exemptions }: Security, { namespace, ctx }: Attributes): string | undefined {
  if (namespace !== '' && exemptions.namespaces.includes(namespace)) return 'namespace'
  return exemptions.usernames.includes(ctx.user.name) ? 'user' : undefined
}

function isExemptRuntime({ exemptions }: Security, { spec }: Pod): boolean {
  return Boolean(spec.runtimeClassName) && exemptions.runtimeClasses.includes(spec.runtimeClassName!)
}

const AUDIT_PREFIX = 'pod-security.kubernetes.io/'
const ENFORCED = `${AUDIT_PREFIX}enforce-policy`
const EXEMPT = `${AUDIT_PREFIX}exempt`
const ERROR = `${AUDIT_PREFIX}error`

function annotateErrors(attributes: Attributes, errors: readonly { readonly message: string }[]): void {
  if (errors.length > 0) attributes.annotate(ERROR, `Failed to parse policy: ${errors.map(({ message }) => message).join(', ')}`)
}

function audit(attributes: Attributes, { audit }: NamespacePolicy, pod: Pod): void {
  const found = violations(audit, pod)
  if (found.length > 0) attributes.annotate(`${AUDIT_PREFIX}audit-violations`, wouldViolate(audit, detailsOf(found)))
}

function warnOf(attributes: Attributes, { warn }: NamespacePolicy, pod: Pod): void {
  const found = violations(warn, pod)
  if (found.length > 0) attributes.warn(wouldViolate(warn, detailsOf(found)))
}

const wouldViolate = (policy: LevelVersion, details: string): string =>
  `would violate PodSecurity ${JSON.stringify(formatPolicy(policy))}: ${details}`

const isSameErrors = (a: readonly { readonly message: string }[], b: readonly { readonly message: string }[]): boolean =>
  a.length === b.length && a.every(({ message }, i) => message === b[i]!.message)

/** Whether a change of a pod brings in an image that it did not have there before. */
function changesImages({ spec }: Pod, { spec: old }: Pod): boolean {
  for (const list of ['containers', 'initContainers'] as const) {
    const [now = [], before = []] = [spec[list], old[list]]
    if (now.length !== before.length || now.some(({ image }, i) => image !== before[i]!.image)) return true
  }
  const known = new Map((old.ephemeralContainers ?? []).map(({ name, image }) => [name, image]))
  return (spec.ephemeralContainers ?? []).some(({ name, image }) => !known.has(name) || known.get(name) !== image)
}

/** Where the kinds that make pods keep the pod they make. */
const TEMPLATES: Readonly<Record<string, (object: any) => Pod | undefined>> = {
  '/podtemplates': object => object.template,
  '/replicationcontrollers': object => object.spec?.template,
  'apps/replicasets': object => object.spec?.template,
  'apps/deployments': object => object.spec?.template,
  'apps/statefulsets': object => object.spec?.template,
  'apps/daemonsets': object => object.spec?.template,
  'batch/jobs': object => object.spec?.template,
  'batch/cronjobs': object => object.spec?.jobTemplate?.spec?.template,
}

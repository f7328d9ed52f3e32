/** Finds stuck deletions, and webhooks and APIServices that fail. Values in, findings out. */

import { millisecondsAt } from '../../lib/time.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { certificatesIn, expiryFindings } from './certificates.ts'
import type { Finding } from './findings.ts'

/** The objects that the checks read, from the API or from records. */
export type CheckedObjects = {
  readonly namespaces: readonly AnyObject[]
  readonly definitions: readonly AnyObject[]
  readonly apiServices: readonly AnyObject[]
  readonly webhookConfigurations: readonly AnyObject[]
  readonly services: readonly AnyObject[]
  readonly endpointSlices: readonly AnyObject[]
  /** Objects of a definition that is being deleted. */
  readonly instances: (definition: AnyObject) => readonly AnyObject[]
}

type Condition = { readonly type: string; readonly status: string; readonly reason?: string; readonly message?: string }
type Loose = { readonly [field: string]: any }

const conditionsOf = (object: AnyObject): readonly Condition[] => (object as Loose)['status']?.conditions ?? []

/** A deletion that takes longer has something in its way. */
const STUCK_MS = 60_000

export function stuckDeletions({ namespaces, definitions, instances }: CheckedObjects, now: Date): Finding[] {
  const found = [
    ...namespaces.map(object => ({ name: 'namespace', object, reason: namespaceReason(object) })),
    ...definitions.map(object => ({ name: 'customresourcedefinition', object, reason: definitionReason(object, instances) })),
  ]
  return found.flatMap(({ name, object: { metadata }, reason }): Finding[] => {
    const since = metadata.deletionTimestamp
    if (since === undefined || now.getTime() - millisecondsAt(since) < STUCK_MS) return []
    const subject = `${name}/${metadata.name}`
    const advice =
      'have the owner of these finalizers finish, or repair the API that is named; to remove a finalizer by hand leaves behind what it guards'
    return [{ check: 'deletions', level: 'problem', subject, message: `is being deleted since ${since}: ${reason}`, advice }]
  })
}

/** In the words of the conditions that the namespace controller writes. */
function namespaceReason(namespace: AnyObject): string {
  const blocking = conditionsOf(namespace).filter(({ status, type }) => status === 'True' && type.startsWith('Namespace'))
  const reasons = blocking.map(({ message = '' }) => message).filter(message => message !== '')
  const finalizers: readonly string[] = (namespace as Loose)['spec']?.finalizers ?? []
  return reasons.length > 0
    ? reasons.join('; ')
    : `its finalizers are still there (${finalizers.join(', ') || 'none'}): the namespace controller does not run, or has not reached it`
}

function definitionReason(definition: AnyObject, instances: CheckedObjects['instances']): string {
  if (definition.metadata.deletionTimestamp === undefined) return ''
  const left = instances(definition)
  const held = left.filter(({ metadata }) => (metadata.finalizers ?? []).length > 0)
  const finalizers = [...new Set(held.flatMap(({ metadata }) => metadata.finalizers ?? []))]
  const terminating = conditionsOf(definition).find(({ type, status }) => type === 'Terminating' && status === 'True')
  if (held.length > 0) {
    const [{ metadata }] = held as [AnyObject]
    const first = [metadata.namespace, metadata.name].filter(part => part).join('/')
    return `${left.length} of its objects are left, ${held.length} with finalizers (${finalizers.join(', ')}), such as ${first}`
  }
  return terminating?.message || `its finalizers are still there (${(definition.metadata.finalizers ?? []).join(', ') || 'none'})`
}

export function failingApiServices({ apiServices }: CheckedObjects, now: Date): Finding[] {
  return apiServices.flatMap((object): Finding[] => {
    const subject = `apiservice/${object.metadata.name}`
    const { caBundle } = (object as Loose)['spec'] ?? {}
    const expiring = expiryFindings(certificatesIn(subject, pemOf(caBundle)), now, { check: 'apiservices' })
    const available = conditionsOf(object).find(({ type }) => type === 'Available')
    if (available?.status !== 'False') return expiring
    const message = `is not available: ${available.reason}: ${available.message}`
    const advice =
      'repair the server behind it, or delete the APIService; until then its kinds cannot be used, and namespaces cannot be deleted'
    return [{ check: 'apiservices', level: 'problem', subject, message, advice }, ...expiring]
  })
}

const pemOf = (bundle: unknown): string => (typeof bundle === 'string' ? Buffer.from(bundle, 'base64').toString() : '')

type ClientConfig = {
  readonly caBundle?: string
  readonly url?: string
  readonly service?: { readonly namespace?: string; readonly name?: string }
}
type Hook = { readonly subject: string; readonly clientConfig: ClientConfig; readonly effect: string }

/** Webhooks of admission, and those that convert custom objects. */
export function failingWebhooks(objects: CheckedObjects, now: Date): Finding[] {
  return [...admissionHooks(objects.webhookConfigurations), ...conversionHooks(objects.definitions)].flatMap(
    ({ subject, clientConfig, effect }) => {
      const problem = serviceProblem(clientConfig, objects)
      const expiring = expiryFindings(certificatesIn(subject, pemOf(clientConfig.caBundle)), now, { check: 'webhooks' })
      if (problem === undefined) return expiring
      const finding: Finding = {
        check: 'webhooks',
        level: 'problem',
        subject,
        message: `${problem}; ${effect}`,
        advice: 'start what serves it, or delete its configuration',
      }
      return [finding, ...expiring]
    },
  )
}

function admissionHooks(configurations: readonly AnyObject[]): Hook[] {
  return configurations.flatMap(configuration =>
    ((configuration as Loose)['webhooks'] ?? []).map((webhook: Loose) => ({
      subject: `${configuration.kind?.toLowerCase()}/${configuration.metadata.name} ${webhook['name']}`,
      clientConfig: webhook['clientConfig'] ?? {},
      effect:
        webhook['failurePolicy'] === 'Ignore'
          ? 'it is skipped (failurePolicy Ignore)'
          : 'requests that it is for are refused (failurePolicy Fail)',
    })),
  )
}

function conversionHooks(definitions: readonly AnyObject[]): Hook[] {
  return definitions.flatMap(definition => {
    const clientConfig = (definition as Loose)['spec']?.conversion?.webhook?.clientConfig
    const effect = 'its objects cannot be converted between versions'
    return clientConfig ? [{ subject: `customresourcedefinition/${definition.metadata.name} conversion`, clientConfig, effect }] : []
  })
}

/** Why no call can succeed; undefined where one may. */
function serviceProblem({ service }: ClientConfig, { services, endpointSlices }: CheckedObjects): string | undefined {
  if (!service) return undefined
  const { namespace = '', name = '' } = service
  const isNamed = ({ metadata }: AnyObject) => metadata.namespace === namespace && metadata.name === name
  const found = services.find(isNamed) as Loose | undefined
  if (!found) return `the service ${namespace}/${name} that it is at does not exist`
  if (found['spec']?.type === 'ExternalName') return undefined
  const slices = endpointSlices.filter(
    ({ metadata }) => metadata.namespace === namespace && metadata.labels?.['kubernetes.io/service-name'] === name,
  )
  const isReady = (endpoint: Loose) => endpoint['conditions']?.ready !== false
  if (slices.some(slice => ((slice as Loose)['endpoints'] ?? []).some(isReady))) return undefined
  return `the service ${namespace}/${name} that it is at has no endpoint that is ready`
}

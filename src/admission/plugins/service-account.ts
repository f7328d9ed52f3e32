/** Pods run as a service account that is there, with its token mounted and its secrets for pulling images. */

import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import { environmentSecrets, secretNames } from '../../kinds/rules/pod/secret-names.ts'
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import { goQuote } from '../../lib/go-text.ts'
import type { Step } from '../../lib/step.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { forbiddenRequest, type StatusError } from '../../schema/status-error.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'
import type { Reader } from '../reader.ts'

export type ServiceAccountParts = {
  readonly reader: Reader
  readonly randomSuffix: () => string
  /** Passes the time between two looks at whether an account that must come is there. */
  readonly pause: () => Promise<void>
}

type Account = AnyObject & {
  readonly secrets?: readonly { readonly name?: string }[]
  readonly imagePullSecrets?: readonly { readonly name?: string }[]
  readonly automountServiceAccountToken?: boolean
}

const ACCOUNTS = { group: '', version: 'v1', plural: 'serviceaccounts' }
const DEFAULT = 'default'
const MIRROR = 'kubernetes.io/config.mirror'
const MOUNTABLE_ONLY = 'kubernetes.io/enforce-mountable-secrets'
const MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount'
const VOLUME_PREFIX = 'kube-api-access-'
/** Seconds that kubelets know to mean: warn after that time, and go on. */
const TOKEN_SECONDS = 3607
/** How often the account that every namespace gets is looked for. */
const LOOKS = 10

export function serviceAccount({ reader, randomSuffix, pause }: ServiceAccountParts): Plugin {
  const find = (namespace: string, name: string) => reader.get(ACCOUNTS, name, namespace) as Account | undefined
  const lookUp = function* (attributes: Attributes, name: string): Step<Account> {
    for (let look = 1; ; look++) {
      const found = find(attributes.namespace, name)
      if (found) return found
      // Every namespace gets its default account a moment after its creation.
      if (name !== DEFAULT || look === LOOKS) throw missing(attributes, name)
      yield pause()
    }
  }
  const check = (attributes: Attributes, spec: PodSpec, account: Account) => {
    if (!onlyMountable(account)) return
    const fault = attributes.subresource === '' ? faultOfPod(spec, account) : faultOfEphemeral(spec, account)
    if (fault !== undefined) throw refusal(attributes, fault)
  }
  const equip = (spec: PodSpec, account: Account) => {
    if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) mountToken(spec, randomSuffix)
    const pulls = account.imagePullSecrets ?? []
    if (!spec.imagePullSecrets?.length && pulls.length > 0) spec.imagePullSecrets = pulls.map(({ name = '' }) => ({ name }))
  }
  return {
    name: 'ServiceAccount',
    plurals: ['pods'],
    *mutate(attributes) {
      const { operation, object } = attributes
      if (!isAboutPods(attributes) || operation !== 'CREATE' || attributes.subresource !== '' || !object) return
      const spec = object['spec'] as PodSpec
      if (isMirror(object)) return checkMirror(attributes, spec)
      if (!spec.serviceAccountName) {
        spec.serviceAccountName = DEFAULT
        // Older clients know the field by this name.
        ;(spec as { serviceAccount?: string }).serviceAccount = DEFAULT
      }
      equip(spec, yield* lookUp(attributes, spec.serviceAccountName))
    },
    *validate(attributes) {
      const { operation, subresource, object } = attributes
      if (!isAboutPods(attributes) || !object) return
      const isNew = operation === 'CREATE' && subresource === ''
      if (!isNew && !(operation === 'UPDATE' && subresource === 'ephemeralcontainers')) return
      const spec = object['spec'] as PodSpec
      if (isNew && isMirror(object)) return checkMirror(attributes, spec)
      const name = spec.serviceAccountName ?? ''
      if (name === '')
        throw refusal(attributes, `no service account specified for pod ${attributes.namespace}/${object.metadata.name ?? ''}`)
      check(attributes, spec, yield* lookUp(attributes, name))
    },
  }
}

const isAboutPods = ({ resource }: Attributes) => resource.group === '' && resource.plural === 'pods'
const isMirror = ({ metadata: { annotations = {} } }: AnyObject) => Object.hasOwn(annotations, MIRROR)
const refusal = ({ resource, name, object }: Attributes, why: string): StatusError =>
  forbiddenRequest(resource, name || object?.metadata.name || '', why)
const missing = (attributes: Attributes, name: string) =>
  refusal(attributes, `error looking up service account ${attributes.namespace}/${name}: serviceaccount ${goQuote(name)} not found`)

/** A mirror only shows a pod that a node runs by itself; it can have nothing of the cluster. */
function checkMirror(attributes: Attributes, spec: PodSpec): void {
  if (spec.serviceAccountName) throw refusal(attributes, 'a mirror pod may not reference service accounts')
  for (const _ of secretNames(spec)) throw refusal(attributes, 'a mirror pod may not reference secrets')
  if (spec.volumes?.some(({ projected }) => projected?.sources?.some(source => source.serviceAccountToken)))
    throw refusal(attributes, 'a mirror pod may not use ServiceAccountToken volume projections')
}

/** Mounts a token, the authority of the server and the namespace into every container that has nothing else there. */
function mountToken(spec: PodSpec, randomSuffix: () => string): void {
  const own = spec.volumes?.find(({ name }) => name.startsWith(VOLUME_PREFIX))
  const name = own?.name ?? VOLUME_PREFIX + randomSuffix()
  let isNeeded = false
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])] as Container[]) {
    if (container.volumeMounts?.some(({ mountPath }) => mountPath === MOUNT_PATH)) continue
    container.volumeMounts = [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath: MOUNT_PATH }]
    isNeeded = true
  }
  if (!own && isNeeded) spec.volumes = [...(spec.volumes ?? []), { name, projected: tokenVolume() }]
}

const tokenVolume = () => ({
  sources: [
    { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: 'token' } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    { downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] } },
  ],
  defaultMode: 0o644,
})

function onlyMountable({ metadata: { annotations = {} } }: Account): boolean {
  return Object.hasOwn(annotations, MOUNTABLE_ONLY) && /^(1|t|T|TRUE|true|True)$/.test(annotations[MOUNTABLE_ONLY]!)
}

const namesOf = (refs: readonly { readonly name?: string }[] = []) => new Set(refs.map(({ name }) => name ?? ''))

/** The secret of a pod that its account may not use. */
function faultOfPod(spec: PodSpec, account: Account): string | undefined {
  const mountable = namesOf(account.secrets)
  const name = account.metadata.name ?? ''
  for (const { secret } of spec.volumes ?? []) {
    const used = secret?.secretName ?? ''
    if (secret && !mountable.has(used))
      return `volume with secret.secretName="${used}" is not allowed because service account ${name} does not reference that secret`
  }
  const fault =
    faultOfEnvironments('init container', spec.initContainers, account) ?? faultOfEnvironments('container', spec.containers, account)
  if (fault !== undefined) return fault
  const pullable = namesOf(account.imagePullSecrets)
  for (const [i, { name: used = '' }] of (spec.imagePullSecrets ?? []).entries())
    if (!pullable.has(used))
      return `imagePullSecrets[${i}].name="${used}" is not allowed because service account ${name} does not reference that imagePullSecret`
  return undefined
}

const faultOfEphemeral = (spec: PodSpec, account: Account) => faultOfEnvironments('ephemeral container', spec.ephemeralContainers, account)

function faultOfEnvironments(
  word: string,
  containers: PodSpec['containers'] | PodSpec['ephemeralContainers'],
  account: Account,
): string | undefined {
  const mountable = namesOf(account.secrets)
  for (const container of containers ?? [])
    for (const { secret, variable } of environmentSecrets(container)) {
      if (mountable.has(secret)) continue
      const where = variable === undefined ? 'envFrom' : `envVar ${variable}`
      return `${word} ${container.name} with ${where} referencing secret.secretName="${secret}" is not allowed because service account ${account.metadata.name} does not reference that secret`
    }
  return undefined
}

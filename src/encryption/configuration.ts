/**
 * The file of --encryption-provider-config: EncryptionConfiguration, read and validated as in kube-apiserver. Import it lazily: it reads
 * YAML.
 */
import { ConfigurationError, configurationOf, readDocument } from '../codec/configuration-document.ts'
import { Base64Error, decodeBase64 } from '../lib/base64.ts'
import { parseDuration } from '../lib/duration.ts'
import { aggregate, goFieldValue, goQuote } from '../lib/go-text.ts'
import type { Json } from '../lib/json-value.ts'
import { parseUrl } from '../lib/url.ts'
import { atomic, duration, int32, message, type Static, string } from '../schema/types.ts'
import { parseGroupResource } from './group-resource.ts'

const Keys = message('Keys', { keys: [1, atomic(message('Key', { name: [1, string], secret: [2, string] }))] })
const Kms = message('KMSConfiguration', {
  apiVersion: [1, string],
  name: [2, string],
  cachesize: [3, int32.optional()],
  endpoint: [4, string],
  timeout: [5, duration.optional()],
})
const Provider = message('ProviderConfiguration', {
  aesgcm: [1, Keys.optional()],
  aescbc: [2, Keys.optional()],
  secretbox: [3, Keys.optional()],
  identity: [4, message('IdentityConfiguration', {}).optional()],
  kms: [5, Kms.optional()],
})
const Resources = message('ResourceConfiguration', { resources: [1, atomic(string)], providers: [2, atomic(Provider)] })

const ENCRYPTION_CONFIGURATION = {
  accepts: { 'apiserver.config.{group_domain}/v1': 'EncryptionConfiguration' },
  type: message('EncryptionConfiguration', { resources: [1, atomic(Resources)] }),
} as const

type KmsFields = Static<typeof Kms>
type ProviderFields = Static<typeof Provider>
type KeysFields = Static<typeof Keys>

/** A key by the name that its records carry. */
export type NamedKey = { readonly name: string; readonly secret: Buffer }
export type KmsConfiguration = {
  readonly apiVersion: 'v1' | 'v2'
  readonly name: string
  /** A URL with the scheme unix. */
  readonly endpoint: string
  readonly timeoutMs: number
  /** Keys that are remembered, in version 1; negative for none. */
  readonly cacheSize: number
}
export type ProviderConfiguration =
  | { readonly type: 'aescbc' | 'aesgcm' | 'secretbox'; readonly keys: readonly NamedKey[] }
  | { readonly type: 'kms'; readonly kms: KmsConfiguration }
  | { readonly type: 'identity' }
export type ResourceConfiguration = { readonly resources: readonly string[]; readonly providers: readonly ProviderConfiguration[] }

export type ReadingOptions = {
  /** The file's name, for errors. */
  readonly file: string
  readonly groupDomain: string
  /** Whether the file is read again when it changes. */
  readonly reload: boolean
}

/** Reads the text of a configuration file. Throws an Error with kube-apiserver's message. */
export function readEncryptionConfiguration(text: string, { file, groupDomain, reload }: ReadingOptions): ResourceConfiguration[] {
  if (text.length === 0) throw new Error(`error while loading file: encryption provider configuration file ${goQuote(file)} is empty`)
  const { resources = [] } = decode(text, file, groupDomain)
  const errors = [...validate(resources, reload)]
  if (errors.length > 0) throw new Error(aggregate(errors))
  return resources.map(({ resources = [], providers = [] }) => ({ resources, providers: providers.map(providerOf) }))
}

function decode(text: string, file: string, groupDomain: string): Static<typeof ENCRYPTION_CONFIGURATION.type> {
  try {
    const document = readDocument(text)
    const { kind, apiVersion } = document
    const expected = `apiserver.config.${groupDomain}/v1`
    if (typeof kind === 'string' && kind !== '' && apiVersion === expected && kind !== 'EncryptionConfiguration')
      throw new UnexpectedKind(`got unexpected config type: ${expected}, Kind=${kind}`)
    return configurationOf(document, ENCRYPTION_CONFIGURATION, groupDomain)
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    throw new Error(`error decoding encryption provider configuration file ${goQuote(file)}: ${error.message}`)
  }
}
class UnexpectedKind extends Error {}

/** A provider that was found valid. */
function providerOf({ aesgcm, aescbc, secretbox, kms }: ProviderFields): ProviderConfiguration {
  if (aesgcm) return { type: 'aesgcm', keys: keysOf(aesgcm) }
  if (aescbc) return { type: 'aescbc', keys: keysOf(aescbc) }
  if (secretbox) return { type: 'secretbox', keys: keysOf(secretbox) }
  if (!kms) return { type: 'identity' }
  const { name = '', endpoint = '' } = kms
  const apiVersion = versionOf(kms) as 'v1' | 'v2'
  const timeoutMs = Number(timeoutOf(kms)) / 1e6
  return { type: 'kms', kms: { apiVersion, name, endpoint, timeoutMs, cacheSize: cacheSizeOf(kms) ?? 0 } }
}

const keysOf = ({ keys = [] }: KeysFields): NamedKey[] => keys.map(({ name = '', secret = '' }) => ({ name, secret: decodeBase64(secret) }))

/** The version where none is said; an empty one is none. */
const versionOf = ({ apiVersion }: KmsFields): string => apiVersion || 'v1'
const timeoutOf = ({ timeout = '3s' }: KmsFields): bigint => parseDuration(timeout)

// Validation, in the order and with the words of kube-apiserver.

const invalid = (path: string, value: Json, detail: string): string => `${path}: Invalid value: ${goFieldValue(value, 'given')}: ${detail}`
const required = (path: string, detail: string): string => `${path}: Required value: ${detail}`
const atLeastOne = (what: string): string => `at least one ${what} is required`

function* validate(all: readonly Static<typeof Resources>[], reload: boolean): Iterable<string> {
  if (all.length === 0) yield required('resources', atLeastOne('resources'))
  const kmsNames = new Set<string>()
  for (const [i, { resources = [], providers = [] }] of all.entries()) {
    const at = { resources: `resources[${i}].resources`, providers: `resources[${i}].providers` }
    if (resources.length === 0) yield required(at.resources, atLeastOne(at.resources))
    yield* overlaps(resources, at.resources)
    for (const [j, resource] of resources.entries()) yield* nameProblem(resource, `${at.resources}[${j}]`)
    if (providers.length === 0) yield required(at.providers, atLeastOne(at.providers))
    for (const [j, provider] of providers.entries()) yield* providerProblems(provider, { at: `${at.providers}[${j}]`, kmsNames, reload })
  }
}

function* overlaps(resources: readonly string[], at: string): Iterable<string> {
  const parsed = resources.map(parseGroupResource)
  let [isRepeated, isMasked] = [false, false]
  for (const [i, a] of parsed.entries())
    for (const [j, b] of parsed.entries()) {
      if (i === j) continue
      const isSame = a.group === b.group && a.resource === b.resource
      // kube-apiserver counts the first pair of equal names as a repetition, and any further one as an overlap if it is of wildcards.
      if (isSame && !isRepeated) isRepeated = true
      else if (a.group === '*' && a.resource === '*') isMasked = true
      else if (a.group === b.group && (a.resource === '*' || b.resource === '*')) isMasked = true
    }
  if (isRepeated) yield invalid(at, [...resources], 'the same resource cannot be specified multiple times')
  if (isMasked)
    yield invalid(
      at,
      [...resources],
      "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked",
    )
}

const WITHOUT_API: ReadonlySet<string> = new Set(['apiserveripinfo', 'serviceipallocations', 'servicenodeportallocations'])

function* nameProblem(resource: string, at: string): Iterable<string> {
  const { group, resource: plural } = parseGroupResource(resource)
  if (resource.toLowerCase() !== resource) yield invalid(at, resource, 'resource name should not contain capital letters')
  else if (resource === '*')
    yield invalid(at, resource, "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources")
  else if (WITHOUT_API.has(resource)) yield invalid(at, resource, 'resources which do not have REST API/s cannot be encrypted')
  else if (group === 'events.k8s.io')
    yield invalid(
      at,
      resource,
      "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file",
    )
  else if (group === 'extensions') yield invalid(at, resource, "'extensions' group has been removed and cannot be used for encryption")
  else if (group === '*' && plural !== '*') yield invalid(at, resource, 'encrypting the same resource across groups is not supported')
}

type ProviderContext = { readonly at: string; readonly kmsNames: Set<string>; readonly reload: boolean }

function* providerProblems(provider: ProviderFields, { at, kmsNames, reload }: ProviderContext): Iterable<string> {
  const { aesgcm, aescbc, secretbox, identity, kms } = provider
  const found = [kms, aesgcm, aescbc, secretbox, identity].filter(each => each !== undefined).length
  if (found === 0)
    yield invalid(at, shown(provider), 'provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity')
  if (found > 1)
    yield invalid(at, shown(provider), 'more than one provider specified in a single element, should split into different list elements')
  if (kms) {
    yield* kmsProblems(kms, { at: `${at}.kms`, kmsNames, reload })
    kmsNames.add(kms.name ?? '')
  } else if (aesgcm) yield* keyProblems(aesgcm, `${at}.aesgcm.keys`, AES_KEYS)
  else if (aescbc) yield* keyProblems(aescbc, `${at}.aescbc.keys`, AES_KEYS)
  else if (secretbox) yield* keyProblems(secretbox, `${at}.secretbox.keys`, [32])
}
const AES_KEYS = [16, 24, 32]

/** A provider as Go's internal type shows it. Secrets are left out, which kube-apiserver prints here. */
function shown({ aesgcm, aescbc, secretbox, identity, kms }: ProviderFields): Json {
  const keys = (fields: KeysFields | undefined) =>
    fields ? { Keys: (fields.keys ?? []).map(({ name = '' }) => ({ Name: name, Secret: 'REDACTED' })) } : null
  return {
    AESGCM: keys(aesgcm),
    AESCBC: keys(aescbc),
    Secretbox: keys(secretbox),
    Identity: identity ? {} : null,
    KMS: kms
      ? {
          APIVersion: versionOf(kms),
          Name: kms.name ?? '',
          CacheSize: cacheSizeOf(kms) ?? null,
          Endpoint: kms.endpoint ?? '',
          Timeout: kms.timeout ?? '3s',
        }
      : null,
  }
}

function* keyProblems({ keys = [] }: KeysFields, at: string, sizes: readonly number[]): Iterable<string> {
  if (keys.length === 0) yield required(at, atLeastOne('keys'))
  for (const [i, { name = '', secret = '' }] of keys.entries()) {
    if (name === '') yield required(`${at}[${i}].name`, 'name is a mandatory field for a key')
    if (secret === '') yield required(`${at}[${i}].secret`, 'secret is a mandatory field for a key')
    else yield* secretProblem(secret, `${at}[${i}].secret`, sizes)
  }
}

function* secretProblem(secret: string, at: string, sizes: readonly number[]): Iterable<string> {
  let length: number
  try {
    length = decodeBase64(secret).length
  } catch (error) {
    if (!(error instanceof Base64Error)) throw error
    yield invalid(at, 'REDACTED', 'secrets must be base64 encoded')
    return
  }
  if (!sizes.includes(length))
    yield invalid(at, 'REDACTED', `secret is not of the expected length, got ${length}, expected one of [${sizes.join(' ')}]`)
}

const cacheSizeOf = (kms: KmsFields): number | undefined => kms.cachesize ?? (versionOf(kms) === 'v1' ? 1000 : undefined)

function* kmsProblems(kms: KmsFields, { at, kmsNames, reload }: ProviderContext): Iterable<string> {
  const { name = '', endpoint = '' } = kms
  const version = versionOf(kms)
  if (name === '') yield required(`${at}.name`, 'name is a mandatory field for a provider')
  if (version !== 'v1' && name.includes(':')) yield invalid(`${at}.name`, name, `invalid KMS provider name ${name}, must not contain ':'`)
  if ((reload || version !== 'v1') && kmsNames.has(name))
    yield invalid(`${at}.name`, name, `duplicate KMS provider name ${name}, names must be unique`)
  if (timeoutOf(kms) <= 0n) yield invalid(`${at}.timeout`, kms.timeout ?? '', 'timeout should be a positive value')
  yield* endpointProblem(endpoint, `${at}.endpoint`)
  const size = cacheSizeOf(kms)
  if (version !== 'v1' && size !== undefined) yield invalid(`${at}.cachesize`, size, 'cachesize is not supported in v2')
  if (version === 'v1' && size === 0) yield invalid(`${at}.cachesize`, size, 'cachesize should be a positive value, or negative to disable')
  // kube-apiserver names the field here instead of its value.
  if (version !== 'v1' && version !== 'v2')
    yield invalid(`${at}.apiVersion`, version, 'unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported')
}

function* endpointProblem(endpoint: string, at: string): Iterable<string> {
  if (endpoint === '') {
    yield invalid(at, '', 'endpoint is a mandatory field for a kms')
    return
  }
  const url = parseUrl(endpoint)
  if ('problem' in url) yield invalid(at, endpoint, `invalid endpoint for kms provider, error: ${url.problem}`)
  else if (url.scheme !== 'unix')
    yield invalid(at, endpoint, `unsupported scheme ${goQuote(url.scheme)} for KMS provider, only unix is supported`)
}

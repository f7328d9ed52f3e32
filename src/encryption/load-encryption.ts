/**
 * Makes the transformers of an encryption configuration, and the health checks of its KMS plugins. The key of a data directory is one more
 * configuration, and every start needs it: the YAML parser and the providers that it does not name are loaded when a configuration needs them.
 */
import { createHash } from 'node:crypto'
import { goQuote } from '../lib/go-text.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { AesCbc, AesGcm } from './aes.ts'
import type { KmsConfiguration, NamedKey, ProviderConfiguration, ReadingOptions, ResourceConfiguration } from './configuration.ts'
import { nameOf, parseGroupResource } from './group-resource.ts'
import { identity } from './identity.ts'
import type { KmsPlugin } from './kms/kms-plugin.ts'
import type { KmsProviderOptions } from './kms/kms-provider.ts'
import type { TransformationMetrics } from './metrics.ts'
import { type Prefixed, PrefixTransformers, type Transformer } from './transformer.ts'

export type EncryptionOptions = Pick<KmsProviderOptions, 'onReadable' | 'now' | 'times'> & {
  readonly metrics: TransformationMetrics
  /** Whether a feature gate is on. */
  readonly gate: (name: string) => boolean
}
export type LoadOptions = ReadingOptions & EncryptionOptions

export type Encryption = {
  /** Transformers by resource: `secrets`, `deployments.apps`, `*.apps`, `*.` for the core group, `*.*`. */
  readonly transformers: ReadonlyMap<string, Transformer>
  readonly plugins: readonly KmsPlugin[]
  /** How long calls of plugins that are under way may take. */
  readonly graceMs: number
  close(): void
}

/** The encryption of a file, with a hash of its text. */
export type LoadedEncryption = Encryption & { readonly hash: string }

/** Reads the text of a file and opens what it configures. Throws an Error with kube-apiserver's message. */
export async function loadEncryption(text: string, options: LoadOptions): Promise<LoadedEncryption> {
  const { readEncryptionConfiguration } = await import('./configuration.ts')
  const configured = await prefixed('error while parsing file', () => readEncryptionConfiguration(text, options))
  return { ...(await openConfigured(configured, options)), hash: hashOf(text) }
}

/**
 * Opens the providers of a configuration. Throws an Error with kube-apiserver's message. Waits for the plugins as long as their timeouts say;
 * a silent one is no failure.
 */
export async function openConfigured(configured: readonly ResourceConfiguration[], options: EncryptionOptions): Promise<Encryption> {
  const loading = new Loading(options)
  try {
    const transformers = await prefixed('error while building transformers', () => loading.transformers(configured))
    const { plugins, timeoutMs } = loading
    await Promise.all(plugins.map(plugin => plugin.start()))
    return { transformers, plugins, graceMs: 2 * timeoutMs, close: () => loading.close() }
  } catch (error) {
    loading.close()
    throw error
  }
}

export const hashOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`

async function prefixed<R>(prefix: string, work: () => MaybePromise<R>): Promise<R> {
  try {
    return await work()
  } catch (error) {
    throw new Error(`${prefix}: ${(error as Error).message}`, { cause: error })
  }
}

class Loading {
  readonly plugins: KmsPlugin[] = []
  timeoutMs = 0
  readonly #options: EncryptionOptions

  constructor(options: EncryptionOptions) {
    this.#options = options
  }

  async transformers(configured: readonly ResourceConfiguration[]): Promise<ReadonlyMap<string, Transformer>> {
    const providersOf = new Map<string, Prefixed[]>()
    for (const { resources, providers } of configured) {
      const made: Prefixed[] = []
      for (const provider of providers) made.push(await this.#provider(provider))
      for (const text of resources) {
        const resource = parseGroupResource(text)
        for (const rule of [nameOf({ ...resource, resource: '*' }), '*.*'])
          if (providersOf.has(rule)) throw new Error(`resource ${goQuote(nameOf(resource))} is masked by earlier rule ${goQuote(rule)}`)
        const name = nameOf(resource)
        providersOf.set(name, [...(providersOf.get(name) ?? []), ...made])
      }
    }
    const { metrics } = this.#options
    return new Map(
      Array.from(providersOf, ([name, all]) => [name, new PrefixTransformers(all, { noMatch: 'no matching prefix found', metrics })]),
    )
  }

  close(): void {
    for (const plugin of this.plugins) plugin.close()
  }

  async #provider(provider: ProviderConfiguration): Promise<Prefixed> {
    switch (provider.type) {
      case 'identity':
        return { prefix: Buffer.alloc(0), transformer: identity }
      case 'kms':
        return await this.#kms(provider.kms)
      case 'aescbc':
        return this.#keyed('aescbc', 'AES', provider.keys, key => new AesCbc(key))
      case 'aesgcm':
        return this.#keyed('aesgcm', 'AES', provider.keys, key => new AesGcm(key))
      case 'secretbox': {
        const { Secretbox } = await import('./secretbox.ts')
        return this.#keyed('secretbox', 'Secretbox', provider.keys, key => new Secretbox(key))
      }
    }
  }

  #keyed(name: string, family: string, keys: readonly NamedKey[], make: (key: Buffer) => Transformer): Prefixed {
    const all = keys.map(({ name, secret }) => ({ prefix: Buffer.from(`${name}:`), transformer: make(secret) }))
    const noMatch = `no matching key was found for the provided ${family} transformer`
    return {
      prefix: Buffer.from(`k8s:enc:${name}:v1:`),
      transformer: new PrefixTransformers(all, { noMatch, metrics: this.#options.metrics }),
    }
  }

  async #kms(configuration: KmsConfiguration): Promise<Prefixed> {
    const { apiVersion, name, endpoint, timeoutMs } = configuration
    const { metrics, onReadable, now, times } = this.#options
    const parts = { name, metrics, onReadable, ...(now && { now }), ...(times && { times }) }
    if (apiVersion === 'v1') return await this.#kmsV1(configuration, parts)
    const [{ KmsProvider }, { GrpcKmsService }] = await Promise.all([import('./kms/kms-provider.ts'), import('./kms/kms-service.ts')])
    const plugin = new KmsProvider({ ...parts, service: new GrpcKmsService({ name, endpoint, timeoutMs, metrics }) })
    this.plugins.push(plugin)
    this.timeoutMs += timeoutMs
    return { prefix: Buffer.from(`k8s:enc:kms:v2:${name}:`), transformer: plugin }
  }

  async #kmsV1({ name, endpoint, timeoutMs, cacheSize }: KmsConfiguration, parts: Omit<KmsProviderOptions, 'service'>): Promise<Prefixed> {
    if (!this.#options.gate('KMSv1')) throw new Error(KMS_V1_DEPRECATED)
    const [{ KmsV1Provider }, { GrpcKmsV1Service }] = await Promise.all([
      import('./kms/kms-v1-provider.ts'),
      import('./kms/kms-v1-service.ts'),
    ])
    const plugin = new KmsV1Provider({ ...parts, cacheSize, service: new GrpcKmsV1Service({ endpoint, timeoutMs }) })
    this.plugins.push(plugin)
    // Its health check is two calls.
    this.timeoutMs += 2 * timeoutMs
    return { prefix: Buffer.from(`k8s:enc:kms:v1:${name}:`), transformer: plugin }
  }
}

const KMS_V1_DEPRECATED =
  'KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.  Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature.'

/** Encryption at rest of a server: the configured providers or the key of its data directory, their health, metrics and reloads. */
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KmsPlugin } from '../../encryption/kms/kms-plugin.ts'
import type { KmsTimes } from '../../encryption/kms/plugin-health.ts'
import { type Encryption, hashOf, type LoadedEncryption, type LoadOptions, loadEncryption } from '../../encryption/load-encryption.ts'
import { TransformationMetrics } from '../../encryption/metrics.ts'
import { RecordEncryption } from '../../encryption/record-encryption.ts'
import type { HealthCheck } from '../../http/observability/health.ts'
import type { Log } from '../../http/observability/log.ts'
import type { Family } from '../../lib/exposition.ts'
import { aggregate, goQuote } from '../../lib/go-text.ts'
import type { RecordTransformer } from '../../storage/record-transformer.ts'
import { type Config, ConfigError } from '../config.ts'
import { follow } from '../files/follow-file.ts'
import { ReloadMetrics } from '../files/reload-metrics.ts'
import { ensureFolderKey, loadFolderKey } from './folder-encryption.ts'

export type EncryptionParts = {
  readonly gate: (name: string) => boolean
  readonly log: Log
  /** Other times of KMS plugins than the usual ones, for tests. */
  readonly kmsTimes?: KmsTimes | undefined
  readonly onClose: (close: () => Promise<void>) => void
}

export type DataEncryption = {
  readonly transformer: RecordTransformer
  /** The checks of /healthz and /readyz. */
  readonly checks: readonly HealthCheck[]
  /** The steps of a start that have health checks, with the names of kube-apiserver. */
  readonly hooks: readonly string[]
  families(): Family[]
  /** Sets the listener for times when unreadable records may have become readable, or are to be stored otherwise. */
  onReadable(call: () => void): void
}

/** A check for all plugins together is called so by kube-apiserver. */
const ALL_PLUGINS = 'kms-providers'
/** How long the plugins of a new configuration may take to become healthy, at least. */
const MIN_HEALTHY_MS = 10_000
const HEALTHY_EVERY_MS = 100
/** After a failure the configuration is tried again, at first soon. */
const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 60_000

/** Throws ConfigError for a configuration that cannot be used. */
export async function openEncryption(config: Config, parts: EncryptionParts): Promise<DataEncryption> {
  const { encryptionProviderConfig: file, groupDomain, dataDir } = config
  const metrics = new TransformationMetrics()
  const isEmbedded = config.store === 'embedded'
  if (isEmbedded && file === undefined) await ensureFolderKey(dataDir, groupDomain)
  const own = isEmbedded ? await loadFolderKey(dataDir, groupDomain, metrics) : undefined
  if (own) parts.onClose(async () => own.close())
  if (file === undefined)
    return {
      transformer: new RecordEncryption(own?.transformers),
      checks: [],
      hooks: [],
      families: () => metrics.families(),
      onReadable() {},
    }
  const configured = new ConfiguredEncryption(config, { ...parts, metrics, own })
  parts.onClose(async () => configured.close())
  await configured.open()
  return configured
}

class ConfiguredEncryption implements DataEncryption {
  readonly transformer: RecordEncryption
  readonly #file: string
  readonly #reload: boolean
  readonly #options: Omit<LoadOptions, 'onReadable'>
  readonly #log: Log
  readonly #metrics: TransformationMetrics
  readonly #reloads = new ReloadMetrics('encryption', 'the encryption configuration')
  #current: LoadedEncryption | undefined
  readonly #retired = new Set<Encryption>()
  #onReadable: () => void = () => {}
  #stop: () => void = () => {}
  #retry: NodeJS.Timeout | undefined
  #retryMs = FIRST_RETRY_MS
  #isClosed = false

  constructor(
    { encryptionProviderConfig, encryptionProviderConfigAutomaticReload: reload, groupDomain }: Config,
    {
      gate,
      log,
      metrics,
      own,
      kmsTimes,
    }: EncryptionParts & { readonly metrics: TransformationMetrics; readonly own: Encryption | undefined },
  ) {
    this.#file = encryptionProviderConfig!
    this.#reload = reload
    this.#log = log
    this.#metrics = metrics
    this.#options = { file: this.#file, groupDomain, reload, gate, metrics, ...(kmsTimes && { times: kmsTimes }) }
    this.transformer = new RecordEncryption(undefined, own?.transformers)
  }

  async open(): Promise<void> {
    try {
      const text = await this.#read()
      this.#use(await this.#load(text), text)
      if (this.#reload) this.#follow(text)
    } catch (error) {
      throw new ConfigError((error as Error).message, { cause: error })
    }
  }

  get checks(): readonly HealthCheck[] {
    if (!this.#reload && this.#current!.plugins.length === 0) return []
    return [{ name: ALL_PLUGINS, check: () => healthOf(this.#current!.plugins) }]
  }

  get hooks(): readonly string[] {
    return this.#reload ? ['start-encryption-provider-config-automatic-reload'] : []
  }

  families(): Family[] {
    return [...this.#metrics.families(), ...this.#reloads.families()]
  }

  onReadable(call: () => void): void {
    this.#onReadable = call
  }

  close(): void {
    this.#isClosed = true
    this.#stop()
    clearTimeout(this.#retry)
    for (const each of [...this.#retired, this.#current]) each?.close()
  }

  async #read(): Promise<string> {
    try {
      return await readFile(this.#file, 'utf8')
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'no such file or directory' : (error as Error).message
      throw new Error(
        `error while parsing file: error while loading file: error reading encryption provider configuration file ${goQuote(this.#file)}: open ${this.#file}: ${why}`,
      )
    }
  }

  #load(text: string): Promise<LoadedEncryption> {
    return loadEncryption(text, { ...this.#options, onReadable: () => this.#onReadable() })
  }

  #use(encryption: LoadedEncryption, text: string): void {
    this.#current = encryption
    this.transformer.use(encryption.transformers)
    this.#reloads.uses(text)
  }

  #follow(text: string): void {
    this.#stop = follow(() => this.#read(), {
      text,
      take: text => this.#attempt(text),
      failed: why => {
        this.#reloads.reloaded('failure', Date.now() / 1000)
        this.#log.error({ file: this.#file, error: why }, 'error processing encryption config file')
      },
    })
  }

  /** Takes a new text, now or when its plugins have become healthy. */
  async #attempt(text: string): Promise<void> {
    clearTimeout(this.#retry)
    try {
      await this.#replace(text)
      this.#retryMs = FIRST_RETRY_MS
    } catch (error) {
      this.#retry = setTimeout(() => void this.#attemptAgain(), this.#retryMs).unref()
      this.#retryMs = Math.min(2 * this.#retryMs, LAST_RETRY_MS)
      throw error
    }
  }

  async #attemptAgain(): Promise<void> {
    try {
      await this.#attempt(await this.#read())
    } catch {
      this.#reloads.reloaded('failure', Date.now() / 1000)
    }
  }

  async #replace(text: string): Promise<void> {
    if (hashOf(text) === this.#current!.hash) return
    const encryption = await this.#load(text)
    try {
      await untilHealthy(encryption, () => this.#isClosed)
      if (this.#isClosed) throw new Error('the server is shutting down')
    } catch (error) {
      encryption.close()
      throw error
    }
    const former = this.#current!
    this.#use(encryption, text)
    this.#reloads.reloaded('success', Date.now() / 1000)
    this.#log.info({ file: this.#file, hash: encryption.hash }, 'the encryption configuration was read again')
    this.#retire(former)
    this.#onReadable()
  }

  /** Calls of its plugins that are under way may end. */
  #retire(former: Encryption): void {
    this.#retired.add(former)
    const close = () => {
      former.close()
      this.#retired.delete(former)
    }
    setTimeout(close, former.graceMs).unref()
  }
}

async function healthOf(plugins: readonly KmsPlugin[]): Promise<string | undefined> {
  const problems: string[] = []
  for (const [i, plugin] of plugins.entries()) {
    const problem = await plugin.check()
    if (problem !== undefined) problems.push(`kms-provider-${i}: ${problem}`)
  }
  return problems.length === 0 ? undefined : aggregate(problems)
}

/** A configuration whose plugins do not work is not taken. */
async function untilHealthy({ plugins, graceMs }: Encryption, isOver: () => boolean): Promise<void> {
  const until = performance.now() + Math.max(graceMs, MIN_HEALTHY_MS)
  for (;;) {
    const problem = await healthOf(plugins)
    if (problem === undefined) return
    if (isOver() || performance.now() >= until)
      throw new Error(`health check for new transformers failed, polling error timed out waiting for the condition: ${problem}`)
    await sleep(HEALTHY_EVERY_MS)
  }
}

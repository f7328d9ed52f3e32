/**
 * The encryption of a data directory: Secrets are encrypted with a key in its folder `pki`, so that a copy of the store alone does not
 * show them. The key is an EncryptionConfiguration, as --encryption-provider-config takes it, so that keys can be added and replaced.
 */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { link, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { NamedKey } from '../../encryption/configuration.ts'
import { type Encryption, loadEncryption, openConfigured } from '../../encryption/load-encryption.ts'
import { TransformationMetrics } from '../../encryption/metrics.ts'
import { RecordEncryption } from '../../encryption/record-encryption.ts'
import { makeFolders } from '../../lib/folders.ts'
import { draftOf, writePrivateFile } from '../../lib/private-files.ts'
import { explain } from '../../storage/embedded/failure.ts'
import type { RecordTransformer } from '../../storage/record-transformer.ts'
import { ConfigError } from '../config.ts'

/** The file of a data directory that holds its keys. */
export const folderKeyFile = (dataDir: string): string => join(dataDir, 'pki', 'encryption-config.yaml')

export type FolderEncryptionOptions = {
  /** The file of --encryption-provider-config, where records are encrypted by one. */
  readonly configFile?: string | undefined
  readonly groupDomain?: string
}

export type FolderEncryption = {
  /** For `openEmbeddedStore`: a record that it cannot decrypt becomes the fault of an entry. */
  readonly transformer: RecordTransformer
  /** The missing file; undefined where the directory has keys, or needs none. */
  readonly missing: string | undefined
  close(): void
}

/**
 * Opens the transformers for the records of a data directory that no server uses, to read them or to write others; without a directory,
 * those of a configuration alone. Creates no key.
 * Throws ConfigError when a configuration cannot be used.
 */
export async function openFolderEncryption(dataDir: string | undefined, options: FolderEncryptionOptions = {}): Promise<FolderEncryption> {
  const { configFile, groupDomain = 'k8s.io' } = options
  const own = dataDir === undefined ? undefined : await loadFolderKey(dataDir, groupDomain, new TransformationMetrics())
  const configured = configFile === undefined ? undefined : await loadFile(configFile, groupDomain)
  const transformer = configured
    ? new RecordEncryption(configured.transformers, own?.transformers)
    : new RecordEncryption(own?.transformers)
  const missing =
    own || configured || dataDir === undefined
      ? undefined
      : `there is no key in ${folderKeyFile(dataDir)}: Secrets that were encrypted with it cannot be read. Put the file of the original directory there`
  return {
    transformer,
    missing,
    close() {
      own?.close()
      configured?.close()
    },
  }
}

async function loadFile(file: string, groupDomain: string): Promise<Encryption> {
  try {
    return await loadEncryption(readFileSync(file, 'utf8'), { file, groupDomain, ...ALONE, metrics: new TransformationMetrics() })
  } catch (error) {
    throw new ConfigError((error as Error).message, { cause: error })
  }
}
const ALONE = { reload: false, gate: () => false, onReadable() {} }

/** The encryption with the keys of a directory; undefined where it has none. */
export async function loadFolderKey(dataDir: string, groupDomain: string, metrics: TransformationMetrics): Promise<Encryption | undefined> {
  const file = folderKeyFile(dataDir)
  if (!existsSync(file)) return undefined
  try {
    const text = readFileSync(file, 'utf8')
    const key = onlyKeyIn(text, groupDomain)
    if (key) return await openConfigured([{ resources: [RESOURCE], providers: providersWith(key) }], { ...ALONE, metrics })
    return await loadEncryption(text, { file, groupDomain, ...ALONE, metrics })
  } catch (error) {
    throw new ConfigError(`${file} cannot be used: ${(error as Error).message}`, { cause: error })
  }
}

/** Creates the key of a directory that has none. It is on disk when this resolves, so that no record can be without its key. */
export async function ensureFolderKey(dataDir: string, groupDomain: string): Promise<void> {
  const file = folderKeyFile(dataDir)
  if (existsSync(file)) return
  try {
    await createKey(file, groupDomain)
  } catch (error) {
    throw explain(error, `cannot write keys to ${join(dataDir, 'pki')}`)
  }
}

async function createKey(file: string, groupDomain: string): Promise<void> {
  makeFolders(dirname(file), 0o700)
  const draft = draftOf(file)
  await writePrivateFile(draft, textWith(newKey(), groupDomain))
  try {
    // Unlike a rename, this does not replace the key of another process that was started at the same time.
    await link(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(draft, { force: true })
  }
}

/** Secrets are encrypted, and those that were stored before are still read. */
const RESOURCE = 'secrets'
/** As `textWith` says. */
const providersWith = (key: NamedKey) => [{ type: 'aesgcm', keys: [key] }, { type: 'identity' }] as const

/**
 * AES-GCM binds each record to its key in the store. With random nonces a key may be used for 2^32 writes. The name is made of a hash of
 * the key: whoever misses a key can tell which one.
 */
function newKey(): NamedKey {
  const secret = randomBytes(32)
  return { name: `local-${createHash('sha256').update(secret).digest('hex').slice(0, 8)}`, secret }
}

/** The file of a directory with one key. */
function textWith({ name, secret }: NamedKey, groupDomain: string): string {
  return `# The keys with which this data directory encrypts its records. Without this file they cannot be read.
# To replace a key, put a new one before it, restart the server and rewrite the objects; see docs/encryption.md.
apiVersion: apiserver.config.${groupDomain}/v1
kind: EncryptionConfiguration
resources:
  - resources: [${RESOURCE}]
    providers:
      - aesgcm:
          keys:
            - name: ${name}
              secret: ${secret.toString('base64')}
      - identity: {}
`
}

/** The key in a file that is as `textWith` writes it: every start reads one, and does not need a YAML parser for it. */
function onlyKeyIn(text: string, groupDomain: string): NamedKey | undefined {
  const [, name, secret] = /name: (local-[0-9a-f]{8})\n +secret: ([\w+/]{43}=)\n/.exec(text) ?? []
  if (name === undefined || secret === undefined) return undefined
  const key = { name, secret: Buffer.from(secret, 'base64') }
  return textWith(key, groupDomain) === text ? key : undefined
}

/** The certificates that a server issues for itself and its clients: the current ones, and their renewal. */
import type { KeyPair } from '../../lib/x509/issue.ts'
import type { Store } from '../../storage/store.ts'
import type { Siblings } from '../processes/siblings.ts'
import { loadPki, loadTokenKey, type Pki } from './pki.ts'
import { openSharedKeys } from './shared-keys.ts'

export type OwnCertificatesParts = {
  /** The folder of keys and certificates; undefined keeps them in memory alone. */
  readonly directory: string | undefined
  readonly store: Store
  /** Whether servers on other machines use the store as well: then keys are in the store. */
  readonly hasReplicas: boolean
  /** The other processes of this server, which have the same certificates. */
  readonly siblings?: Siblings | undefined
  /** Names and addresses by which clients reach the server. */
  readonly names: readonly string[]
}

export class OwnCertificates {
  readonly #parts: OwnCertificatesParts
  readonly #memory: Map<string, KeyPair>
  /** The keys that all servers over a shared store have in common. */
  readonly sharedKeys: ReadonlyMap<string, string> | undefined
  #current: Pki
  #renewal: Promise<void> = Promise.resolve()

  private constructor(parts: OwnCertificatesParts, { sharedKeys, memory, pki }: Loaded) {
    this.#parts = parts
    this.sharedKeys = sharedKeys
    this.#memory = memory
    this.#current = pki
  }

  /** Loads the certificates that are kept, and issues those that are missing; without a folder they are kept in `memory`. */
  static async open(parts: OwnCertificatesParts, now: Date, memory = new Map<string, KeyPair>()): Promise<OwnCertificates> {
    return new OwnCertificates(parts, await loadTogether(parts, memory, now))
  }

  get current(): Pki {
    return this.#current
  }

  /** Resolves when no renewal is under way. */
  get renewal(): Promise<void> {
    return this.#renewal
  }

  /** Loads or issues the certificates that are needed at a time. They are current after `replace`. */
  async load(at: Date): Promise<Pki> {
    return (await loadTogether(this.#parts, this.#memory, at)).pki
  }

  replace(pki: Pki): void {
    this.#current = pki
  }

  noteRenewal(done: Promise<void>): void {
    this.#renewal = done
  }
}

type Loaded = {
  readonly sharedKeys: ReadonlyMap<string, string> | undefined
  readonly memory: Map<string, KeyPair>
  readonly pki: Pki
}

/** One process of several loads at a time, so that all get the certificates that the first of them has issued. */
async function loadTogether(parts: OwnCertificatesParts, memory: Map<string, KeyPair>, now: Date): Promise<Loaded> {
  const { siblings, directory, hasReplicas } = parts
  if (!siblings) return loadOnce(parts, memory, now)
  return await siblings.alone('certificates', async kept => {
    for (const [name, pair] of kept === '' ? [] : (JSON.parse(kept) as [string, KeyPair][])) memory.set(name, pair)
    const result = await loadOnce(parts, memory, now)
    await result.pki.saved
    if (!hasReplicas) await loadTokenKey(directory).saved
    return { result, kept: JSON.stringify([...memory]) }
  })
}

async function loadOnce(
  { store, hasReplicas, directory, names }: OwnCertificatesParts,
  memory: Map<string, KeyPair>,
  now: Date,
): Promise<Loaded> {
  const shared = hasReplicas ? await openSharedKeys(store, now) : undefined
  return { sharedKeys: shared, memory, pki: loadPki({ directory, memory, shared, names, now }) }
}

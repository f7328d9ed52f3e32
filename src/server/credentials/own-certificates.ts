/** The certificates that a server issues for itself and its clients: the current ones, and their renewal. */
import type { KeyPair } from '../../lib/x509/issue.ts'
import type { Store } from '../../storage/store.ts'
import { loadPki, type Pki } from './pki.ts'
import { openSharedKeys } from './shared-keys.ts'

export type OwnCertificatesParts = {
  /** The folder of keys and certificates; undefined keeps them in memory alone. */
  readonly directory: string | undefined
  readonly store: Store
  /** Names and addresses by which clients reach the server. */
  readonly names: readonly string[]
}

export class OwnCertificates {
  readonly #parts: OwnCertificatesParts
  readonly #memory = new Map<string, KeyPair>()
  /** The keys that all servers over a shared store have in common. */
  readonly sharedKeys: ReadonlyMap<string, string> | undefined
  #current: Pki
  #renewal: Promise<void> = Promise.resolve()

  private constructor(parts: OwnCertificatesParts, sharedKeys: ReadonlyMap<string, string> | undefined, now: Date) {
    this.#parts = parts
    this.sharedKeys = sharedKeys
    this.#current = this.#loadWith(sharedKeys, now)
  }

  /** Loads the certificates that are kept, and issues those that are missing. */
  static async open(parts: OwnCertificatesParts, now: Date): Promise<OwnCertificates> {
    return new OwnCertificates(parts, await sharedKeysOf(parts.store, now), now)
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
    return this.#loadWith(await sharedKeysOf(this.#parts.store, at), at)
  }

  replace(pki: Pki): void {
    this.#current = pki
  }

  noteRenewal(done: Promise<void>): void {
    this.#renewal = done
  }

  #loadWith(shared: ReadonlyMap<string, string> | undefined, now: Date): Pki {
    const { directory, names } = this.#parts
    return loadPki({ directory, memory: this.#memory, shared, names, now })
  }
}

const sharedKeysOf = async (store: Store, at: Date) => (store.isShared ? openSharedKeys(store, at) : undefined)

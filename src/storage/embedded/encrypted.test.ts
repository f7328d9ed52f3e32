// The contract of stores, kept by the embedded store with records that are encrypted, and with keys that have to be waited for.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { describeStore } from '../../../test/kits/storage/conformance.ts'
import { AesGcm } from '../../encryption/aes.ts'
import type { Transformed } from '../../encryption/transformer.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Limits } from '../quota.ts'
import type { FromStorage, RecordName, RecordTransformer } from '../record-transformer.ts'
import type { Store } from '../store.ts'
import { openEmbeddedStore } from './embedded.ts'

const base = mkdtempSync(join(tmpdir(), 'keelson-encrypted-'))
after(() => rmSync(base, { recursive: true, force: true }))

const cipher = new AesGcm(Buffer.alloc(32, 'key'))

/** Encrypts every record. Where keys are slow, a record that another process wrote is waited for when it is first read, as with a KMS plugin. */
class TestTransformer implements RecordTransformer {
  readonly #isSlow: boolean
  readonly #known = new Set<string>()

  constructor(isSlow: boolean) {
    this.#isSlow = isSlow
  }

  toStorage({ place }: RecordName, value: Uint8Array): Uint8Array {
    this.#known.add(place)
    return cipher.toStorage(value, { resource: '', place })
  }

  fromStorage({ place }: RecordName, stored: Uint8Array): FromStorage | Promise<FromStorage> {
    const read = () => {
      const { data } = cipher.fromStorage(stored, { resource: '', place }) as Transformed
      return { value: data, isStale: false }
    }
    if (!this.#isSlow || this.#known.has(place)) return read()
    this.#known.add(place)
    return new Promise(setImmediate).then(read)
  }

  mayBeStale(): boolean {
    return true
  }
}

type Kept = Limits & { readonly dir: string }
for (const isSlow of [false, true]) {
  const kept = new WeakMap<Store, Kept>()
  let count = 0
  const openIn = async (options: Kept, clock: Clock): Promise<Store> => {
    const store = await openEmbeddedStore({ ...options, clock, transformer: new TestTransformer(isSlow) })
    kept.set(store, options)
    return store
  }
  describeStore(isSlow ? 'embedded, encrypted, with keys elsewhere' : 'embedded, encrypted', {
    open: (clock, options) => openIn({ dir: join(base, `${isSlow}-${count++}`), ...options }, clock),
    async reopen(store, clock) {
      await store.close()
      return openIn(kept.get(store)!, clock)
    },
  })
}

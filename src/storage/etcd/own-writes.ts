/** Writes of this process that no watch has reported yet: what comes back need not be decoded, and is the very value that was written. */
import type { Revision } from '../store.ts'
import type { KeyValue } from './messages.ts'

/** A key with its value, and where and as what etcd holds them. */
type Written = { readonly key: string; readonly value: Uint8Array; readonly etcdKey: Buffer; readonly stored: Uint8Array }
export type OwnWrite = Written & { revision: Revision | undefined }

export class OwnWrites {
  /** Not a Map: its former entries survive until a full garbage collection, see CONTRIBUTING.md. */
  readonly #writes: OwnWrite[] = []

  /** Remembers a write that is about to be made. */
  begin({ key, value, etcdKey, stored }: Written): OwnWrite {
    const write = { key, value, etcdKey, stored, revision: undefined }
    this.#writes.push(write)
    return write
  }

  /** The write has been made, and a watch will report it; or neither. */
  end(write: OwnWrite, revision?: Revision): void {
    if (revision === undefined) this.#remove(write)
    else write.revision = revision
  }

  /** The object that was written as these bytes, by any writer. */
  find({ key, value }: KeyValue): Written | undefined {
    return this.#writes.find(({ etcdKey, stored }) => key.equals(etcdKey) && value.equals(stored))
  }

  /** Watches have reported everything up to a revision. */
  reported(revision: Revision): void {
    for (let i = this.#writes.length - 1; i >= 0; i--) {
      const { revision: written } = this.#writes[i]!
      if (written !== undefined && written <= revision) this.#writes.splice(i, 1)
    }
  }

  #remove(write: OwnWrite): void {
    const at = this.#writes.indexOf(write)
    if (at >= 0) this.#writes.splice(at, 1)
  }
}

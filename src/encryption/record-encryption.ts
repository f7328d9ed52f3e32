/** Encrypts the records of each resource as the configuration in force says. The configuration may be replaced while the server runs. */
import { whenDone } from '../lib/maybe-promise.ts'
import { type FromStorage, type RecordName, type RecordTransformer, TransformError } from '../storage/record-transformer.ts'
import { identity } from './identity.ts'
import type { TransformContext, Transformed, Transformer } from './transformer.ts'

/** Transformers by resource, as a configuration names resources. */
export type Transformers = ReadonlyMap<string, Transformer>

type Resolved = { readonly resource: string; readonly transformer: Transformer; readonly isConfigured: boolean }

export class RecordEncryption implements RecordTransformer {
  #transformers: Transformers
  readonly #fallback: Transformers
  /** The transformers of resources, by the beginning of their keys. */
  #resolved = new Map<string, Resolved>()

  /** Records that `transformers` cannot read are read with those of `fallback`. */
  constructor(transformers: Transformers = new Map(), fallback: Transformers = new Map()) {
    this.#transformers = transformers
    this.#fallback = fallback
  }

  /** Replaces the configuration: records are written by it from now on. */
  use(transformers: Transformers): void {
    this.#transformers = transformers
    this.#resolved = new Map()
  }

  toStorage({ key, place }: RecordName, value: Uint8Array): Uint8Array {
    const { resource, transformer } = this.#of(key)
    if (transformer === identity) return value
    try {
      return transformer.toStorage(value, { resource, place })
    } catch (error) {
      throw new TransformError((error as Error).message, { cause: error })
    }
  }

  fromStorage({ key, place }: RecordName, stored: Uint8Array): FromStorage | Promise<FromStorage> {
    const { resource, transformer } = this.#of(key)
    try {
      const transformed = transformer.fromStorage(stored, { resource, place })
      if (transformed instanceof Promise) return transformed.then(readable, unreadable)
      return readable(transformed)
    } catch (error) {
      return unreadable(error)
    }
  }

  mayBeStale(key: string): boolean {
    return this.#of(key).isConfigured
  }

  #of(key: string): Resolved {
    const prefix = key.slice(0, key.indexOf('/', key.indexOf('/', 1) + 1) + 1) || key
    let found = this.#resolved.get(prefix)
    if (!found) this.#resolved.set(prefix, (found = this.#resolve(key)))
    return found
  }

  #resolve(key: string): Resolved {
    const named = resourceOf(key)
    const name = named && (named.group === '' ? named.resource : `${named.resource}.${named.group}`)
    const configured =
      named && (this.#transformers.get(name!) ?? this.#transformers.get(`*.${named.group}`) ?? this.#transformers.get('*.*'))
    const fallback = name === undefined ? undefined : this.#fallback.get(name)
    const transformer = configured ?? identity
    return {
      resource: name ?? '',
      transformer: fallback ? new WithFallback(transformer, fallback) : transformer,
      isConfigured: (configured ?? fallback) !== undefined,
    }
  }
}

const readable = ({ data, isStale }: Transformed): FromStorage => ({ value: data, isStale })
/** kube-apiserver does not know the revision here, and says so. */
const unreadable = (error: unknown): FromStorage => ({
  fault: `data from the storage is not transformable revision=0: ${(error as Error).message}`,
})

/** Reads with a second transformer what the first cannot read. Such records are stale. */
class WithFallback implements Transformer {
  readonly #first: Transformer
  readonly #second: Transformer

  constructor(first: Transformer, second: Transformer) {
    this.#first = first
    this.#second = second
  }

  toStorage(data: Uint8Array, context: TransformContext): Uint8Array {
    return this.#first.toStorage(data, context)
  }

  fromStorage(data: Uint8Array, context: TransformContext): Transformed | Promise<Transformed> {
    try {
      const transformed = this.#first.fromStorage(data, context)
      return transformed instanceof Promise ? transformed.catch(error => this.#fallBack(data, context, error)) : transformed
    } catch (error) {
      return this.#fallBack(data, context, error)
    }
  }

  #fallBack(data: Uint8Array, context: TransformContext, error: unknown): Transformed | Promise<Transformed> {
    try {
      return whenDone(this.#second.fromStorage(data, context), ({ data }) => ({ data, isStale: true }))
    } catch {
      throw error
    }
  }
}

/** The resource of a key; undefined for records without an API, which kube-apiserver never encrypts, and for those of this server alone. */
function resourceOf(key: string): { readonly group: string; readonly resource: string } | undefined {
  const [, group = '', resource = ''] = key.split('/', 3)
  return NEVER.has(group) ? undefined : { group: group === 'core' ? '' : group, resource }
}
const NEVER: ReadonlySet<string> = new Set(['ranges', 'masterleases', 'peerserverleases', 'keelson', 'allocation'])

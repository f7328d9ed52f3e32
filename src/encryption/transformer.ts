/** One step of encryption, and the list of steps that a record is read with: each marks its records with a prefix. */

import { aggregate } from '../lib/go-text.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { TransformationMetrics } from './metrics.ts'

export type TransformContext = {
  /** The resource that the record is of, `secrets` or `deployments.apps`, for metrics. */
  readonly resource: string
  /** Authenticated with the record: the same when it is written and read. */
  readonly place: string
}

export type Transformed = {
  readonly data: Uint8Array
  /** Whether a write would store the record otherwise. */
  readonly isStale: boolean
}

/** Both throw an Error whose message is kube-apiserver's. */
export interface Transformer {
  toStorage(data: Uint8Array, context: TransformContext): Uint8Array
  fromStorage(data: Uint8Array, context: TransformContext): MaybePromise<Transformed>
}

/** A transformer whose records begin with a prefix, which it does not see itself. */
export type Prefixed = { readonly prefix: Buffer; readonly transformer: Transformer }

/**
 * Writes with the first of several transformers and reads with the first whose prefix matches and that succeeds. Records of any other
 * than the first are stale.
 */
export class PrefixTransformers implements Transformer {
  readonly #all: readonly Prefixed[]
  readonly #noMatch: string
  readonly #metrics: TransformationMetrics

  constructor(all: readonly Prefixed[], { noMatch, metrics }: { readonly noMatch: string; readonly metrics: TransformationMetrics }) {
    this.#all = all
    this.#noMatch = noMatch
    this.#metrics = metrics
  }

  toStorage(data: Uint8Array, context: TransformContext): Uint8Array {
    const began = performance.now()
    const { prefix, transformer } = this.#all[0]!
    const measured = { type: 'to_storage', prefix: prefix.toString(), resource: context.resource, began } as const
    try {
      const result = transformer.toStorage(data, context)
      this.#metrics.transformed(measured)
      return prefix.length === 0 ? result : Buffer.concat([prefix, result])
    } catch (error) {
      this.#metrics.transformed(measured, error)
      throw error
    }
  }

  fromStorage(data: Uint8Array, context: TransformContext): MaybePromise<Transformed> {
    return this.#fromStorage({ data, context, began: performance.now(), errors: [] }, 0)
  }

  #fromStorage(reading: Reading, first: number): MaybePromise<Transformed> {
    const { data, context } = reading
    for (let i = first; i < this.#all.length; i++) {
      const { prefix, transformer } = this.#all[i]!
      if (!startsWith(data, prefix)) continue
      try {
        const result = transformer.fromStorage(prefix.length === 0 ? data : data.subarray(prefix.length), context)
        if (!(result instanceof Promise)) return this.#done(reading, i, result)
        return result.then(
          transformed => this.#done(reading, i, transformed),
          error => {
            this.#failed(reading, i, error)
            return this.#fromStorage(reading, i + 1)
          },
        )
      } catch (error) {
        this.#failed(reading, i, error)
      }
    }
    if (reading.errors.length > 0) throw allOf(reading.errors)
    const error = new Error(this.#noMatch)
    this.#metrics.transformed({ type: 'from_storage', prefix: 'unknown', resource: context.resource, began: reading.began }, error)
    throw error
  }

  #done(reading: Reading, i: number, { data, isStale }: Transformed): Transformed {
    this.#record(reading, i)
    return { data, isStale: isStale || i !== 0 }
  }

  /** Identity, which has no prefix, refuses encrypted records: those are for the others. */
  #failed(reading: Reading, i: number, error: unknown): void {
    if (this.#all[i]!.prefix.length === 0) return
    this.#record(reading, i, error)
    reading.errors.push(error as Error)
  }

  #record({ context: { resource }, began }: Reading, i: number, error?: unknown): void {
    const prefix = this.#all[i]!.prefix.toString() || 'identity'
    this.#metrics.transformed({ type: 'from_storage', prefix, resource, began }, error)
  }
}

type Reading = {
  readonly data: Uint8Array
  readonly context: TransformContext
  readonly began: number
  /** Errors of the transformers that were tried. */
  readonly errors: Error[]
}

const allOf = (errors: readonly Error[]): Error =>
  errors.length === 1 ? errors[0]! : new Error(aggregate(errors.map(({ message }) => message)))

export function startsWith(data: Uint8Array, prefix: Uint8Array): boolean {
  if (data.length < prefix.length) return false
  for (let i = 0; i < prefix.length; i++) if (data[i] !== prefix[i]) return false
  return true
}

/** Metrics of encryption, under the names of kube-apiserver. */
import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { type Family, Histogram, type Labels } from '../lib/exposition.ts'
import { codeName, RpcError } from '../transport/grpc/status.ts'

export type Transformation = {
  readonly type: 'from_storage' | 'to_storage'
  readonly prefix: string
  readonly resource: string
  /** When it began, on the clock of `performance.now`. */
  readonly began: number
}

/** `count` bounds, each twice the one before. */
const doubling = (first: number, count: number): number[] => Array.from({ length: count }, (_, i) => first * 2 ** i)
const TRANSFORMATION_BOUNDS = doubling(5e-6, 25)
const GENERATION_BOUNDS = doubling(5e-6, 14)
const KMS_BOUNDS = doubling(1e-4, 20)
/** Key ids are chosen by plugins; as in kube-apiserver only so many of them have metrics. */
const MAX_KEY_IDS = 100

/** The label of an identity or a key id, which metrics do not show. */
export const hashLabel = (text: string): string => (text === '' ? '' : `sha256:${createHash('sha256').update(text).digest('hex')}`)
const SERVER = { apiserver_id_hash: hashLabel(hostname()) }

type Counted = { readonly labels: Labels; value: number }
type Used = { readonly labels: Labels; uses: number; seconds: number }

export class TransformationMetrics {
  readonly #operations = new Map<string, Counted>()
  readonly #durations = new Map<string, { readonly labels: Labels; readonly histogram: Histogram }>()
  readonly #kmsCalls = new Map<string, { readonly labels: Labels; readonly histogram: Histogram }>()
  readonly #generations = new Histogram(GENERATION_BOUNDS)
  readonly #keyIds = new Map<string, Used>()
  readonly #statusKeyIds = new Map<string, Used>()
  readonly #invalidKeyIds = new Map<string, Counted>()
  readonly #cacheSizes = new Map<string, number>()
  #cacheMisses = 0
  #cacheFill: number | undefined

  transformed({ type, prefix, resource, began }: Transformation, error?: unknown): void {
    const status = statusOf(error)
    const key = `${type} ${resource} ${status} ${prefix}`
    let counted = this.#operations.get(key)
    if (!counted) {
      counted = { labels: { resource, status, transformation_type: type, transformer_prefix: prefix }, value: 0 }
      this.#operations.set(key, counted)
    }
    counted.value++
    if (error === undefined)
      observe(this.#durations, { transformation_type: type, transformer_prefix: prefix }, TRANSFORMATION_BOUNDS, began)
  }

  keyGenerated(began: number): void {
    this.#generations.observe((performance.now() - began) / 1000)
  }

  cacheMissed(): void {
    this.#cacheMisses++
  }

  /** The part of the places for keys of version 1 that is taken. */
  cacheFilled(part: number): void {
    this.#cacheFill = part
  }

  called(provider: string, method: string, began: number, error?: unknown): void {
    const labels = { grpc_status_code: statusOf(error), method_name: method, provider_name: provider }
    observe(this.#kmsCalls, labels, KMS_BOUNDS, began)
  }

  usedKeyId(type: Transformation['type'], provider: string, keyId: string): void {
    use(this.#keyIds, { ...SERVER, key_id_hash: hashLabel(keyId), provider_name: provider, transformation_type: type })
  }

  statusKeyId(provider: string, keyId: string): void {
    use(this.#statusKeyIds, { ...SERVER, key_id_hash: hashLabel(keyId), provider_name: provider })
  }

  invalidKeyId(provider: string, error: 'empty' | 'too_long'): void {
    const key = `${provider} ${error}`
    const counted = this.#invalidKeyIds.get(key) ?? { labels: { error, provider_name: provider }, value: 0 }
    counted.value++
    this.#invalidKeyIds.set(key, counted)
  }

  cacheSize(provider: string, size: number): void {
    this.#cacheSizes.set(provider, size)
  }

  families(): Family[] {
    const counts = (all: Iterable<Counted>) => Array.from(all, ({ labels, value }) => [labels, value] as const)
    const histograms = (all: Iterable<{ readonly labels: Labels; readonly histogram: Histogram }>) =>
      Array.from(all, ({ labels, histogram }) => [labels, histogram] as const)
    const families: Family[] = [
      {
        name: 'apiserver_storage_transformation_duration_seconds',
        type: 'histogram',
        help: 'Time that successful transformations of records have taken.',
        samples: histograms(this.#durations.values()),
      },
      {
        name: 'apiserver_storage_transformation_operations_total',
        type: 'counter',
        help: 'Transformations of records by resource, direction, prefix and outcome, which is OK or a code.',
        samples: counts(this.#operations.values()),
      },
      {
        name: 'apiserver_storage_envelope_transformation_cache_misses_total',
        type: 'counter',
        help: 'Keys of records that a KMS plugin had to be asked for.',
        samples: [[{}, this.#cacheMisses]],
      },
      {
        name: 'apiserver_storage_data_key_generation_duration_seconds',
        type: 'histogram',
        help: 'Time that the generation of keys for records has taken.',
        samples: [[{}, this.#generations]],
      },
      {
        name: 'apiserver_storage_data_key_generation_failures_total',
        type: 'counter',
        help: 'Keys for records that could not be generated.',
        samples: [[{}, 0]],
      },
      {
        name: 'apiserver_envelope_encryption_kms_operations_latency_seconds',
        type: 'histogram',
        help: 'Time that calls of KMS plugins have taken, by their gRPC status.',
        samples: histograms(this.#kmsCalls.values()),
      },
      {
        name: 'apiserver_envelope_encryption_key_id_hash_total',
        type: 'counter',
        help: 'Uses of a key id, by direction.',
        samples: Array.from(this.#keyIds.values(), ({ labels, uses }) => [labels, uses] as const),
      },
      {
        name: 'apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds',
        type: 'gauge',
        help: 'When a key id was last used.',
        samples: Array.from(this.#keyIds.values(), ({ labels, seconds }) => [labels, seconds] as const),
      },
      {
        name: 'apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds',
        type: 'gauge',
        help: 'When a KMS plugin last reported a key id.',
        samples: Array.from(this.#statusKeyIds.values(), ({ labels, seconds }) => [labels, seconds] as const),
      },
      {
        name: 'apiserver_envelope_encryption_invalid_key_id_from_status_total',
        type: 'counter',
        help: 'Invalid key ids that KMS plugins have reported.',
        samples: counts(this.#invalidKeyIds.values()),
      },
      {
        name: 'apiserver_envelope_encryption_dek_source_cache_size',
        type: 'gauge',
        help: 'Keys of records that are known without a KMS plugin.',
        samples: Array.from(this.#cacheSizes, ([provider, size]) => [{ provider_name: provider }, size] as const),
      },
      {
        name: 'apiserver_envelope_encryption_dek_cache_fill_percent',
        type: 'gauge',
        help: 'The part of the places for keys of KMS v1 that is taken.',
        samples: this.#cacheFill === undefined ? [] : [[{}, this.#cacheFill]],
      },
    ]
    return families.filter(({ samples }) => samples.length > 0)
  }
}

function observe(
  all: Map<string, { readonly labels: Labels; readonly histogram: Histogram }>,
  labels: Labels,
  bounds: readonly number[],
  began: number,
): void {
  const key = Object.values(labels).join(' ')
  let found = all.get(key)
  if (!found) all.set(key, (found = { labels, histogram: new Histogram(bounds) }))
  found.histogram.observe((performance.now() - began) / 1000)
}

/** Counts a use, and forgets the key id that was used least recently when there are too many. */
function use(all: Map<string, Used>, labels: Labels): void {
  const key = Object.values(labels).join(' ')
  const used = all.get(key) ?? { labels, uses: 0, seconds: 0 }
  used.uses++
  used.seconds = Date.now() / 1000
  all.delete(key)
  all.set(key, used)
  if (all.size > MAX_KEY_IDS) for (const [eldest] of all) return void all.delete(eldest)
}

/** The status of gRPC, also of an error that one caused. */
function statusOf(error: unknown): string {
  if (error === undefined) return 'OK'
  for (let each: unknown = error; each instanceof Error; each = each.cause) if (each instanceof RpcError) return codeName(each.code)
  return 'unknown-non-grpc'
}

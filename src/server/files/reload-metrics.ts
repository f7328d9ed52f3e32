/** Metrics of configuration reloads under the names of kube-apiserver: count, time, and the configuration in use. */
import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import type { Family, Labels } from '../../lib/exposition.ts'

export type ReloadStatus = 'success' | 'failure'
type Reloads = { readonly labels: Labels; count: number; seconds: number }

/** Distinguishes several servers by a hash of their host name, as kube-apiserver does. */
export const SERVER = { apiserver_id_hash: hashOf(hostname()) }

export class ReloadMetrics {
  readonly #prefix: string
  readonly #what: string
  readonly #reloads = new Map<string, Reloads>()
  readonly #inUse = new Map<string, Labels>()

  constructor(name: string, what: string) {
    this.#prefix = `apiserver_${name}_config_controller`
    this.#what = what
  }

  /** Counts a reload; `about` distinguishes configurations that are read separately. */
  reloaded(status: ReloadStatus, seconds: number, about: Labels = {}): void {
    const labels = { ...SERVER, ...about, status }
    const key = JSON.stringify(labels)
    const known = this.#reloads.get(key) ?? { labels, count: 0, seconds }
    known.count++
    known.seconds = seconds
    this.#reloads.set(key, known)
  }

  /** Sets the configuration in use. */
  uses(text: string, about: Labels = {}): void {
    this.#inUse.set(JSON.stringify(about), { ...SERVER, hash: hashOf(text), ...about })
  }

  /** Families with any samples. */
  families(): Family[] {
    const reloads = [...this.#reloads.values()]
    const families: Family[] = [
      {
        name: `${this.#prefix}_automatic_reloads_total`,
        help: `How often ${this.#what} was read again, by status.`,
        type: 'counter',
        samples: reloads.map(({ labels, count }) => [labels, count] as const),
      },
      {
        name: `${this.#prefix}_automatic_reload_last_timestamp_seconds`,
        help: `When ${this.#what} was last read again, by status.`,
        type: 'gauge',
        samples: reloads.map(({ labels, seconds }) => [labels, seconds] as const),
      },
      {
        name: `${this.#prefix}_last_config_info`,
        help: `That ${this.#what} is in use, with its hash.`,
        type: 'gauge',
        samples: [...this.#inUse.values()].map(labels => [labels, 1] as const),
      },
    ]
    return families.filter(({ samples }) => samples.length > 0)
  }
}

/** The label of a text that metrics do not show. */
export function hashOf(text: string): string {
  return text === '' ? '' : `sha256:${createHash('sha256').update(text).digest('hex')}`
}

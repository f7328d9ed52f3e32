/** How often configuration was read again, when, and which is in use: counted under the names of kube-apiserver. */
import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import type { Family, Labels } from '../../lib/exposition.ts'

export type ReloadStatus = 'success' | 'failure'
type Reloads = { readonly labels: Labels; count: number; seconds: number }

/** Which of several servers it was: by the name of its machine, as kube-apiserver tells them apart. */
const SERVER = { apiserver_id_hash: hashOf(hostname()) }

export class ReloadMetrics {
  readonly #prefix: string
  readonly #what: string
  readonly #reloads = new Map<string, Reloads>()
  readonly #inUse = new Map<string, Labels>()

  constructor(name: string, what: string) {
    this.#prefix = `apiserver_${name}_config_controller`
    this.#what = what
  }

  /** That it was read again; `about` tells apart what is read by itself. */
  reloaded(status: ReloadStatus, seconds: number, about: Labels = {}): void {
    const labels = { ...SERVER, ...about, status }
    const key = JSON.stringify(labels)
    const known = this.#reloads.get(key) ?? { labels, count: 0, seconds }
    known.count++
    known.seconds = seconds
    this.#reloads.set(key, known)
  }

  /** Which configuration is in use from now on. */
  uses(text: string, about: Labels = {}): void {
    this.#inUse.set(JSON.stringify(about), { ...SERVER, hash: hashOf(text), ...about })
  }

  /** Only those that have anything to tell. */
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

function hashOf(text: string): string {
  return text === '' ? '' : `sha256:${createHash('sha256').update(text).digest('hex')}`
}

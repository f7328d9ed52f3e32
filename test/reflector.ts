/** A cache kept by watch-list: one watch that begins with the objects and continues with the changes, as newer informers do. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type KubeConfig, type V1ConfigMap, Watch } from '@kubernetes/client-node'

const RETRY_MS = 50

export class Reflector {
  /** The number of starts, the first included. */
  beginnings = 0
  readonly #watch: Watch
  readonly #path: string
  readonly #stop = new AbortController()
  #resume: (() => void) | undefined
  #paused: Promise<void> = Promise.resolve()
  #isPaused = false
  #objects = new Map<string, V1ConfigMap>()
  /** The initial objects, until they are complete. */
  #initial: Map<string, V1ConfigMap> | undefined
  #revision: string | undefined
  #current: AbortController | undefined

  constructor(config: KubeConfig, path: string) {
    this.#watch = new Watch(config)
    this.#path = path
  }

  list(): V1ConfigMap[] {
    return [...this.#objects.values()]
  }

  /** Follows until stopped. */
  async run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#paused
      await this.#watchOnce()
      await sleep(RETRY_MS, undefined, { signal: this.#stop.signal }).catch(() => {})
    }
  }

  stop(): void {
    this.#stop.abort()
    this.resume()
    this.#current?.abort()
  }

  /** Disconnects until `resume`. */
  pause(): void {
    this.#isPaused = true
    this.#paused = new Promise(resolve => (this.#resume = resolve))
    this.#current?.abort()
  }

  resume(): void {
    this.#isPaused = false
    this.#resume?.()
  }

  async #watchOnce(): Promise<void> {
    const begins = this.#revision === undefined
    this.#initial = begins ? new Map() : undefined
    if (begins) this.beginnings++
    const query = {
      allowWatchBookmarks: true,
      ...(begins ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } : { resourceVersion: this.#revision! }),
    }
    await new Promise<void>(resolve => {
      const done = () => resolve()
      this.#watch
        .watch(this.#path, query, (type, object) => this.#take(type, object), done)
        .then(opened => {
          this.#current = opened
          if (this.#stop.signal.aborted || this.#isPaused) opened.abort()
        }, done)
    })
  }

  #take(type: string, object: V1ConfigMap): void {
    if (type === 'ERROR') {
      this.#revision = undefined
      return
    }
    const { name = '', resourceVersion = '', annotations = {} } = object.metadata ?? {}
    if (type === 'BOOKMARK') {
      if (annotations['k8s.io/initial-events-end'] === 'true' && this.#initial) {
        this.#objects = this.#initial
        this.#initial = undefined
      }
    } else if (type === 'DELETED') (this.#initial ?? this.#objects).delete(name)
    else (this.#initial ?? this.#objects).set(name, object)
    // Until the initial objects are complete, there is no revision to resume from.
    if (!this.#initial) this.#revision = resourceVersion
  }
}

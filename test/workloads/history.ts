/** All changes of some resources of a server, in the order of its revisions, across restarts. */

import type { Scope, Target } from '../kit.ts'
import { type WatchEvent, Watching } from '../kit.ts'

export type Step = { readonly revision: number; readonly resource: string; readonly type: 'set' | 'deleted'; readonly object: any }

export const RESOURCES = {
  pods: '/api/v1/pods',
  nodes: '/api/v1/nodes',
  deployments: '/apis/apps/v1/deployments',
  replicasets: '/apis/apps/v1/replicasets',
  statefulsets: '/apis/apps/v1/statefulsets',
  daemonsets: '/apis/apps/v1/daemonsets',
  jobs: '/apis/batch/v1/jobs',
  poddisruptionbudgets: '/apis/policy/v1/poddisruptionbudgets',
} as const
export type ResourceName = keyof typeof RESOURCES

/** Watches all of them from the beginning, and resumes after each restart. */
export class History {
  readonly #steps: Step[] = []
  readonly #seen = new Map<ResourceName, string>()
  readonly #scope: Scope
  #open: Watching[] = []

  constructor(scope: Scope) {
    this.#scope = scope
  }

  async follow(target: Pick<Target, 'url' | 'credentials'>): Promise<void> {
    for (const watch of this.#open) watch.close()
    this.#open = await Promise.all(
      (Object.keys(RESOURCES) as ResourceName[]).map(async name => {
        const since = this.#seen.get(name)
        const query = `?watch=true&allowWatchBookmarks=true${since ? `&resourceVersion=${since}` : ''}`
        const watch = await Watching.open(this.#scope, target, RESOURCES[name] + query)
        this.#record(name, watch)
        return watch
      }),
    )
  }

  async #record(name: ResourceName, watch: Watching): Promise<void> {
    for (let event: WatchEvent | undefined; (event = await watch.next()); ) {
      const { type, object } = event
      if (type === 'ERROR') throw new Error(`the watch of ${name} failed: ${JSON.stringify(object)}`)
      this.#seen.set(name, object.metadata.resourceVersion)
      if (type === 'BOOKMARK') continue
      this.#steps.push({
        revision: Number(object.metadata.resourceVersion),
        resource: name,
        type: type === 'DELETED' ? 'deleted' : 'set',
        object,
      })
    }
  }

  /** The changes so far, in order. */
  steps(): Step[] {
    return [...this.#steps].sort((a, b) => a.revision - b.revision)
  }
}

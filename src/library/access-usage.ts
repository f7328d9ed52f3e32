/** Counts which permissions each user needed and which were refused, for a report after a run of tests. */
import type { AccessUse, RecordedRequest } from '../public.d.ts'

/** Different uses that are counted; a run of tests has some hundred. */
const MAX_USES = 20_000
/** Names of objects that are kept for a use. */
const MAX_NAMES = 50

type Counted = Omit<AccessUse, 'names' | 'allowed' | 'refused'> & { readonly names: Set<string>; allowed: number; refused: number }

export class AccessUsage {
  #uses = new Map<string, Counted>()
  #isComplete = true

  clear(): void {
    this.#uses = new Map()
    this.#isComplete = true
  }

  /** Whether nothing had to be left out. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  note(request: RecordedRequest, { groups, isForbidden }: { readonly groups: readonly string[]; readonly isForbidden: boolean }): void {
    const { user, verb, group, resource, subresource, namespace, name } = request
    const path = resource === '' ? (request.path.split('?')[0] ?? '') : ''
    const key = JSON.stringify([user, verb, group, resource, subresource, namespace, path])
    let use = this.#uses.get(key)
    if (!use) {
      if (this.#uses.size >= MAX_USES) {
        this.#isComplete = false
        return
      }
      use = { user, groups, verb, group, resource, subresource, namespace, path, names: new Set(), allowed: 0, refused: 0 }
      this.#uses.set(key, use)
    }
    if (name !== '' && use.names.size < MAX_NAMES) use.names.add(name)
    if (isForbidden) use.refused++
    else use.allowed++
  }

  report(): AccessUse[] {
    return [...this.#uses.values()].map(use => ({ ...use, names: [...use.names].sort() }))
  }
}

/** Counts the watches that a write concerns, as kube-apiserver does: by group, resource, namespace and name. */
import type { Attributes } from '../../schema/access.ts'

type Watched = { inAll: number; readonly inNamespaces: Map<string, number>; readonly byName: Map<string, number> }

export class WatchTracker {
  readonly #watched = new Map<string, Watched>()

  /** Counts a watch, until the function that is returned is called. A watch of one value of the `dividing` field is not counted. */
  register({ resource }: Attributes, dividing?: string): () => void {
    if (!resource || (dividing !== undefined && isOfOneValue(resource, dividing))) return NOTHING
    const { group, plural, namespace, name } = resource
    this.#add(`${group}/${plural}`, namespace, name, 1)
    return () => this.#add(`${group}/${plural}`, namespace, name, -1)
  }

  /** How many watches a write concerns: of the whole resource, of its namespace, and of the object alone. */
  concernedBy({ resource }: Attributes): number {
    if (!resource || this.#watched.size === 0) return 0
    const { group, plural, namespace, name } = resource
    const watched = this.#watched.get(`${group}/${plural}`)
    if (!watched) return 0
    const inNamespace = namespace === '' ? 0 : (watched.inNamespaces.get(namespace) ?? 0)
    return watched.inAll + inNamespace + (name === '' ? 0 : (watched.byName.get(`${namespace}/${name}`) ?? 0))
  }

  #add(key: string, namespace: string, name: string, change: 1 | -1): void {
    let watched = this.#watched.get(key)
    if (!watched) this.#watched.set(key, (watched = { inAll: 0, inNamespaces: new Map(), byName: new Map() }))
    if (name !== '') count(watched.byName, `${namespace}/${name}`, change)
    else if (namespace !== '') count(watched.inNamespaces, namespace, change)
    else watched.inAll += change
    if (watched.inAll === 0 && watched.inNamespaces.size === 0 && watched.byName.size === 0) this.#watched.delete(key)
  }
}

const NOTHING = () => {}

function count(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const left = (counts.get(key) ?? 0) + change
  if (left > 0) counts.set(key, left)
  else counts.delete(key)
}

/** Whether a watch selects one value of a field; no value at all counts as every one. */
function isOfOneValue({ fieldSelector }: NonNullable<Attributes['resource']>, field: string): boolean {
  if (typeof fieldSelector !== 'string') return false
  const term = fieldSelector.split(',').find(each => each.startsWith(`${field}=`))
  return term !== undefined && term.slice(field.length).replace(/^==?/, '') !== ''
}

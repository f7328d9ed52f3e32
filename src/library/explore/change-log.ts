/** Names the changes of objects so that the same change is found again in another run, whatever its revision and the time. */
import { createHash } from 'node:crypto'
import type { Change } from '../../client/change.ts'
import type { Client } from '../../client/client.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import { masked } from './masked-values.ts'
import { type ChangePoint, changeKey } from './perturbation.ts'

export type LoggedChange = ChangePoint & {
  readonly revision: number
  /** The kind of the object, for messages. */
  readonly kind: string
  /** The content before and after: `absent`, `marked` for deletion, or a hash. */
  readonly before: string
  readonly after: string
}

/** Follows all objects of a server from a moment on. */
export class ChangeLog {
  readonly changes: LoggedChange[] = []
  /** How many changes there were, of the status as well. */
  count = 0
  /** The content of each object, by its key. */
  readonly #contents = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  readonly #generated = new GeneratedNames()

  follow(client: Client, signal: AbortSignal): void {
    for (const resource of client.resources())
      for (const object of client.of(resource).list()) this.#contents.set(objectKey(resource, object), contentOf(object))
    client.watchAll({ changed: (resource, change) => this.#take(resource, change), joined: () => {} }, signal)
  }

  get names(): GeneratedNames {
    return this.#generated
  }

  /** The last change up to a revision of one object that has this name; undefined if it has not happened. */
  find(point: ChangePoint): LoggedChange | undefined {
    const wanted = changeKey(point)
    return this.changes.find(change => changeKey(change) === wanted)
  }

  #take(resource: Resource, { type, current, previous }: Change): void {
    const object = current.object ?? previous?.object
    if (!object || isNoise(resource)) return
    this.count++
    const key = objectKey(resource, object)
    const before = this.#contents.get(key) ?? 'absent'
    const after = type === 'deleted' ? 'absent' : contentOf(object)
    if (before === after) return
    if (after === 'absent') this.#contents.delete(key)
    else this.#contents.set(key, after)
    const { namespace, name } = { namespace: current.namespace, name: this.#generated.patternOf(object) }
    const change = after === 'absent' ? 'deleted' : before === 'absent' ? 'added' : after
    const counted = `${resource.qualified} ${namespace} ${name} ${change}`
    const ordinal = (this.#counts.get(counted) ?? 0) + 1
    this.#counts.set(counted, ordinal)
    const { qualified, kind } = resource
    this.changes.push({ resource: qualified, kind, namespace, name, change, ordinal, revision: current.revision, before, after })
  }
}

/** Objects that come and go without a meaning of their own: events, and leases, which are renewed all the time. */
export const isNoise = ({ def, qualified }: Resource): boolean => def.ttlSeconds !== undefined || isNoisy(qualified)
export const isNoisy = (qualified: string): boolean => /^(leases\.coordination|events\.events)\.|^events$/.test(qualified)

const objectKey = ({ prefix }: Resource, { metadata }: AnyObject): string => `${prefix} ${metadata.namespace ?? ''}/${metadata.name}`

/** The desired state of an object: its status and the bookkeeping of the API do not count. */
function contentOf(object: AnyObject): string {
  const { metadata, status: _, ...rest } = object as AnyObject & { readonly status?: unknown }
  if (metadata.deletionTimestamp !== undefined) return 'marked'
  const { labels, annotations } = metadata
  return createHash('sha256')
    .update(JSON.stringify(masked({ labels, annotations, ...rest })))
    .digest('hex')
    .slice(0, HASH_DIGITS)
}
const HASH_DIGITS = 8

/** Names that the API has generated, which differ from run to run: they are known by their prefix. */
export class GeneratedNames {
  readonly #patterns = new Map<string, string>()

  /** The name of an object, or its prefix and a star. */
  patternOf({ metadata: { name = '', generateName = '' } }: AnyObject): string {
    if (generateName === '' || !name.startsWith(generateName)) return name
    this.#patterns.set(name, `${generateName}*`)
    return `${generateName}*`
  }

  /** The pattern of a name that an object had. */
  known(name: string): string {
    return this.#patterns.get(name) ?? name
  }
}

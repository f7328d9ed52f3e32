/**
 * Files that the commands of containers have left in directories of their node (hostPath), for pods that start later. They are kept in
 * memory; a server that starts again has none of them. A pod always sees the files that were there when its first command ran, so that
 * a command that runs again has the same result.
 */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { LIMITS } from '../../lib/limits.ts'
import { startsEmpty } from './files.ts'

/** Contents by the path on the node; null where a file is gone. */
export type HostChanges = ReadonlyMap<string, string | null>
type Contents = ReadonlyMap<string, string>

export class HostFiles {
  readonly #nodes = new Map<string, Map<string, string>>()
  readonly #seen = new Map<string, Contents>()

  /** Undefined for a pod that mounts no such directory. */
  seenBy({ metadata: { uid = '' }, spec }: Pod): Contents | undefined {
    if (!spec.volumes?.some(startsEmpty)) return undefined
    const seen = this.#seen.get(uid) ?? new Map(this.#nodes.get(spec.nodeName ?? ''))
    this.#seen.set(uid, seen)
    return seen
  }

  /** The eldest files of a node go when there are too many. */
  change(node: string, changes: HostChanges): void {
    const files = this.#nodes.get(node) ?? new Map<string, string>()
    this.#nodes.set(node, files)
    for (const [path, text] of changes) {
      files.delete(path)
      if (text !== null) files.set(path, text)
    }
    let size = 0
    for (const [path, text] of files) size += path.length + text.length
    for (const [path, text] of files) {
      if (files.size <= LIMITS.changedFiles && size <= LIMITS.changedFileBytes) break
      files.delete(path)
      size -= path.length + text.length
    }
  }

  forget(uid: string): void {
    this.#seen.delete(uid)
  }
}

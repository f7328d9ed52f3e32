/** The inputs that a container gets from its pod, computed on demand: environment variables, files of volumes, names and users. */
import type { Budget } from './budget.ts'
import type { Identity } from './identity.ts'

export type ContainerInputs = {
  readonly variables: () => ReadonlyMap<string, string>
  /** The file or directory at an absolute path. */
  readonly file: (path: string) => FileFound
  readonly identity?: () => Identity
  /** The names in a directory; undefined when they are unknown. */
  readonly list?: (path: string) => readonly string[] | undefined
  /** Whether a path is on a read-only file system. */
  readonly isReadOnly?: (path: string) => boolean
  /** Whether a path is in a directory that starts empty, is kept between runs, and belongs to this container alone. */
  readonly isOwn?: (path: string) => boolean
}

export type File = {
  /** A text of bytes; undefined when it is unknown. */
  readonly content: string | undefined
  readonly mode: number
  /** The owner; root by default. */
  readonly owner?: number
  readonly group: number
  readonly isDirectory?: true
  readonly fileSystem?: string
}

/** `unknown` where the content comes from the image or from programs. */
export type FileFound = File | 'missing' | 'unknown'

/** Caches lookups and charges a budget for them: a lookup costs as much as it has to search. */
export function paidInputs(inputs: ContainerInputs, budget: Budget, lookupCost: number): ContainerInputs {
  const paying =
    <R>(look: (path: string) => R) =>
    (path: string): R => {
      budget.spend('bytes', lookupCost)
      return look(path)
    }
  const { isReadOnly, isOwn, identity, list } = inputs
  return {
    variables: once(() => {
      const variables = inputs.variables()
      for (const [name, value] of variables) budget.spend('bytes', name.length + value.length)
      return variables
    }),
    file: remembering(path => {
      const found = paying(inputs.file)(path)
      if (typeof found === 'object') budget.spend('bytes', found.content?.length ?? 0)
      return found
    }),
    ...(identity && { identity: once(identity) }),
    ...(list && { list: remembering(paying(list)) }),
    ...(isReadOnly && { isReadOnly: remembering(paying(isReadOnly)) }),
    ...(isOwn && { isOwn: remembering(paying(isOwn)) }),
  }
}

function once<R>(make: () => R): () => R {
  let made: { readonly value: R } | undefined
  return () => (made ??= { value: make() }).value
}

function remembering<R>(look: (path: string) => R): (path: string) => R {
  const known = new Map<string, R>()
  return path => {
    if (!known.has(path)) known.set(path, look(path))
    return known.get(path)!
  }
}

export const NO_INPUTS: ContainerInputs = { variables: () => new Map(), file: () => 'unknown' }

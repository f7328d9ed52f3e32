/** What a container gets from its pod, made when it is asked for: environment variables, files of volumes, names and users. */
import type { Budget } from './budget.ts'
import type { Identity } from './identity.ts'

export type ContainerInputs = {
  readonly variables: () => ReadonlyMap<string, string>
  /** What is at an absolute path. */
  readonly file: (path: string) => FileFound
  readonly identity?: () => Identity
  /** Whether nothing can be written to a path. */
  readonly isReadOnly?: (path: string) => boolean
  /** Whether a path is in a directory that is empty before the first run, is kept for further ones, and that no other container has. */
  readonly isOwn?: (path: string) => boolean
}

export type File = {
  /** Undefined when nobody knows it. */
  readonly content: string | undefined
  readonly mode: number
  /** The user that owns it; root where nothing is said. */
  readonly owner?: number
  readonly group: number
  readonly isDirectory?: true
  readonly fileSystem?: string
}

/** `unknown` where what is there comes from elsewhere: from the image, or from what programs write. */
export type FileFound = File | 'missing' | 'unknown'

/** The same, each looked for once; what is found is paid for. A lookup costs as much as there is to look through. */
export function paidInputs(inputs: ContainerInputs, budget: Budget, lookupCost: number): ContainerInputs {
  const paying =
    <R>(look: (path: string) => R) =>
    (path: string): R => {
      budget.spend('bytes', lookupCost)
      return look(path)
    }
  const { isReadOnly, isOwn, identity } = inputs
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

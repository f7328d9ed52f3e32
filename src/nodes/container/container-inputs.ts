/** What a container gets from its pod, made when it is asked for: environment variables, files of volumes, names and users. */
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

export const NO_INPUTS: ContainerInputs = { variables: () => new Map(), file: () => 'unknown' }

/** What a container gets from its pod: environment variables and the files of its volumes. Both are made when they are asked for. */
export type ContainerInputs = {
  readonly variables: () => ReadonlyMap<string, string>
  /** What is at an absolute path. */
  readonly file: (path: string) => FileFound
}

export type File = {
  /** Undefined when nobody knows it. */
  readonly content: string | undefined
  readonly mode: number
  readonly group: number
  readonly isDirectory?: true
  readonly fileSystem?: string
}

/** `unknown` where what is there comes from elsewhere: from the image, or from what programs write. */
export type FileFound = File | 'missing' | 'unknown'

export const NO_INPUTS: ContainerInputs = { variables: () => new Map(), file: () => 'unknown' }

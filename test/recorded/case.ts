/** Recorded cases: requests to a real kube-apiserver with its answers. README.md describes the format. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Steps that build on each other. */
export type Case = { readonly file: string; readonly name: string; readonly steps: readonly Step[] }

export type Step = {
  /** Default: GET. */
  readonly method?: string
  /** May use `${name}` for a value that an earlier step saved; so may the body. */
  readonly path: string
  /** null leaves out a header that every request has. */
  readonly headers?: Readonly<Record<string, string | null>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent unchanged. */
  readonly raw?: string
  /** Media type of the body, if not JSON. */
  readonly type?: string
  /** Values of the response for later steps, by path. */
  readonly save?: Readonly<Record<string, string>>
  /** The response is a stream of events. */
  readonly watch?: boolean
  /** Bookmarks count, too. */
  readonly bookmarks?: boolean
  /** Paths of the body that are compared, and no others. */
  readonly pick?: readonly string[]
  /** Paths of the body that are not compared. */
  readonly ignore?: readonly string[]
  /** false: a body that is not JSON is not compared. */
  readonly text?: boolean
  /** false: the response is not compared. */
  readonly check?: boolean
  readonly expect?: Outcome
}

/** The compared part of a response, with placeholders for values that differ between servers. */
export type Outcome = {
  readonly code: number
  readonly type?: string
  readonly warnings?: readonly string[]
  readonly body?: unknown
  readonly events?: readonly unknown[]
}

/** A difference in messages that is known and explained. */
export type AllowedWording = {
  /** A regular expression: messages are equal if they are equal after removing its matches. */
  readonly pattern: string
  readonly why: string
}

const FOLDER = dirname(fileURLToPath(import.meta.url))

/** Every recorded case whose file and name contain a string. */
export function readCases(only = ''): Case[] {
  const folder = join(FOLDER, 'cases')
  return readdirSync(folder)
    .sort()
    .flatMap(file => {
      const { cases }: { cases: Omit<Case, 'file'>[] } = JSON.parse(readFileSync(join(folder, file), 'utf8'))
      return cases.map(one => ({ ...one, file }))
    })
    .filter(({ file, name }) => `${file} ${name}`.includes(only))
}

export const readAllowedWording = (): AllowedWording[] => JSON.parse(readFileSync(join(FOLDER, 'allowed-wording.json'), 'utf8'))

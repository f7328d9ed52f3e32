/** What a run of a container does, as far as its command tells. */
export type Understood = {
  readonly runMs: number
  readonly exitCode: number
  /** What it prints, and what it writes to the file for its last words. */
  readonly log: string
  readonly lastWords: string
  /** When it makes files, after its start. */
  readonly writtenMs?: ReadonlyMap<string, number>
  /** When it removes files for good, and from when on what asks for its health is told that it is ill; after its start. */
  readonly removedMs?: ReadonlyMap<string, number>
  readonly unhealthyMs?: number
  /** The files that it leaves behind for its next run. */
  readonly left?: ReadonlyMap<string, string>
  /** The ports at which it answers; undefined when they are not known. */
  readonly ports?: readonly number[]
}

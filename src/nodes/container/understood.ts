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
  /** Why it failed, where it did more than it may. */
  readonly exceeded?: string
  /** The ports at which it answers; undefined when they are not known. */
  readonly ports?: readonly number[]
}

/** A run that did more than it may: the container cannot run, and its log says why. */
export const exceededRun = (message: string): Understood => ({
  runMs: 0,
  exitCode: CANNOT_RUN,
  log: `${message}\n`,
  lastWords: '',
  exceeded: message,
})

/** The exit code of a container whose command cannot be run, as container runtimes have it. */
const CANNOT_RUN = 128

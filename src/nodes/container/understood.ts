/** The result of a run of a container, as far as its command is understood. */
export type Understood = {
  readonly runMs: number
  readonly exitCode: number
  /** Its output, and the content of its termination log. */
  readonly log: string
  readonly lastWords: string
  /** Times after the start at which it creates files. */
  readonly writtenMs?: ReadonlyMap<string, number>
  /** Times after the start at which it removes files for good, and at which it begins to report itself as unhealthy. */
  readonly removedMs?: ReadonlyMap<string, number>
  readonly unhealthyMs?: number
  /** The files that it leaves for its next run. */
  readonly left?: ReadonlyMap<string, string>
  /** The message about the limit that it exceeded. */
  readonly exceeded?: string
  /** The ports that it listens on; undefined when they are unknown. */
  readonly ports?: readonly number[]
}

/** A run that exceeded a limit: the container cannot run, and its log says why. */
export const exceededRun = (message: string): Understood => ({
  runMs: 0,
  exitCode: CANNOT_RUN,
  log: `${message}\n`,
  lastWords: '',
  exceeded: message,
})

/** The exit code that container runtimes give when a command cannot be run. */
const CANNOT_RUN = 128

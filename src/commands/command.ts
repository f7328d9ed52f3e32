/** The type of a command. */
import type { ChildProcess } from 'node:child_process'

/**
 * A command: runs with its arguments and resolves with the exit code. Throws ConfigError or StoreUnavailable, whose messages tell the user
 * what to do. `early` is the first process of `serve --processes`, if it was started before the command was loaded.
 */
export type Command = (args: readonly string[], early?: ChildProcess) => Promise<number>

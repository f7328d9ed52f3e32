/** The type of a command. */
import type { ChildProcess } from 'node:child_process'

/**
 * A command: runs with its arguments and resolves with the exit code. Throws ConfigError or StoreUnavailable, whose messages tell the user
 * what to do. `early` are the processes of `serve --processes` that were started before the command was loaded.
 */
export type Command = (args: readonly string[], early?: readonly ChildProcess[]) => Promise<number>

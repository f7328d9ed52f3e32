/**
 * A command: runs with its arguments and resolves with the exit code. Throws ConfigError or StoreUnavailable, whose messages tell the user
 * what to do.
 */
export type Command = (args: readonly string[]) => Promise<number>

/** Does what its arguments say; resolves with the exit code. Throws ConfigError or StoreUnavailable with what the user can do. */
export type Command = (args: readonly string[]) => Promise<number>

/** An invalid command line: nothing was done, and the command exits with 2, as is usual. */
import { ConfigError } from '../server/config.ts'

export class UsageError extends ConfigError {}

/** `unknown command serv; did you mean serve? See keelson help`. */
export const unknownText = (unknown: string, near: string | undefined, help: string): string =>
  near === undefined ? `${unknown}; see ${help}` : `${unknown}; did you mean ${near}? See ${help}`

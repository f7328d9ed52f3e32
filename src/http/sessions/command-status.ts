/** The end of a command as clients are told it: a Status in JSON, or in older protocols the text of a failure. */
import type { CommandEnd } from '../../registry/session.ts'

export function statusText(end: CommandEnd): string {
  if ('failure' in end) return internalFailure(`error executing command in container: ${end.failure}`)
  if (end.exitCode === 0) return JSON.stringify({ metadata: {}, status: 'Success' })
  return JSON.stringify({
    metadata: {},
    status: 'Failure',
    message: exitMessage(end),
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(end.exitCode) }] },
  })
}

/** Undefined for success. */
export function plainStatusText(end: CommandEnd): string | undefined {
  if ('failure' in end) return `Internal error occurred: error executing command in container: ${end.failure}`
  return end.exitCode === 0 ? undefined : exitMessage(end)
}

const exitMessage = ({ about }: Exclude<CommandEnd, { failure: string }>): string => `command terminated with non-zero exit code: ${about}`

/** The status of a failure that is not the command's. */
export const internalFailure = (why: string): string =>
  JSON.stringify({
    metadata: {},
    status: 'Failure',
    message: `Internal error occurred: ${why}`,
    reason: 'InternalError',
    details: { causes: [{ message: why }] },
    code: 500,
  })

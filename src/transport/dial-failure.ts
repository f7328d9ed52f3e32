/** Failures to connect, in the words of Go. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'connect: permission denied',
  ECONNREFUSED: 'connect: connection refused',
  ECONNRESET: 'read: connection reset by peer',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ENOENT: 'connect: no such file or directory',
  ETIMEDOUT: 'i/o timeout',
}

/** The message for a connection to an address of a network (`tcp`, `unix`) that was not made. */
export function dialFailure(network: 'tcp' | 'unix', address: string, error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return `dial ${network} ${address}: ${REASONS[code] ?? message}`
}

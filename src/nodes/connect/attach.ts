/** Attaching to a simulated container: to its output, and to its shell if it is one that reads input. */
import { containersOf } from '../../kinds/rules/pod/containers/container.ts'
import type { CommandEnd, CommandStreams, RequestedStreams, Session } from '../../registry/session.ts'
import { type ExecParts, isInteractive, runShell } from './exec.ts'

export type AttachParts = ExecParts & {
  /** The output of the run from its start, which ends when the run does. */
  readonly output: (signal: AbortSignal) => AsyncIterable<Uint8Array>
}

/** As at a kubelet, the container decides whether there is a terminal. */
export function attachSession(requested: RequestedStreams, parts: AttachParts): Session {
  const { container, to } = parts
  const tty = container.tty === true
  const effective = { ...requested, stdin: requested.stdin && container.stdin === true, tty }
  const words = [...(container.command ?? []), ...(container.args ?? [])]
  const isShell = effective.stdin && containersOf(to.pod.spec).includes(container) && (words.length === 0 || isInteractive(words))
  return {
    type: 'command',
    requested: { ...requested, stderr: requested.stderr && !tty, tty: requested.tty },
    run: streams => (isShell ? runShell(streams, effective, parts) : showOutput(streams, parts, tty)),
  }
}

async function showOutput({ stdin, stdout, signal }: CommandStreams, { output }: AttachParts, tty: boolean): Promise<CommandEnd> {
  stdin?.resume()
  for await (const piece of output(signal)) {
    const bytes = tty ? Buffer.from(Buffer.from(piece).toString().replaceAll('\n', '\r\n')) : piece
    await new Promise<void>(resolve => void stdout.write(bytes, () => resolve()))
  }
  return { exitCode: 0, about: '' }
}

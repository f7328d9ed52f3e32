/** Sessions with a container: a command whose streams a client is connected to, or ports that are forwarded. */
import type { Duplex, Readable, Writable } from 'node:stream'

export type Session =
  /** The node refuses, in these words. */
  { readonly type: 'refused'; readonly code: 400 | 404 | 500; readonly message: string } | CommandSession | PortSession

export type CommandSession = {
  readonly type: 'command'
  /** The streams that the client asks for. */
  readonly requested: RequestedStreams
  /** Runs the command to its end. It ends everything that it has started when the signal aborts. Never rejects. */
  readonly run: (streams: CommandStreams) => Promise<CommandEnd>
}

export type RequestedStreams = { readonly stdin: boolean; readonly stdout: boolean; readonly stderr: boolean; readonly tty: boolean }

export type CommandStreams = {
  /** Undefined if the client sends no input. */
  readonly stdin: Readable | undefined
  /** Take whatever the client does not want, too. */
  readonly stdout: Writable
  readonly stderr: Writable
  /** Calls back with the size of the client's terminal, at first and after each change. */
  readonly onResize: (listener: (size: TerminalSize) => void) => void
  /** Aborts when the client goes. */
  readonly signal: AbortSignal
}

export type TerminalSize = { readonly width: number; readonly height: number }

/** The exit code of a command with a text about it, or the reason why it could not be run. */
export type CommandEnd = { readonly exitCode: number; readonly about: string } | { readonly failure: string }

export type PortSession = {
  readonly type: 'ports'
  /** The ports that the query names, for protocols that open all of them at the start. */
  readonly ports: readonly number[]
  /** The name and the uid of the pod, for messages. */
  readonly pod: string
  readonly uid: string
  /** Connects to a port of the pod. Rejects with a reason in words. */
  readonly connect: (port: number) => Promise<Duplex>
}

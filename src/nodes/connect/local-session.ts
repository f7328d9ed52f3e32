/**
 * Commands of clients beside a local process, and the streams of the process itself. There is no terminal: where a client asks for one,
 * lines are edited and echoed here, and the program reads them one by one.
 */
import type { ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { messageOf } from '../../lib/error-message.ts'
import type { CommandEnd, CommandStreams, RequestedStreams, Session } from '../../registry/session.ts'
import type { LivePods } from '../process/live-pods.ts'
import { signalGroup } from '../process/local-process.ts'
import { exitCodeOfChild, startCommand } from '../process/run-command.ts'
import { isInteractive } from './exec.ts'
import { typedLines } from './terminal.ts'

type Run = NonNullable<ReturnType<LivePods['run']>>

export function execInProcess(
  command: readonly string[],
  requested: RequestedStreams,
  { live, run }: { readonly live: LivePods; readonly run: Run },
): Session {
  return {
    type: 'command',
    requested,
    async run(streams) {
      // Without a terminal a shell shows its prompt only when told so.
      const words = requested.tty && isInteractive(command) && !command.includes('-i') ? [...command, '-i'] : command
      await run.process.started
      const program = live.commandIn(run, words)
      if (!program) return { failure: 'the container is not running' }
      try {
        return await connected(startCommand(program, live.groups), streams, { command, requested })
      } catch (error) {
        return { failure: messageOf(error) }
      }
    },
  }
}

type Command = { readonly command: readonly string[]; readonly requested: RequestedStreams }

/** Connects a command with a client until it ends. Rejects when it cannot be started. */
function connected(child: ChildProcess, streams: CommandStreams, { command, requested }: Command): Promise<CommandEnd> {
  const { stdin, stdout, stderr, signal } = streams
  return new Promise((resolve, reject) => {
    const stop = () => signalGroup(child.pid, 'SIGKILL')
    signal.addEventListener('abort', stop, { once: true })
    child.once('error', error => {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'ENOENT' && code !== 'EACCES') return reject(error)
      // As a container runtime says it.
      const reason = code === 'ENOENT' ? 'executable file not found in $PATH' : 'permission denied'
      resolve({ failure: `exec: "${command[0] ?? ''}": ${reason}: unknown` })
    })
    const out = copy(child.stdout!, stdout, requested.tty)
    const err = copy(child.stderr!, requested.tty ? stdout : stderr, requested.tty)
    if (stdin) void feed(stdin, child.stdin!, { requested, stdout, interrupt: () => signalGroup(child.pid, 'SIGINT') })
    else child.stdin!.end()
    child.once('exit', (code, ended) => {
      signal.removeEventListener('abort', stop)
      stdin?.resume()
      const exitCode = exitCodeOfChild(code, ended)
      const about = `error executing command [${command.join(' ')}], exit code ${exitCode}`
      void Promise.all([out, err]).then(() => resolve({ exitCode, about }))
    })
  })
}

/** Copies output to its end, as fast as the client takes it. */
async function copy(from: Readable, to: Writable, isTerminal: boolean): Promise<void> {
  try {
    for await (const piece of from) {
      const bytes = isTerminal ? (piece as Buffer).toString('latin1').replaceAll('\n', '\r\n') : (piece as Buffer)
      await new Promise<void>(resolve => void to.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes, () => resolve()))
    }
  } catch {
    // The command, or the client, is gone.
  }
}

type Feeding = {
  readonly requested: RequestedStreams
  readonly stdout: Writable
  readonly interrupt: () => void
  readonly keepsOpen?: boolean
}

/** Passes input on; lines that are typed at a terminal are echoed. */
async function feed(from: Readable, to: Writable, { requested, stdout, interrupt, keepsOpen = false }: Feeding): Promise<void> {
  try {
    if (requested.tty)
      for await (const line of typedLines(from, text => void stdout.write(text))) {
        if (line.type === 'interrupt') interrupt()
        else to.write(`${line.text}\n`)
      }
    else for await (const piece of from) if (!to.write(piece)) await drained(to)
  } catch {
    // The client is gone.
  }
  if (!keepsOpen) to.end()
}

const drained = (stream: Writable): Promise<void> =>
  new Promise(resolve => {
    const done = () => {
      stream.off('drain', done)
      stream.off('close', done)
      resolve()
    }
    stream.once('drain', done).once('close', done)
  })

/** Shows what a process writes from now on, and passes input on to it if it has one. */
export function attachProcess(requested: RequestedStreams, { container, process }: Run): Session {
  const tty = container.tty === true
  const effective = { ...requested, stdin: requested.stdin && container.stdin === true, tty }
  return {
    type: 'command',
    requested: { ...requested, stderr: requested.stderr && !tty, tty: requested.tty },
    async run({ stdin, stdout, stderr, signal }) {
      await process.started
      const { log, input } = process
      if (effective.stdin && stdin && input) {
        const keepsOpen = container.stdinOnce !== true
        void feed(stdin, input, { requested: effective, stdout, interrupt: () => {}, keepsOpen })
      } else stdin?.resume()
      for (let next = log.end; !signal.aborted; ) {
        const more = log.from(next)
        next = more.next
        for (const { stream, text } of more.lines) {
          const to = stream === 'stderr' && !tty ? stderr : stdout
          await new Promise<void>(resolve => void to.write(`${text}${tty ? '\r' : ''}\n`, () => resolve()))
        }
        if (more.lines.length > 0) continue
        if (log.isEnded) break
        await log.changed(signal)
      }
      return { exitCode: 0, about: '' }
    },
  }
}

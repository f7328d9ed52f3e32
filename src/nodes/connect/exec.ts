/** Commands of clients in simulated containers: they run in the simulated shell, with the files and the environment of the container. */
import type { Readable, Writable } from 'node:stream'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { type Container, containersOf } from '../../kinds/rules/pod/containers/container.ts'
import { LIMITS } from '../../lib/limits.ts'
import type { CommandEnd, CommandStreams, RequestedStreams, Session } from '../../registry/session.ts'
import { bytesOfText, textOfBytes } from '../container/byte-text.ts'
import { CANNOT_EXECUTE, isShell } from '../container/shell-names.ts'
import { startOf, timeOf } from '../pod/container-state.ts'
import type { Executed } from '../script/command-job.ts'
import type { CommandRuns, PodToRun } from '../script/command-runs.ts'
import { statusOf } from './logs.ts'
import { type Line, plainLines, typedLines } from './terminal.ts'

export type ExecParts = {
  readonly runs: CommandRuns
  readonly to: PodToRun
  readonly container: Container
  /** The id of the run of the container. */
  readonly run: string
  readonly now: () => number
}

/** The streams that a query asks for; undefined when it asks for none. As at a kubelet, a terminal has no stream for errors. */
export function requestedStreams(query: URLSearchParams): RequestedStreams | undefined {
  const isTrue = (name: string) => {
    const text = query.get(name)
    return text !== null && text !== '0' && text.toLowerCase() !== 'false'
  }
  const tty = isTrue('tty')
  const requested = { stdin: isTrue('stdin'), stdout: isTrue('stdout'), stderr: isTrue('stderr') && !tty, tty }
  return requested.stdin || requested.stdout || requested.stderr ? requested : undefined
}

export const NO_STREAMS: Session = { type: 'refused', code: 400, message: 'you must specify at least 1 of stdin, stdout, stderr' }

export function execSession(command: readonly string[], requested: RequestedStreams, parts: ExecParts): Session {
  return {
    type: 'command',
    requested,
    run: streams =>
      guarded(() => (isInteractive(command) ? runShell(streams, requested, parts) : runOnce(command, streams, { requested, parts }))),
  }
}

/** A shell that reads its commands from its input. */
export const isInteractive = ([program = '', ...args]: readonly string[]): boolean =>
  isShell(program) && args.every(arg => /^-(-?login|l|i|il|li)$/.test(arg))

/** The reason of a session that cannot go on, such as that of too many commands. */
async function guarded(run: () => Promise<CommandEnd>): Promise<CommandEnd> {
  try {
    return await run()
  } catch (error) {
    return { failure: (error as Error).message }
  }
}

type Once = { readonly requested: RequestedStreams; readonly parts: ExecParts }

async function runOnce(command: readonly string[], streams: CommandStreams, { requested, parts }: Once): Promise<CommandEnd> {
  const { stdin } = streams
  const execution = new Execution(parts)
  let result = await execution.run(command, stdin ? 'unread' : '')
  if (result === 'input') {
    const input = await allOf(stdin!)
    if (input === undefined) {
      streams.stderr.write(`the input of a simulated command is limited to ${LIMITS.sessionStdinBytes} bytes\n`)
      return endOf(command, CANNOT_EXECUTE)
    }
    result = await execution.run(command, input)
  }
  stdin?.resume()
  if (result === 'input') return { failure: 'no input' }
  await show(result, streams, requested)
  await lasting(result.runMs, streams.signal)
  return endOf(command, result.exitCode)
}

/** As a container runtime says it. */
const endOf = (command: readonly string[], exitCode: number): CommandEnd => ({
  exitCode,
  about: `error executing command [${command.join(' ')}], exit code ${exitCode}`,
})

/** Whole input; undefined when it is too long. */
async function allOf(input: Readable): Promise<string | undefined> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of input) {
    size += (piece as Buffer).length
    if (size > LIMITS.sessionStdinBytes) return undefined
    pieces.push(piece as Buffer)
  }
  return textOfBytes(Buffer.concat(pieces))
}

/** Runs one line of input after the other. With a terminal it shows a prompt. */
export async function runShell(streams: CommandStreams, requested: RequestedStreams, parts: ExecParts): Promise<CommandEnd> {
  const { stdin, stdout, signal } = streams
  if (!stdin) return endOf(['sh'], 0)
  const execution = new Execution(parts)
  const write = (text: string) => void stdout.write(text)
  const prompt = () => requested.tty && write(PROMPT)
  let exitCode = 0
  prompt()
  const lines: AsyncIterable<Line> = requested.tty ? typedLines(stdin, write) : plainLines(stdin)
  for await (const line of lines) {
    if (signal.aborted) break
    if (line.type === 'line' && line.text.trim() !== '') {
      const result = await execution.run(['sh', '-c', line.text], '')
      if (result === 'input') continue
      await show(result, streams, requested)
      await lasting(result.runMs, signal)
      exitCode = result.exitCode
      if (result.hasExited) break
    }
    prompt()
  }
  // Whatever the client still sends is read, so that it does not hold up the end.
  if (!stdin.readableEnded && !stdin.destroyed) stdin.resume()
  return endOf(['sh'], exitCode)
}
const PROMPT = '/ # '

/** The commands of one session: later ones see the variables and files of earlier ones. */
class Execution {
  readonly #parts: ExecParts
  #variables: ReadonlyMap<string, string> = new Map()

  constructor(parts: ExecParts) {
    this.#parts = parts
  }

  async run(command: readonly string[], stdin: string): Promise<Executed | 'input'> {
    const { runs, to, container, run, now } = this.#parts
    const { pod } = to
    const uid = pod.metadata.uid ?? ''
    const result = await runs.execute(to, container, {
      command,
      stdin,
      variables: this.#variables,
      run,
      changed: runs.files.seenBy(uid, run),
      elapsedMs: elapsedIn(pod, now()),
    })
    if (result === 'input') return result
    this.#variables = result.variables
    if (runs.files.change(uid, result.changed)) return result
    return { ...result, exitCode: 1, outputs: [...result.outputs, { isError: true, text: 'sh: write error: No space left on device\n' }] }
  }
}

/** How long each container that was started has run. */
function elapsedIn(pod: Pod, now: number): Map<string, number> {
  const elapsed = new Map<string, number>()
  for (const { name } of containersOf(pod.spec)) {
    const status = statusOf(pod, name)
    if (status?.state.running) elapsed.set(name, now - startOf(status))
    else if (status?.state.terminated)
      elapsed.set(name, timeOf(status.state.terminated.finishedAt) - timeOf(status.state.terminated.startedAt))
  }
  return elapsed
}

/** At a terminal, lines end with a carriage return, too, and errors are shown among the rest. */
async function show({ outputs }: Executed, { stdout, stderr }: CommandStreams, { tty }: RequestedStreams): Promise<void> {
  for (const { isError, text } of outputs) await written(isError && !tty ? stderr : stdout, tty ? text.replaceAll('\n', '\r\n') : text)
}

/** Resolves when a stream has taken a text, or is gone. */
const written = (stream: Writable, text: string): Promise<void> =>
  new Promise(resolve => void stream.write(bytesOfText(text), () => resolve()))

/** Resolves after the time that a command takes, or when the client goes. */
function lasting(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve()
  return new Promise(resolve => {
    const timer = ms <= MAX_TIMER_MS ? setTimeout(done, ms) : undefined
    function done() {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done, { once: true })
  })
}
/** Timers cannot be set for longer; such a command lasts until the client goes. */
const MAX_TIMER_MS = 0x7fffffff

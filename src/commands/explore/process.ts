/** A program under test as processes: a group of its own, so that a signal reaches whatever it has started. */
import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningProgram } from '../../library/explore/program-runs.ts'

export type ProcessOptions = {
  readonly env: Readonly<Record<string, string>>
  /** Whether its output is shown, on standard error. */
  readonly showsOutput: boolean
}

/** How long a program may take to end by itself. */
const STOP_MS = 2000
/** The end of its output that a failure quotes. */
const MAX_QUOTED = 2000

const running = new Set<ChildProcess>()
let isEnding = false

/** Kills every program that still runs, and each that is started from now on: the command ends. */
export function killAll(): void {
  isEnding = true
  for (const child of running) signalGroup(child, 'SIGKILL')
}

export function startProgram([program = '', ...args]: readonly string[], { env, showsOutput }: ProcessOptions): RunningProgram {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, env: { ...process.env, ...env } })
  running.add(child)
  if (isEnding) signalGroup(child, 'SIGKILL')
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-MAX_QUOTED)
      if (showsOutput) process.stderr.write(text)
    })
  const gone = new Promise<string | undefined>(resolve => {
    child.once('error', error => resolve(`${program}: ${error.message}`))
    child.once('exit', (code, signal) => resolve(code === 0 ? undefined : endText({ program, code, signal, output })))
  }).finally(() => running.delete(child))
  const end = async (signal: NodeJS.Signals) => {
    signalGroup(child, signal)
    await gone
  }
  return {
    ended: gone,
    kill: () => end('SIGKILL'),
    async stop() {
      signalGroup(child, 'SIGTERM')
      if ((await Promise.race([gone.then(() => true), sleep(STOP_MS, false, { ref: false })])) !== true) await end('SIGKILL')
      // Processes that it has started and not waited for.
      signalGroup(child, 'SIGKILL')
    },
  }
}

type End = { readonly program: string; readonly code: number | null; readonly signal: NodeJS.Signals | null; readonly output: string }

function endText({ program, code, signal, output }: End): string {
  const end = code === null ? `was ended by ${signal}` : `exited with ${code}`
  return `${program} ${end}${output.trim() === '' ? '' : `, after:\n${output.trim()}`}`
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // It is gone already.
  }
}

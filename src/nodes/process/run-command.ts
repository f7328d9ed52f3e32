/** Runs a command beside a local process: of a probe, a hook or a client. */
import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import { LIMITS } from '../../lib/limits.ts'
import { type Groups, type Program, signalGroup } from './local-process.ts'

export type CommandOutcome = { readonly exitCode: number; readonly output: string; readonly isLate: boolean }

/** Starts a command without a shell. The caller handles its streams; it ends with the groups. */
export function startCommand({ words: [program = '', ...args], variables, directory }: Program, groups: Groups): ChildProcess {
  const child = spawn(program, args, {
    cwd: directory,
    env: Object.fromEntries(variables),
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    shell: false,
  })
  const { pid } = child
  if (pid !== undefined) groups.add(pid)
  child.stdin!.on('error', () => {})
  child.once('exit', () => {
    signalGroup(pid, 'SIGKILL')
    if (pid !== undefined) groups.delete(pid)
  })
  return child
}

export const exitCodeOfChild = (code: number | null, signal: NodeJS.Signals | null): number =>
  code ?? 128 + (signal ? (constants.signals[signal] ?? 0) : 0)

/** Resolves with its exit code and the beginning of its output. Rejects when it cannot be started. */
export function runCommand(program: Program, groups: Groups, timeoutMs: number): Promise<CommandOutcome> {
  return new Promise((resolve, reject) => {
    const child = startCommand(program, groups)
    const pieces: Buffer[] = []
    let size = 0
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      signalGroup(child.pid, 'SIGKILL')
    }, timeoutMs)
    const take = (bytes: Buffer) => {
      if (size < LIMITS.localProcess.probeOutputBytes) pieces.push(bytes)
      size += bytes.length
    }
    child.stdin!.end()
    child.stdout!.on('data', take)
    child.stderr!.on('data', take)
    child.once('error', error => {
      clearTimeout(timer)
      reject(error)
    })
    child.once('exit', (code, signal) => {
      clearTimeout(timer)
      const done = () => {
        const output = Buffer.concat(pieces).subarray(0, LIMITS.localProcess.probeOutputBytes).toString()
        resolve({ exitCode: exitCodeOfChild(code, signal), output, isLate })
      }
      child.once('close', done)
      // The output of a program that it left behind is not waited for.
      setTimeout(done, MAX_DRAIN_MS).unref()
    })
  })
}
const MAX_DRAIN_MS = 500

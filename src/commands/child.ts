/** Runs a program in place of the command: same terminal, same signals, same exit code. */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { ConfigError } from '../server/config.ts'

export type Child = {
  /** The exit code; 128 plus the number of the signal that ended it, as in shells. */
  readonly exited: Promise<number>
  kill(signal: NodeJS.Signals): void
}

export type ChildOptions = {
  /** Whether its output is not shown. */
  readonly isSilent?: boolean
}

export function startChild(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  { isSilent = false }: ChildOptions = {},
): Child {
  const child = spawn(program, args, { stdio: isSilent ? 'ignore' : 'inherit', env: { ...process.env, ...env } })
  const exited = new Promise<number>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'ENOENT' ? new ConfigError(`${program} is not on the PATH`) : new ConfigError(`${program}: ${error.message}`)),
    )
    child.once('exit', (code, signal) => resolve(code ?? 128 + (constants.signals[signal!] ?? 0)))
  })
  return { exited, kill: signal => void child.kill(signal) }
}

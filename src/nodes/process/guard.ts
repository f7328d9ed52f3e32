/**
 * Ends local processes and removes their folder when the server is gone, however it ended: a small program that holds the other end of a
 * pipe of the server. The processes are groups, so that programs that they have started end with them.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { commandToEvaluate } from '../../lib/executable.ts'

/** Lines `+PID` and `-PID`; the end of its input is the end of the server. */
const PROGRAM = `
const { rmSync } = require('node:fs')
const groups = new Set()
let rest = ''
const lines = text => {
  const all = (rest + text).split('\\n')
  rest = all.pop()
  for (const line of all) line[0] === '+' ? groups.add(Number(line.slice(1))) : groups.delete(Number(line.slice(1)))
}
const end = () => {
  for (const group of groups) try { process.kill(-group, 'SIGKILL') } catch {}
  rmSync(process.argv[1], { recursive: true, force: true })
  process.exit(0)
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
process.stdin.setEncoding('utf8').on('data', lines).on('end', end).on('error', end)
`

export class ProcessGuard {
  readonly #child: ChildProcess

  constructor(folder: string) {
    const [node, ...args] = commandToEvaluate(PROGRAM, folder)
    this.#child = spawn(node, args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true, env: {} })
    this.#child.on('error', () => {})
    this.#child.stdin!.on('error', () => {})
    this.#child.unref()
    ;(this.#child.stdin as unknown as { unref(): void }).unref()
  }

  add(group: number): void {
    this.#child.stdin!.write(`+${group}\n`)
  }

  delete(group: number): void {
    this.#child.stdin!.write(`-${group}\n`)
  }

  /** Ends it; it removes the folder. Resolves when it has. */
  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.pid === undefined) return
    await new Promise<void>(resolve => {
      this.#child.once('exit', () => resolve())
      this.#child.stdin!.end()
    })
  }
}

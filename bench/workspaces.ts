/** Workspaces: what one costs when it is made, while it is idle, and after it was deleted. The built library, in a new process. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

type Made = { readonly cpuMs: number; readonly mb: number }

export type WorkspaceFigures = {
  /** How many of each kind are made; while they are idle, both are there. */
  readonly count: number
  /** As a new server, and as a copy of one with 50 objects. */
  readonly fresh: Made
  readonly copy: Made
  /** The share of a core that all of them use. */
  readonly idleShare: number
  readonly deleteCpuMs: number
  /** Memory of each that a deletion leaves behind. */
  readonly leftMB: number
}

export async function workspaces(quick: boolean): Promise<WorkspaceFigures> {
  const script = fileURLToPath(new URL('workspaces-process.mjs', import.meta.url))
  const args = ['--expose-gc', script, ...(quick ? ['20', '1'] : ['200', '10'])]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  for await (const chunk of child.stdout) text += chunk
  return JSON.parse(text)
}

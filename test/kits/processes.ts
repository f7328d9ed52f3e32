/** Servers of several processes for tests, over an embedded store or etcd. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { type Answer, ask, eventually, type ProcessOptions, type Scope, type Sent, type ServerProcess, startProcess } from '../kit.ts'

export interface ManyProcesses extends ServerProcess {
  /** The ids of the processes that serve now. */
  pids(): number[]
  /** Resolves when as many processes run as were asked for, all others than the given one, and all serve. */
  complete(without?: number): Promise<unknown>
  /** A client with one connection of its own. As many clients as there are processes each get another process. */
  client(): Client
}

export type Client = { readonly agent: Agent; ask(path: string, sent?: Sent): Promise<Answer> }

/** Starts the built command with several processes, which all serve, and are gone after the test. */
export async function startProcesses(t: Scope, count: number, options: ProcessOptions = {}): Promise<ManyProcesses> {
  const server = await startFirst(t, count, options)
  await server.complete()
  return server
}

/** The same, as soon as it is ready, which it is with its first process. */
export async function startFirst(t: Scope, count: number, options: ProcessOptions = {}): Promise<ManyProcesses> {
  const flags = ['--processes', String(count), ...(options.flags ?? [])]
  const server = await startProcess(t, { ...options, flags })
  const pids = () => childrenOf(server.child.pid!)
  let last = pids()
  t.after(() => {
    for (const pid of new Set([...last, ...pids()])) kill(pid)
  })
  return {
    ...server,
    pids: () => (last = pids()),
    complete: without =>
      eventually('all processes serve', async () => {
        last = pids()
        if (last.length !== count || last.includes(without ?? 0)) return undefined
        const { status, text } = await ask(server, '/metrics')
        return status === 200 && metricIn(text, 'keelson_processes') === count ? true : undefined
      }),
    client() {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      t.after(() => agent.destroy())
      return { agent, ask: (path, sent = {}) => ask(server, path, { agent, ...sent }) }
    },
  }
}

/** The value of a metric without labels. */
export const metricIn = (metrics: string, name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1])

/** The processes of a supervisor that serve. */
export function childrenOf(pid: number): number[] {
  // Where the system has these files, they cost a hundredth of a program.
  const children = `/proc/${pid}/task/${pid}/children`
  if (existsSync(children))
    return readFileSync(children, 'latin1')
      .split(' ')
      .map(Number)
      .filter(child => child > 0 && argumentsOf(child).includes('serve-process'))
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n')
  return lines.flatMap(line => {
    const [, child, parent, args = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? []
    return Number(parent) === pid && args.includes('serve-process') ? [Number(child)] : []
  })
}

function argumentsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0')
  } catch {
    return []
  }
}

export const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

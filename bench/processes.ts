/** One process beside two (`--processes 2`): throughput, processor time of each request, start and memory. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { WATCH, watchedAt } from './compare-servers.ts'
import { type Cost, costs, costsOfEvent, type Measured, type Rounds } from './cost.ts'
import { operationsIn, prepare } from './operations.ts'
import { HTTP1 } from './raw-client.ts'
import { newFolder, type Running, residentMB, startKeelson } from './servers.ts'

/** The client runs on the same machine: where it needs more than a quarter of a core, the ratio says little. */
export type ProcessFigure = { readonly name: string; readonly one: Cost; readonly two: Cost; readonly clientShare: number }
export type ProcessFigures = {
  readonly costs: readonly ProcessFigure[]
  readonly readyMs: readonly [one: number, two: number]
  readonly residentMB: readonly [one: number, two: number]
}

const OPERATIONS = ['GET one object', 'page of 100', 'LIST', 'create']
const FLAGS = ['--controllers=none', '--nodes=0']

export async function processFigures(quick: boolean): Promise<ProcessFigures> {
  const servers = [await startKeelson(newFolder(), FLAGS), await startKeelson(newFolder(), [...FLAGS, '--processes', '2'])]
  try {
    await sleep(1000)
    const residents = servers.map(server => allPids(server).reduce((sum, pid) => sum + residentMB(pid), 0))
    for (const { target } of servers) await prepare(target)
    const [one, two] = servers.map((server): Measured => ({ target: server.target, pids: allPids(server) })) as [Measured, Measured]
    const lengths: Rounds = quick ? { rounds: 2, requests: 400, warmUp: 1000 } : { rounds: 7, requests: 2000, warmUp: 4000 }
    const measured: ProcessFigure[] = []
    for (const operation of operationsIn(HTTP1).filter(({ name }) => OPERATIONS.some(each => name.startsWith(each)))) {
      const sent = [one, two].map(server => ({ ...server, protocol: HTTP1, operation }))
      measured.push(await withClient(operation.name, () => costs(sent, lengths)))
    }
    const watched = [one, two].map(server => watchedAt(server, HTTP1))
    measured.push(await withClient(WATCH, () => costsOfEvent(watched, HTTP1, { rounds: quick ? 1 : 4, writes: 30 })))
    return { costs: measured, readyMs: pair(servers.map(({ readyMs }) => readyMs)), residentMB: pair(residents) }
  } finally {
    await Promise.all(servers.map(server => server.stop()))
  }
}

async function withClient(name: string, measure: () => Promise<readonly Cost[]>): Promise<ProcessFigure> {
  const [began, before] = [performance.now(), process.cpuUsage()]
  const [one, two] = await measure()
  const { user, system } = process.cpuUsage(before)
  return { name, one: one!, two: two!, clientShare: (user + system) / 1000 / (performance.now() - began) }
}

const pair = ([one, two]: readonly number[]): readonly [number, number] => [one!, two!]

/** A server, and the processes that it has started. */
function allPids({ pid }: Running): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return [pid, ...(children === '' ? [] : children.split(' ').map(Number))]
}

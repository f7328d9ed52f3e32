/** Starts of commands that are compared: in turns, so that a busy moment meets all of them. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { nanosOf } from './cost.ts'
import { median } from './numbers.ts'
import { bodyOf } from './raw-client.ts'
import { NODE_COMMAND, newFolder, residentMB, startKeelson } from './servers.ts'

export type StartFigure = { readonly readyMs: number; readonly cpuMs: number; readonly mb: number }
export type ApiFigure = StartFigure & { readonly set: string; readonly resources: number }
export type ExecutableFigures = { readonly node: StartFigure; readonly executable: StartFigure; readonly ratio: number }

type Variant = { readonly command: readonly string[]; readonly flags: readonly string[] }

/** The medians of each variant; the first round warms the caches of files. */
async function startsOf(variants: readonly Variant[], rounds: number): Promise<StartFigure[]> {
  const all = variants.map(() => [] as StartFigure[])
  for (let round = 0; round <= rounds; round++)
    for (const [i, { command, flags }] of variants.entries()) {
      const server = await startKeelson(newFolder(), flags, command)
      const cpuMs = nanosOf(server.pid).all / 1e6
      await sleep(500)
      if (round > 0) all[i]!.push({ readyMs: server.readyMs, cpuMs, mb: residentMB(server.pid) })
      await server.stop()
    }
  return all.map(each => ({
    readyMs: median(each.map(({ readyMs }) => readyMs)),
    cpuMs: median(each.map(({ cpuMs }) => cpuMs)),
    mb: median(each.map(({ mb }) => mb)),
  }))
}

/** Servers of all kinds, and of few. */
export async function apiSets(quick: boolean): Promise<{ readonly sets: readonly ApiFigure[] }> {
  const sets = ['all', 'minimal', 'none']
  const figures = await startsOf(
    sets.map(set => ({ command: NODE_COMMAND, flags: [`--api=${set}`] })),
    quick ? 2 : 9,
  )
  const resources = await Promise.all(sets.map(resourcesOf))
  return { sets: sets.map((set, i) => ({ set, resources: resources[i]!, ...figures[i]! })) }
}

/** How many resources `kubectl api-resources` shows. */
async function resourcesOf(set: string): Promise<number> {
  const server = await startKeelson(newFolder(), [`--api=${set}`])
  const namesAt = async (path: string) => {
    const { resources = [] } = JSON.parse((await bodyOf(server.target, path)).toString()) as { resources?: { name: string }[] }
    return resources.filter(({ name }) => !name.includes('/')).length
  }
  const { groups } = JSON.parse((await bodyOf(server.target, '/apis')).toString()) as {
    groups: { preferredVersion: { groupVersion: string } }[]
  }
  let sum = await namesAt('/api/v1')
  for (const { preferredVersion } of groups) sum += await namesAt(`/apis/${preferredVersion.groupVersion}`)
  await server.stop()
  return sum
}

/** The single executable beside `node bin/keelson.js`; undefined where it cannot be built. */
export async function executable(quick: boolean): Promise<ExecutableFigures | undefined> {
  const program = join(newFolder(), 'keelson')
  const built = spawnSync(process.execPath, ['scripts/build-executable.mjs', program], { stdio: ['ignore', 'ignore', 'inherit'] })
  if (built.status !== 0) return undefined
  const variants = [NODE_COMMAND, [program]].map(command => ({ command, flags: [] }))
  const [node, own] = await startsOf(variants, quick ? 3 : 15)
  return { node: node!, executable: own!, ratio: own!.readyMs / node!.readyMs }
}

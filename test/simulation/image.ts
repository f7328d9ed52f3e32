/**
 * A store as the first server on it leaves it, with its roles, priority levels and keys. Most runs begin with a copy, so that they do not
 * make some 200 writes that are the same in every run.
 */
import type { KeyPair } from '../../src/lib/x509/issue.ts'
import type { StartOptions } from '../../src/public.d.ts'
import type { Change } from '../../src/storage/store.ts'
import { Database } from './database.ts'
import type { StoreKind } from './faults.ts'
import type { Ground } from './ground.ts'
import { Family } from './processes/family.ts'
import type { Content } from './processes/folder.ts'
import { SimulatedServer } from './server.ts'
import { World } from './world.ts'

export type Image = {
  readonly writes: readonly (readonly [key: string, change: Change])[]
  /** The file, where the server was a process of several. */
  readonly content?: Content
  /** Keys beside the store. */
  readonly keys: readonly (readonly [string, KeyPair])[]
}

/** The server that left it ended long before a run begins. */
const EARLIER_MS = 3_600_000
const UNTIL_MS = 60_000
const IMAGES = new Map<string, Promise<Image>>()

/** The image for servers with some options. It is made before the run begins, so that a run is the same whether others came before it. */
export function imageOf(options: StartOptions, store: StoreKind): Promise<Image> {
  const key = JSON.stringify([options, store])
  const known = IMAGES.get(key) ?? makeImage(options, store)
  IMAGES.set(key, known)
  return known
}

async function makeImage(options: StartOptions, store: StoreKind): Promise<Image> {
  const world = new World({ seed: 0, earlierMs: EARLIER_MS })
  const family = store === 'processes' ? new Family(world, { count: 1 }) : undefined
  const ground: Ground = family ?? new Database(world, { isShared: store === 'shared' })
  const writes: [string, Change][] = []
  if (!family) ground.onWrite.add(({ key, change }) => writes.push([key, change]))
  const leave = async () => {
    const server = new SimulatedServer(world, ground, { number: 1, options })
    await server.start()
    await server.stop(UNTIL_MS)
  }
  await world.run(leave, { untilMs: UNTIL_MS })
  if (world.failures.length > 0) throw new Error(`a server alone failed: ${world.failures[0]}`)
  return { writes, keys: [...ground.keys], ...(family && { content: family.folder.content }) }
}

/** A day of churn in short: as many writes as a day has at a rate, as fast as they go; what counts is the size of the store afterwards. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { configMap } from './objects.ts'
import { requestBytes, run } from './raw-client.ts'
import { newFolder, residentMB, startKeelson } from './servers.ts'

export type ChurnFigures = {
  readonly objects: number
  readonly writes: number
  readonly ratePerSecond: number
  readonly seconds: number
  readonly windowSeconds: number
  /** The size of the store with the objects alone, at its largest, and after the last write and the history window. */
  readonly beforeMB: number
  readonly mostMB: number
  readonly afterMB: number
  readonly residentMB: number
}

const PATH = '/api/v1/namespaces/default/configmaps'
const RATE = 10
const DAY_SECONDS = 86_400
const LOAD = { connections: 64, seconds: 7200 }
const FLAGS = ['--controllers=none', '--quota-backend-bytes', '-1']
const OBJECTS = 5000
/** The writes that the default window of half an hour holds at this rate: the window here is as long as these take. */
const WINDOW_WRITES = RATE * 1800

/** Half of the writes replace fields, a quarter each create and delete. */
export async function churn(quick: boolean, size?: number): Promise<ChurnFigures> {
  const writes = size ?? (quick ? 5000 : RATE * DAY_SECONDS)
  const objects = quick ? 500 : OBJECTS
  const windowSeconds = Math.ceil(WINDOW_WRITES / (await writeRate(objects)))
  const dir = newFolder()
  const server = await startKeelson(dir, [...FLAGS, '--history-window', `${windowSeconds}s`])
  try {
    await run(server.target, { ...LOAD, request: create, requests: objects })
    const beforeMB = storeMB(dir)
    let mostMB = beforeMB
    const looking = setInterval(() => (mostMB = Math.max(mostMB, storeMB(dir))), 1000)
    const began = performance.now()
    const rounds = 10
    for (let round = 0; round < rounds; round++) {
      const [patches, short] = [Math.ceil(writes / rounds / 2), Math.ceil(writes / rounds / 4)]
      const name = (i: number) => `short-${round}-${i}`
      await run(server.target, { ...LOAD, request: i => patch(i % objects, i), requests: patches })
      await run(server.target, { ...LOAD, request: i => requestBytes('POST', PATH, configMap(name(i), i)), requests: short })
      await run(server.target, { ...LOAD, request: i => requestBytes('DELETE', `${PATH}/${name(i)}`), requests: short })
    }
    const seconds = (performance.now() - began) / 1000
    await sleep(3 * windowSeconds * 1000)
    clearInterval(looking)
    const after = { mostMB: Math.max(mostMB, storeMB(dir)), afterMB: storeMB(dir), residentMB: residentMB(server.pid) }
    return { objects, writes, ratePerSecond: RATE, seconds, windowSeconds, beforeMB, ...after }
  } finally {
    await server.stop()
  }
}

const create = (i: number) => requestBytes('POST', PATH, configMap(`cm-${i}`, i))
const patch = (i: number, turn: number) =>
  requestBytes('PATCH', `${PATH}/cm-${i}`, `{"data":{"turn":"c${turn}"}}`, 'application/merge-patch+json')

/** How many writes a second a server makes that is warm. */
async function writeRate(objects: number): Promise<number> {
  const server = await startKeelson(newFolder(), FLAGS)
  try {
    const patches = { ...LOAD, request: (i: number) => patch(i % objects, i), requests: 3 * objects }
    await run(server.target, { ...LOAD, request: create, requests: objects })
    await run(server.target, patches)
    const began = performance.now()
    await run(server.target, patches)
    return (patches.requests * 1000) / (performance.now() - began)
  } finally {
    await server.stop()
  }
}

/** The space that the files of a folder take on the disk. */
function storeMB(folder: string): number {
  let bytes = 0
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) bytes += statSync(join(entry.parentPath ?? entry.path, entry.name)).blocks * 512
  return bytes / 1024 / 1024
}

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
  /** The size of the store with the objects alone, at its largest, and after the last write and the history window. */
  readonly beforeMB: number
  readonly mostMB: number
  readonly afterMB: number
  readonly residentMB: number
}

const PATH = '/api/v1/namespaces/default/configmaps'
const RATE = 10
const DAY_SECONDS = 86_400
const OBJECTS = 5000
/** The default window of half an hour holds 18,000 writes at this rate. As fast as they go, they are made in about so many seconds. */
const WINDOW_SECONDS = 5

/** Half of the writes replace fields, a quarter each create and delete. */
export async function churn(quick: boolean, size?: number): Promise<ChurnFigures> {
  const writes = size ?? (quick ? 5000 : RATE * DAY_SECONDS)
  const objects = quick ? 500 : OBJECTS
  const dir = newFolder()
  const flags = ['--controllers=none', '--history-window', `${WINDOW_SECONDS}s`, '--quota-backend-bytes', '-1']
  const server = await startKeelson(dir, flags)
  const load = { connections: 64, seconds: 7200 }
  try {
    const fill = (i: number) => requestBytes('POST', PATH, configMap(`cm-${i}`, i))
    await run(server.target, { ...load, request: fill, requests: objects })
    const beforeMB = storeMB(dir)
    let mostMB = beforeMB
    const looking = setInterval(() => (mostMB = Math.max(mostMB, storeMB(dir))), 1000)
    const began = performance.now()
    const patch = (i: number) =>
      requestBytes('PATCH', `${PATH}/cm-${i % objects}`, `{"data":{"turn":"c${i}"}}`, 'application/merge-patch+json')
    const rounds = 10
    for (let round = 0; round < rounds; round++) {
      const [patches, short] = [Math.ceil(writes / rounds / 2), Math.ceil(writes / rounds / 4)]
      const name = (i: number) => `short-${round}-${i}`
      await run(server.target, { ...load, request: patch, requests: patches })
      await run(server.target, { ...load, request: i => requestBytes('POST', PATH, configMap(name(i), i)), requests: short })
      await run(server.target, { ...load, request: i => requestBytes('DELETE', `${PATH}/${name(i)}`), requests: short })
    }
    const seconds = (performance.now() - began) / 1000
    await sleep(3 * WINDOW_SECONDS * 1000)
    clearInterval(looking)
    const after = { mostMB: Math.max(mostMB, storeMB(dir)), afterMB: storeMB(dir), residentMB: residentMB(server.pid) }
    return { objects, writes, ratePerSecond: RATE, seconds, beforeMB, ...after }
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

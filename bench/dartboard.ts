/**
 * Rancher's public benchmark of the Kubernetes API (github.com/rancher/dartboard, test of 2025-05-13), done by this client: 10 clients
 * create ConfigMaps of 4 bytes, then 10 clients read all of them in pages of 5,000.
 */
import { Agent, request } from 'node:https'
import { Client } from './json-client.ts'
import { type Programs, startKubeApiserver } from './kube-apiserver.ts'
import { requestBytes, run, type Target } from './raw-client.ts'
import { newFolder, type Running, residentMB, startKeelson } from './servers.ts'

export type DartboardFigure = {
  readonly objects: number
  readonly createsPerSecond: number
  readonly createP95Ms: number
  readonly pagesPerSecond: number
  readonly pageP95Ms: number
  readonly residentMB: number
}
export type DartboardFigures = { readonly keelson: readonly DartboardFigure[]; readonly kubeApiserver?: readonly DartboardFigure[] }

/** The published figures, of RKE2 1.32 on 3 machines with 4 cores and etcd 3.5 on 3 with 16; creates a second are from its raw results. */
export const PUBLISHED: readonly Omit<DartboardFigure, 'residentMB'>[] = [
  { objects: 1000, createsPerSecond: 1250, createP95Ms: 14.4, pagesPerSecond: 239, pageP95Ms: 93.5 },
  { objects: 16_000, createsPerSecond: 976, createP95Ms: 18, pagesPerSecond: 41, pageP95Ms: 430 },
  { objects: 64_000, createsPerSecond: 1094, createP95Ms: 15.8, pagesPerSecond: 28.3, pageP95Ms: 562 },
  { objects: 256_000, createsPerSecond: 1115, createP95Ms: 15.7, pagesPerSecond: 26.9, pageP95Ms: 580 },
]

const CLIENTS = 10
const PAGE = 5000
const NAMESPACE = 'scalability-test'
const PATH = `/api/v1/namespaces/${NAMESPACE}/configmaps`
/** Upstream reads everything 30 times a client; from so many pages on less is enough. */
const MAX_ITERATIONS = 30
const ENOUGH_PAGES = 100

/** `size` limits the number of objects. Without programs only Keelson is measured. */
export async function dartboard(quick: boolean, { size, programs }: { size?: number; programs?: Programs }): Promise<DartboardFigures> {
  const most = size ?? (quick ? 1000 : 256_000)
  const sizes = PUBLISHED.map(({ objects }) => objects).filter(objects => objects <= most)
  const dir = newFolder()
  const flags = ['--controllers=none', '--quota-backend-bytes=-1']
  const ours = await startKeelson(dir, flags)
  const keelson = await figuresOf(ours, sizes, ({ pid }) => residentMB(pid))
  if (!programs) return { keelson }
  const real = await startKubeApiserver(programs, dir, ours.target)
  return { keelson, kubeApiserver: await figuresOf(real, sizes, () => real.pids.reduce((sum, pid) => sum + residentMB(pid), 0)) }
}

async function figuresOf(server: Running, sizes: readonly number[], memory: (server: Running) => number): Promise<DartboardFigure[]> {
  const client = new Client(server.target)
  const figures: DartboardFigure[] = []
  try {
    await client.send('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } })
    let have = 0
    for (const objects of sizes) {
      const from = have
      const create = (i: number) => {
        const metadata = { name: `test-config-maps-${from + i}`, namespace: NAMESPACE }
        return requestBytes('POST', PATH, JSON.stringify({ metadata, data: { data: 'YQ==' } }))
      }
      const creates = await run(server.target, { request: create, connections: CLIENTS, seconds: 3600, requests: objects - have })
      if (creates.failures > 0) throw new Error(`${creates.failures} creates failed`)
      have = objects
      const pages = await readAll(server.target, objects)
      const sorted = pages.times.sort((a, b) => a - b)
      figures.push({
        ...{ objects, createsPerSecond: creates.perSecond, createP95Ms: creates.p95, pagesPerSecond: sorted.length / pages.seconds },
        ...{ pageP95Ms: sorted[Math.floor(sorted.length * 0.95)]!, residentMB: memory(server) },
      })
      process.stderr.write(`${JSON.stringify(figures.at(-1))}\n`)
    }
    return figures
  } finally {
    client.close()
    await server.stop()
  }
}

/** Every client reads all objects, page after page, some times. */
async function readAll(target: Target, objects: number): Promise<{ readonly times: number[]; readonly seconds: number }> {
  const agent = new Agent({ keepAlive: true })
  const iterations = Math.min(MAX_ITERATIONS, Math.ceil(ENOUGH_PAGES / CLIENTS / Math.ceil(objects / PAGE)) + 1)
  const times: number[] = []
  const began = performance.now()
  const read = async () => {
    for (let i = 0; i < iterations; i++)
      for (let token: string | undefined = ''; token !== undefined; ) {
        const sent = performance.now()
        token = await pageAfter(target, agent, token)
        times.push(performance.now() - sent)
      }
  }
  await Promise.all(Array.from({ length: CLIENTS }, read))
  agent.destroy()
  return { times, seconds: (performance.now() - began) / 1000 }
}

/** Reads a page and resolves to the token of the next, which is in its first bytes. */
function pageAfter(target: Target, agent: Agent, token: string): Promise<string | undefined> {
  const path = `${PATH}?limit=${PAGE}${token && `&continue=${encodeURIComponent(token)}`}`
  return new Promise((resolve, reject) => {
    request({ ...target, servername: 'localhost', agent, path }, answer => {
      if (answer.statusCode !== 200) return reject(new Error(`a page was answered with ${answer.statusCode}`))
      let head = ''
      answer.on('data', (part: Buffer) => {
        if (head.length < 2000) head += part.toString('latin1', 0, 2000)
      })
      answer.on('end', () => resolve(/"continue":"([^"]+)"/.exec(head)?.[1]))
    })
      .on('error', reject)
      .end()
  })
}

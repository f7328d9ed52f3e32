/** The ceiling of writes on etcd: the client of the store alone, making the same transactions with as many writers. */
import { readFileSync } from 'node:fs'
import { Cluster } from '../src/storage/etcd/cluster.ts'
import { swap } from '../src/storage/etcd/messages.ts'
import { cpuSeconds } from './servers.ts'

const [, , endpoints, valueFile, writers, seconds, warmUp, pids] = process.argv
const value = readFileSync(valueFile!)
const cluster = new Cluster({ endpoints: endpoints!.split(',') })
const prefix = `/bench/${process.pid}-${Date.now()}`
let next = 0
let count = 0

/** Processor time of all members. */
const etcdSeconds = () => pids!.split(',').reduce((sum, pid) => sum + cpuSeconds(Number(pid)), 0)

/** Makes transactions with so many writers until it is enough. */
async function run(writers: number, isEnough: () => boolean): Promise<void> {
  const write = async () => {
    while (!isEnough()) {
      const { ok } = await cluster.write(swap, { key: Buffer.from(`${prefix}/${next++}`), expect: { modified: 0 }, value })
      if (!ok) throw new Error('a transaction was refused')
      count++
    }
  }
  await Promise.all(Array.from({ length: writers }, write))
}

await run(64, () => count >= Number(warmUp))
count = 0
const start = performance.now()
const before = process.cpuUsage()
const etcdBefore = etcdSeconds()
await run(Number(writers), () => performance.now() - start >= Number(seconds) * 1000)
const perSecond = count / ((performance.now() - start) / 1000)
const { user, system } = process.cpuUsage(before)
const etcdMicros = ((etcdSeconds() - etcdBefore) * 1e6) / count
cluster.close()
process.stdout.write(`${perSecond} ${(user + system) / count} ${etcdMicros}\n`)

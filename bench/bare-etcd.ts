/** The ceiling of writes on etcd: the client of the store alone, making the same transactions with as many writers. */
import { readFileSync } from 'node:fs'
import { Cluster } from '../src/storage/etcd/cluster.ts'
import { swap } from '../src/storage/etcd/messages.ts'

const [, , endpoint, valueFile, writers, seconds] = process.argv
const value = readFileSync(valueFile!)
const cluster = new Cluster({ endpoints: [endpoint!] })
const run = `${Date.now()}`
let count = 0
const end = performance.now() + Number(seconds) * 1000
const start = performance.now()
const before = process.cpuUsage()
await Promise.all(
  Array.from({ length: Number(writers) }, async (_, w) => {
    for (let i = 0; performance.now() < end; i++) {
      const { ok } = await cluster.write(swap, { key: Buffer.from(`/bench/${run}/${w}-${i}`), expect: { modified: 0 }, value })
      if (!ok) throw new Error('a transaction was refused')
      count++
    }
  }),
)
const perSecond = count / ((performance.now() - start) / 1000)
const { user, system } = process.cpuUsage(before)
cluster.close()
process.stdout.write(`${perSecond} ${(user + system) / count}\n`)

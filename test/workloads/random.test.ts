// Workloads that change at random, with restarts in between: the invariants hold at every revision, and in the end everything is settled.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, patient, startProcess } from '../kit.ts'
import { Driver } from './driver.ts'
import { History, RESOURCES, type ResourceName } from './history.ts'
import { brokenIn, unsettledIn } from './invariants.ts'

const SEEDS = (process.env['KEELSON_SEEDS'] ?? '1,2').split(',').map(Number)
const STEPS = Number(process.env['KEELSON_STEPS'] ?? 120)
const RESTARTS = 2
/** Nodes that fail are noticed, and their pods replaced, while the test runs. */
const FLAGS = [
  '--nodes=3',
  '--node-monitor-grace-period=2s',
  '--default-not-ready-toleration-seconds=1',
  '--default-unreachable-toleration-seconds=1',
]

for (const seed of SEEDS)
  test(`workloads keep what they promise while they change and servers are killed (seed ${seed})`, patient, async t => {
    let server = await startProcess(t, { flags: FLAGS })
    const history = new History(t)
    await history.follow(server)
    const driver = new Driver(server, seed)
    t.after(() => driver.close())
    for (let step = 0; step < STEPS; step++) {
      await driver.step()
      if ((step + 1) % Math.ceil(STEPS / (RESTARTS + 1)) !== 0 || step + 1 === STEPS) continue
      await server.stop('SIGKILL')
      server = await startProcess(t, { dataDir: server.dataDir, port: server.port, flags: FLAGS })
      driver.useTarget(server)
      await history.follow(server)
    }
    await driver.calm()
    let unsettled: string[] = []
    const look = async () => {
      const names = Object.keys(RESOURCES) as ResourceName[]
      const lists = await Promise.all(names.map(async name => [name, await driver.list(name)] as const))
      unsettled = unsettledIn(Object.fromEntries(lists))
      return unsettled.length === 0 ? true : undefined
    }
    await eventually('settling', look).catch(() => {})
    t.diagnostic(`seed ${seed}: ${JSON.stringify(driver.counts)}, ${history.steps().length} changes`)
    assert.deepEqual(brokenIn(history.steps()), [])
    assert.deepEqual(unsettled, [])
    await server.stop()
  })

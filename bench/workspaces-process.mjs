/** The process of `workspaces.ts`: measures, and prints what it found as JSON. Without TypeScript, whose loader would count. */
import { setTimeout as sleep } from 'node:timers/promises'

const count = Number(process.argv[2] ?? 200)
const idleSeconds = Number(process.argv[3] ?? 5)
const { start } = await import('../dist/keelson.js')

async function heapMB() {
  // Finalizers run between collections.
  for (let i = 0; i < 4; i++) {
    globalThis.gc()
    await sleep(20)
  }
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 2 ** 20
}

async function cpuMsOf(run) {
  const used = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(used)
  return (user + system) / 1000
}

const server = await start({ workspaces: true, store: 'memory', controllers: ['none'], nodes: 0, logLevel: 'silent' })

/** Processor time and memory of one of many that are made one after the other. */
async function measured(prefix, options) {
  const before = await heapMB()
  const made = []
  const cpuMs = await cpuMsOf(async () => {
    for (let i = 0; i < count; i++) made.push(await server.workspace(`${prefix}-${i}`, options))
  })
  return { made, cpuMs: cpuMs / count, mb: ((await heapMB()) - before) / count }
}

const template = await server.workspace('template')
for (let i = 0; i < 50; i++)
  await template.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `a-${i}`, namespace: 'default' }, data: { key: 'value' } })
// The first ones load code and make what all have in common.
for (let i = 0; i < 30; i++) await (await server.workspace(`warm-${i}`, i % 2 ? { from: 'template' } : {})).delete()

const empty = await heapMB()
const fresh = await measured('fresh', {})
const copies = await measured('copy', { from: 'template' })
const idle = await cpuMsOf(() => sleep(idleSeconds * 1000))
const deleteCpuMs = await cpuMsOf(async () => {
  for (const each of [...fresh.made.splice(0), ...copies.made.splice(0)]) await each.delete()
})
const leftMB = ((await heapMB()) - empty) / (2 * count)
await server.close()
process.stdout.write(
  JSON.stringify({
    count,
    fresh: { cpuMs: fresh.cpuMs, mb: fresh.mb },
    copy: { cpuMs: copies.cpuMs, mb: copies.mb },
    idleShare: idle / (idleSeconds * 1000),
    deleteCpuMs: deleteCpuMs / (2 * count),
    leftMB,
  }),
)

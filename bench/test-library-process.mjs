/** The process of `test-library.ts`: measures, and prints what it found as JSON. Without TypeScript, whose loader would count. */

const rounds = Number(process.argv[2] ?? 15)
const gc = globalThis.gc ?? (() => {})

function stopwatch() {
  const [began, used] = [performance.now(), process.cpuUsage()]
  return () => {
    const { user, system } = process.cpuUsage(used)
    return { ms: performance.now() - began, cpuMs: (user + system) / 1000 }
  }
}

async function timed(run) {
  const took = stopwatch()
  await run()
  return took()
}

const configMap = name => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { key: 'value' } })
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image: 'example.com/web' }] } },
  },
}
const widgets = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    names: { plural: 'widgets', kind: 'Widget' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}
const widget = name => ({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name }, spec: { size: 1 } })
const many = (count, make) => Array.from({ length: count }, (_, i) => make(`item-${i}`))

/** Objects that a test leaves behind. */
const USES = {
  little: server => server.apply(configMap('a')),
  async typical(server) {
    await server.apply(widgets, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })
    await server.apply(...many(10, widget), ...many(20, configMap), deployment)
    await server.waitFor(deployment, 'Available')
  },
  much: server => server.apply(...many(1000, configMap)),
}

const took = stopwatch()
const { start } = await import('../dist/keelson.js')
const server = await start()
const firstStart = [took()]

const reset = { little: [], typical: [], much: [] }
for (const use of Object.keys(USES))
  for (let i = 0; i < rounds; i++) {
    await USES[use](server)
    await server.settled()
    reset[use].push(await timed(() => server.reset()))
  }

const [snapshot, restore] = [[], []]
await USES.typical(server)
await server.settled()
for (let i = 0; i < rounds; i++) {
  let kept
  snapshot.push(await timed(async () => (kept = await server.snapshot())))
  await server.apply(...many(20, name => configMap(`more-${name}`)))
  await server.settled()
  restore.push(await timed(() => server.restore(kept)))
}
await server.close()

const [starts, close] = [[], []]
for (let i = 0; i < rounds; i++) {
  let one
  starts.push(await timed(async () => (one = await start())))
  close.push(await timed(() => one.close()))
}

/** The memory in use after garbage collection. */
function usedMB() {
  gc()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 1024 / 1024
}
const before = usedMB()
let servers = []
const tenReady = await timed(async () => {
  servers = await Promise.all(Array.from({ length: 10 }, () => start()))
})
await Promise.all(servers.map(each => each.settled()))
const mbEach = (usedMB() - before) / 10
const tenClosed = await timed(() => Promise.all(servers.map(each => each.close())))
const result = {
  firstStart,
  start: starts,
  close,
  reset,
  snapshot,
  restore,
  tenReady: [tenReady],
  tenClosed: [tenClosed],
  mbEach,
}
process.stdout.write(JSON.stringify(result))

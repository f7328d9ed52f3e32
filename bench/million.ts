/** A million objects: what a start, memory, reads, lists and watches cost with them, beside few objects, embedded and on etcd. */
import { startEtcd } from '../test/kits/etcd.ts'
import { programsNamed } from '../test/programs.ts'
import { nanosOf } from './cost.ts'
import { Client } from './json-client.ts'
import { requestBytes, run, type Target } from './raw-client.ts'
import { newFolder, residentMB, startKeelson } from './servers.ts'

export type MillionFigure = {
  readonly store: 'embedded' | 'etcd'
  readonly objects: number
  readonly createsPerSecond: number
  readonly residentMB: number
  readonly bytesPerObject: number
  /** The next start, and memory after it. */
  readonly startMs: number
  readonly startedMB: number
  /** Processor time of the server for each. */
  readonly getMicros: number
  readonly pageMicros: number
  readonly createMicros: number
  readonly listSeconds: number
  /** Milliseconds from a request to write until the event of it, the median. */
  readonly eventMs: number
}

const PATH = '/api/v1/namespaces/default/configmaps'
const FEW = 1000
const FLAGS = ['--controllers=none']

export async function million(quick: boolean, size?: number): Promise<readonly MillionFigure[]> {
  const objects = size ?? (quick ? 10_000 : 1_000_000)
  const figures: MillionFigure[] = []
  for (const count of [FEW, objects]) figures.push(await measure('embedded', count, ['--quota-backend-bytes=-1']))
  const [program] = programsNamed('etcd')
  if (program !== undefined)
    for (const count of [FEW, objects]) {
      await using etcd = await startEtcd({ program, folder: newFolder(), isDurable: true, flags: ['--quota-backend-bytes=8589934592'] })
      figures.push(await measure('etcd', count, ['--store', 'etcd', '--etcd-servers', etcd.endpoints.join(',')]))
    }
  return figures
}

async function measure(store: MillionFigure['store'], objects: number, more: readonly string[]): Promise<MillionFigure> {
  const dir = newFolder()
  const first = await startKeelson(dir, [...FLAGS, ...more])
  const empty = residentMB(first.pid)
  const { perSecond, failures } = await run(first.target, { request: creating('cm'), connections: 64, seconds: 7200, requests: objects })
  if (failures > 0) throw new Error(`${failures} creates failed`)
  const filled = residentMB(first.pid)
  await first.stop()
  const server = await startKeelson(dir, [...FLAGS, ...more])
  const startedMB = residentMB(server.pid)
  const cost = async (request: (i: number) => Buffer, requests: number) => {
    await run(server.target, { request, connections: 8, seconds: 600, requests: Math.ceil(requests / 2) })
    const before = nanosOf(server.pid).all
    await run(server.target, { request: i => request(i + requests), connections: 8, seconds: 600, requests })
    return (nanosOf(server.pid).all - before) / requests / 1000
  }
  try {
    const figure: MillionFigure = {
      ...{ store, objects, createsPerSecond: perSecond, residentMB: filled },
      bytesPerObject: ((filled - empty) * 1024 * 1024) / objects,
      ...{ startMs: server.readyMs, startedMB },
      getMicros: await cost(i => requestBytes('GET', `${PATH}/cm-${(i * 7919) % objects}`), 2000),
      pageMicros: await cost(() => requestBytes('GET', `${PATH}?limit=500`), 300),
      createMicros: await cost(creating('more'), 2000),
      listSeconds: await listSeconds(server.target),
      eventMs: await eventMs(server.target),
    }
    process.stderr.write(`${JSON.stringify(figure)}\n`)
    return figure
  } finally {
    await server.stop()
  }
}

const creating = (prefix: string) => (i: number) =>
  requestBytes('POST', PATH, JSON.stringify({ metadata: { name: `${prefix}-${i}` }, data: { data: 'YQ==' } }))

async function listSeconds(target: Target): Promise<number> {
  const { seconds, failures } = await run(target, { request: () => requestBytes('GET', PATH), connections: 1, seconds: 600, requests: 1 })
  if (failures > 0) throw new Error('the list failed')
  return seconds
}

const EVENTS = 50

async function eventMs(target: Target): Promise<number> {
  const client = new Client(target)
  let onEvent = () => {}
  const watch = await client.countAdded(`${PATH}?watch=true&labelSelector=watched`, () => onEvent())
  const times: number[] = []
  for (let i = 0; i < EVENTS; i++) {
    const came = new Promise<void>(resolve => (onEvent = resolve))
    const sent = performance.now()
    await client.send('POST', PATH, { metadata: { name: `watched-${i}`, labels: { watched: 'true' } } })
    await came
    times.push(performance.now() - sent)
  }
  watch.close()
  client.close()
  return times.sort((a, b) => a - b)[Math.floor(EVENTS / 2)]!
}

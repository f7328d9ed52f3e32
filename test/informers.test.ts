// Informers on thousands of objects, by list-watch and by watch-list: whatever happens to the server, they end up with its state.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CoreV1Api, KubeConfig, ListWatch, type V1ConfigMap, Watch } from '@kubernetes/client-node'
import { ask, CONFIG_MAPS, configMap, eventually, patient, type ServerProcess, startProcess } from './kit.ts'
import { Reflector } from './reflector.ts'
import { type Connection, openConnection } from './robustness/connection.ts'

const OBJECTS = 2_000
const AT_ONCE = 64
const FLAGS = ['--history-window', '2s', '--bookmark-interval', '500ms']
const namespace = 'default'

test('informers hold what the server holds after restarts, kills and forgotten pasts', { timeout: 3 * patient.timeout }, async t => {
  let server = await startProcess(t, { flags: FLAGS })
  const restart = async (signal: NodeJS.Signals) => {
    await server.stop(signal)
    server = await startProcess(t, { flags: FLAGS, dataDir: server.dataDir, port: server.port })
  }
  const writes = openConnection('http/2', server)
  t.after(() => writes.close())
  await inParallel(OBJECTS, i => create(writes, i))

  const everything = openInformer(t, server)
  const red = openInformer(t, server, 'color=red')
  const reflector = openReflector(t, server)
  const agree = () => agreed(server, { everything: () => everything.list(), red: () => red.list(), reflector: () => reflector.list() })
  await agree()

  await churn(writes, 1)
  await agree()
  await restart('SIGTERM')
  await churn(writes, 2)
  await agree()
  const changing = churn(writes, 3).catch(() => {})
  await restart('SIGKILL')
  await changing
  await agree()

  const listed = everything.lists()
  const { beginnings } = reflector
  for (const client of [everything, red, reflector]) await client.pause()
  await churn(writes, 4)
  const past = (await ask(server, `${CONFIG_MAPS}?limit=1`)).json.metadata.resourceVersion
  const listThen = `${CONFIG_MAPS}?limit=1&resourceVersion=${past}&resourceVersionMatch=Exact`
  await churn(writes, 5)
  await eventually('a forgotten past', async () => (await ask(server, listThen)).status === 410 || undefined)
  await restart('SIGTERM')
  for (const client of [everything, red, reflector]) await client.resume()
  await agree()
  assert.ok(everything.lists() > listed, 'an informer whose past is forgotten lists again')
  assert.ok(reflector.beginnings > beginnings, 'a watch-list whose past is forgotten begins again')
})

const COLORS = ['red', 'green', 'blue']
const nameOf = (i: number) => `object-${String(i).padStart(5, '0')}`

/** Does something so many times, some at once. */
async function inParallel(count: number, act: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) await act(next++)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

async function create(writes: Connection, i: number, round = 0): Promise<void> {
  const body = configMap(nameOf(i), { round: String(round) }, { labels: { color: COLORS[i % 3] } })
  const { status, json } = await writes.call({ method: 'POST', path: CONFIG_MAPS, body })
  assert.ok(status === 201 || (round > 0 && status === 409), JSON.stringify(json))
}

/** Changes, recolors, deletes and creates a few hundred objects. */
async function churn(writes: Connection, round: number): Promise<void> {
  const type = 'application/merge-patch+json'
  await inParallel(400, async n => {
    const i = (n * 7919 + round * 31) % OBJECTS
    const path = `${CONFIG_MAPS}/${nameOf(i)}`
    if (n % 4 === 0) await writes.call({ method: 'DELETE', path })
    else if (n % 4 === 1) await create(writes, OBJECTS + round * 400 + n, round)
    else {
      const body = { metadata: { labels: { color: COLORS[(i + n) % 3] } }, data: { round: String(round) } }
      await writes.call({ method: 'PATCH', path, type, body })
    }
  })
}

function configOf(server: ServerProcess): KubeConfig {
  const config = new KubeConfig()
  config.loadFromFile(server.kubeconfig)
  return config
}

/**
 * Watches that can all be aborted. The client's informer forgets a watch that is not answered yet when it is stopped:
 * that one would go on and keep the informer up to date.
 */
class AbortableWatch extends Watch {
  readonly #opened: Promise<AbortController>[] = []

  override watch(...request: Parameters<Watch['watch']>): Promise<AbortController> {
    const opened = super.watch(...request)
    this.#opened.push(opened)
    return opened
  }

  async abort(): Promise<void> {
    for (const opened of this.#opened.splice(0)) (await opened).abort()
  }
}

/** A list-watch informer that is started again whenever it fails, as its users do, unless it was paused. */
function openInformer(t: TestContext, server: ServerProcess, labelSelector?: string) {
  const config = configOf(server)
  const core = config.makeApiClient(CoreV1Api)
  let lists = 0
  let isPaused = false
  const list = () => {
    lists++
    return core.listNamespacedConfigMap({ namespace, ...(labelSelector !== undefined && { labelSelector }) })
  }
  const watches = new AbortableWatch(config)
  const informer = new ListWatch<V1ConfigMap>(CONFIG_MAPS, watches, list, false, labelSelector)
  const pause = async () => {
    isPaused = true
    await informer.stop()
    await watches.abort()
  }
  const resume = () => {
    isPaused = false
    return informer.start()
  }
  informer.on('error', async () => {
    await sleep(100)
    if (!isPaused) await informer.start()
  })
  t.after(pause)
  void informer.start()
  return { list: () => informer.list(), lists: () => lists, pause, resume }
}

function openReflector(t: TestContext, server: ServerProcess) {
  const reflector = new Reflector(configOf(server), CONFIG_MAPS)
  const running = reflector.run()
  t.after(() => {
    reflector.stop()
    return running
  })
  return reflector
}

/** The parts of an object that two views must share: the revision, which stands for all of it, and its content. */
const shown = ({ metadata, data }: V1ConfigMap) =>
  `${metadata?.name} ${metadata?.resourceVersion} ${metadata?.labels?.['color']} ${data?.['round']}`

type Views = Readonly<Record<'everything' | 'red' | 'reflector', () => readonly V1ConfigMap[]>>

/** Waits until every cache equals a list. */
async function agreed(server: ServerProcess, { everything, red, reflector }: Views): Promise<void> {
  const list = async (query: string) => new Set<string>((await ask(server, CONFIG_MAPS + query)).json.items.map(shown))
  const whole = await list('')
  const part = await list('?labelSelector=color%3Dred')
  assert.ok(whole.size > OBJECTS / 2 && part.size > OBJECTS / 10)
  const same = (objects: readonly V1ConfigMap[], wanted: ReadonlySet<string>) =>
    objects.length === wanted.size && objects.every(object => wanted.has(shown(object)))
  await eventually('an informer that holds everything', () => same(everything(), whole) || undefined)
  await eventually('an informer that holds its selection', () => same(red(), part) || undefined)
  await eventually('a watch-list that holds everything', () => same(reflector(), whole) || undefined)
}

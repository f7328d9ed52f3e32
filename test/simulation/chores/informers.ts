/** Informers of the library for controllers: they show every object as it was stored, in order, and in the end what the store has. */
import { connect, informer } from '../../../src/controller-library/index.ts'
import type { ApiObject, FetchLike, ResponseLike } from '../../../src/controller-library/public.d.ts'
import type { Connection } from '../../robustness/connection.ts'
import { ask, type Chore, eventually, itemsOf, make, repeatedly, rest, type Stage } from './chore.ts'

const NAMESPACE = 'informers'
const PATH = `/api/v1/namespaces/${NAMESPACE}/secrets`
const SECRETS = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' }
const NAMES = 6
const SELECTIONS = [{}, { labelSelector: 'color=red' }]
const COLORS = ['red', 'blue']

type Shown = { readonly list: () => readonly ApiObject[]; readonly labelSelector?: string }

export function informers(): Chore {
  const end = new AbortController()
  const shown: Shown[] = []
  return {
    name: 'informers',
    // Only what the server shows is compared with what it has stored.
    mayRepeat: true,
    async prepare({ connection }) {
      await make(connection, '/api/v1/namespaces', { metadata: { name: NAMESPACE } })
    },
    async work(stage) {
      for (const selection of SELECTIONS) shown.push({ ...selection, list: follow(stage, selection, end.signal) })
      await repeatedly(stage, 2, async () => {
        await change(stage)
        await rest(stage, 80)
      })
    },
    async check(stage) {
      // Pauses between attempts grow while nothing works.
      await eventually(stage, () => different(stage, shown), { everyMs: 500, withinMs: 90_000 })
      end.abort()
    },
  }
}

/** Starts an informer, and checks each change that it shows. */
function follow(stage: Stage, selection: { readonly labelSelector?: string }, signal: AbortSignal): Shown['list'] {
  const { connection, broken } = stage
  const secrets = connect(fetchOver(connection)).of<ApiObject>(SECRETS)
  const followed = informer(secrets, { ...selection, namespace: NAMESPACE, signal, onError() {} })
  const present = new Map<string, number>()
  followed.onChange(({ type, object: { metadata } }) => {
    const { name = '', uid = '', resourceVersion } = metadata
    const id = `${name} ${uid}`
    const before = present.get(id)
    if (type === 'added' ? before !== undefined : before === undefined) broken(`an informer shows ${type} of ${name}, which was ${before}`)
    if (type === 'updated' && !(Number(resourceVersion) > before!))
      broken(`an informer shows ${name} at ${resourceVersion} after ${before}`)
    if (type === 'deleted') present.delete(id)
    else present.set(id, Number(resourceVersion))
  })
  return () => followed.list()
}

async function change({ connection, random }: Stage): Promise<void> {
  const name = `s-${random.below(NAMES)}`
  const labels = { color: random.pick(COLORS) }
  if (random.oneIn(4)) await ask(connection, { method: 'DELETE', path: `${PATH}/${name}` })
  else if (random.oneIn(2)) await ask(connection, { method: 'POST', path: PATH, body: { metadata: { name, labels } } })
  else {
    const body = { metadata: { labels, annotations: { number: String(random.below(1_000)) } } }
    await ask(connection, { method: 'PATCH', path: `${PATH}/${name}`, type: 'application/merge-patch+json', body })
  }
}

/** The difference between what informers and the server show, if there is one. */
async function different({ connection }: Stage, all: readonly Shown[]): Promise<string | undefined> {
  for (const { list, labelSelector } of all) {
    const items = await itemsOf(connection, labelSelector ? `${PATH}?labelSelector=${labelSelector}` : PATH)
    if (!items) return 'secrets cannot be listed'
    const [own, stored] = [textOf(list()), textOf(items)]
    if (own !== stored) return `an informer ${labelSelector ?? ''} shows ${own}, and the store has ${stored}`
  }
  return undefined
}

const textOf = (objects: readonly ApiObject[]): string =>
  objects
    .map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`)
    .sort()
    .join(', ')

/** Requests over a simulated connection, as `fetch` sends them. */
function fetchOver(connection: Connection): FetchLike {
  return async (path, { method = 'GET', signal } = {}) => {
    signal?.throwIfAborted?.()
    if (new URLSearchParams(path.split('?')[1]).has('watch')) return await streamed(connection, path, signal as AbortSignal | undefined)
    const { status, json } = await connection.call({ method, path })
    return { status, text: async () => JSON.stringify(json ?? '') } as ResponseLike
  }
}

async function streamed(connection: Connection, path: string, signal: AbortSignal | undefined): Promise<ResponseLike> {
  const arrived: Buffer[] = []
  let end: 'ended' | 'cut' | undefined
  let wake = () => {}
  const { status, stream } = await connection.stream(path, line => {
    arrived.push(Buffer.from(`${line}\n`))
    wake()
  })
  const leave = () => stream.close()
  if (signal?.aborted) leave()
  signal?.addEventListener('abort', leave, { once: true })
  void stream.ended.then(how => {
    end = how
    wake()
  })
  const body = (async function* () {
    for (;;) {
      const next = arrived.shift()
      if (next) yield next
      else if (end === 'cut') throw new Error('the connection was cut')
      else if (end === 'ended') return
      else await new Promise<void>(resolve => (wake = resolve))
    }
  })()
  return { status, body, text: async () => '' } as ResponseLike
}

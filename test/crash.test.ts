// The real server, killed at random moments while it is written to: whatever it acknowledged is there when it is back.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import type { Agent } from 'node:https'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  type Answer,
  ask,
  CONFIG_MAPS,
  configMap,
  connection,
  launch,
  repeats,
  type ServerProcess,
  startProcess,
  temporaryDirectory,
  Watching,
} from './kit.ts'

const ROUNDS = repeats(10)
/** Rounds in which the server dies before it is ready, too. */
const EARLY_DEATHS = 5
const WRITERS = 6
const KEYS_PER_WRITER = 6
const SHARED_KEYS = 3
/** A kill comes after so many acknowledged writes of its round at most, and then so many milliseconds. */
const MAX_WRITES = 60
const MAX_MS = 15
/** The approximate maximum duration of a fresh start; crashes at start are spread over it. */
const START_MS = 300
/** The store is tested, which no controller has a part in. */
const FLAGS = ['--controllers', 'none']

test('kill -9 at any moment loses no acknowledged write, brings back no deleted object and never reuses a revision', {
  timeout: 600_000,
}, async t => {
  const dataDir = join(temporaryDirectory(t), 'data')
  const history = new Expectations()
  const mirror = new Mirror()
  let deathsAtStart = 0
  for (let round = 0; round < ROUNDS; round++) {
    if (round % Math.floor(ROUNDS / EARLY_DEATHS) === 1 && (await diesWhileStarting(t, dataDir))) deathsAtStart++
    const server = await startProcess(t, { dataDir, flags: FLAGS })
    await verify(server, history)
    await mirror.catchUp(t, { server, history, round })
    const writers = Array.from({ length: WRITERS }, (_, id) => write(server, { history, id, agent: connection(t) }))
    await Promise.race([history.until(history.acknowledged + randomInt(MAX_WRITES)), ...writers])
    await new Promise(resolve => setTimeout(resolve, randomInt(MAX_MS)))
    await server.stop('SIGKILL')
    await Promise.all(writers)
    await mirror.end()
  }
  const server = await startProcess(t, { dataDir, flags: FLAGS })
  await verify(server, history)
  await mirror.catchUp(t, { server, history, round: ROUNDS })
  assert.deepEqual(await server.stop(), { code: 0, signal: null })
  assert.ok(history.acknowledged > ROUNDS, `only ${history.acknowledged} writes were acknowledged`)
  t.diagnostic(
    `${ROUNDS + deathsAtStart} kills (${deathsAtStart} of them during a start), ${history.acknowledged} acknowledged writes, ` +
      `${history.unanswered} unanswered, ${mirror.events} events seen by a watch across all of it`,
  )
})

/** The possible value of a key: its data, or nothing. */
type State = string | undefined
type Fact = { readonly state: State; readonly revision: bigint }

/** The states of the store that are consistent with the responses so far. */
class Expectations {
  /** For keys of one writer: the last acknowledged state. For shared keys: the acknowledged write with the highest revision. */
  readonly facts = new Map<string, Fact>()
  /** Writes that were sent and never answered; each may have happened. */
  readonly open = new Map<string, Set<State>>()
  newest = 0n
  acknowledged = 0
  unanswered = 0
  #waiting: { readonly count: number; readonly wake: () => void } | undefined

  /** Resolves when so many writes have been acknowledged. */
  async until(count: number): Promise<void> {
    if (this.acknowledged < count) await new Promise<void>(wake => (this.#waiting = { count, wake }))
  }

  sent(key: string, state: State): void {
    let states = this.open.get(key)
    if (states === undefined) this.open.set(key, (states = new Set()))
    states.add(state)
  }

  answered(key: string, { state, revision }: Fact): void {
    this.open.get(key)?.delete(state)
    this.acknowledged++
    if (this.#waiting !== undefined && this.acknowledged >= this.#waiting.count) this.#waiting.wake()
    if (revision > this.newest) this.newest = revision
    const known = this.facts.get(key)
    if (known === undefined || known.revision <= revision || revision === 0n) this.facts.set(key, { state, revision })
  }

  /** A refused write changed nothing. */
  refused(key: string, state: State): void {
    this.open.get(key)?.delete(state)
  }

  /** Reads after a restart decide which of the unacknowledged writes happened. */
  settle(key: string, found: Fact): void {
    const { state, revision } = this.facts.get(key) ?? { state: undefined, revision: 0n }
    const open = this.open.get(key) ?? new Set()
    if (found.state !== state || (found.state !== undefined && found.revision !== revision))
      assert.ok(
        open.has(found.state) && (found.state === undefined || found.revision > revision),
        `${key} holds ${found.state} at ${found.revision}; acknowledged was ${state} at ${revision}, in flight were ${[...open]}`,
      )
    this.facts.set(key, found)
    open.clear()
  }
}

type Listed = { readonly revision: bigint; readonly objects: ReadonlyMap<string, any> }

async function list(server: ServerProcess): Promise<Listed> {
  const { status, json } = await ask(server, `${CONFIG_MAPS}?labelSelector=crash`)
  assert.equal(status, 200)
  return { revision: BigInt(json.metadata.resourceVersion), objects: new Map(json.items.map((item: any) => [item.metadata.name, item])) }
}

/** Holds the store against everything that was acknowledged, and lists against reads. */
async function verify(server: ServerProcess, history: Expectations): Promise<void> {
  const { revision, objects } = await list(server)
  assert.ok(revision >= history.newest, `the list is at ${revision}, but ${history.newest} was acknowledged`)
  history.newest = revision
  const agent = connection({ after: () => {} })
  for (const key of new Set([...history.facts.keys(), ...history.open.keys(), ...objects.keys()])) {
    const item = objects.get(key)
    const read = await ask(server, `${CONFIG_MAPS}/${key}`, { agent })
    assert.equal(read.status, item === undefined ? 404 : 200, `${key}: ${read.text}`)
    if (item !== undefined) assert.deepEqual(read.json, { kind: 'ConfigMap', apiVersion: 'v1', ...item })
    history.settle(key, item === undefined ? { state: undefined, revision: 0n } : factOf(item))
  }
  agent.destroy()
}

const factOf = (object: any): Fact => ({ state: object.data.value, revision: BigInt(object.metadata.resourceVersion) })

type Writer = { readonly history: Expectations; readonly id: number; readonly agent: Agent }

/** Creates, patches, replaces and deletes keys of its own and patches shared ones, until the server is gone. */
async function write(server: ServerProcess, { history, id, agent }: Writer): Promise<void> {
  for (let n = 0; ; n++) {
    const isShared = randomInt(4) === 0
    const key = isShared ? `shared-${randomInt(SHARED_KEYS)}` : `own-${id}-${randomInt(KEYS_PER_WRITER)}`
    const exists = history.facts.get(key)?.state !== undefined
    const removes = exists && !isShared && randomInt(4) === 0
    const state: State = removes ? undefined : `${id}.${n}.${process.hrtime.bigint()}`
    const before = history.newest
    history.sent(key, state)
    let answer: Answer
    try {
      answer = await send(server, { key, state, exists, agent })
    } catch {
      history.unanswered++
      return
    }
    // Two writers may both create a shared key; the second gets an error.
    if (answer.status === 409 && isShared) history.refused(key, state)
    else {
      assert.ok(answer.status === 200 || answer.status === 201, `${key}: ${answer.text}`)
      const revision = removes ? 0n : BigInt(answer.json.metadata.resourceVersion)
      if (!removes) assert.ok(revision > before, `${key} was written at ${revision}, after ${before}`)
      history.answered(key, { state, revision })
    }
  }
}

type Write = { readonly key: string; readonly state: State; readonly exists: boolean; readonly agent: Agent }

function send(server: ServerProcess, { key, state, exists, agent }: Write): Promise<Answer> {
  const path = `${CONFIG_MAPS}/${key}`
  if (state === undefined) return ask(server, path, { agent, method: 'DELETE' })
  const object = configMap(key, { value: state }, { labels: { crash: key.split('-')[0]! } })
  if (!exists) return ask(server, CONFIG_MAPS, { agent, method: 'POST', body: object })
  if (randomInt(2) === 0) return ask(server, path, { agent, method: 'PUT', body: object })
  const headers = { 'content-type': 'application/merge-patch+json' }
  return ask(server, path, { agent, method: 'PATCH', headers, body: { data: { value: state } } })
}

/** A client that lists once and then only watches, resuming after each crash where it was. */
class Mirror {
  events = 0
  readonly #objects = new Map<string, any>()
  #revision = 0n
  #watching: Watching | undefined
  #reading: Promise<void> = Promise.resolve()
  #marked: (round: string) => void = () => {}

  /** Watches on from the last event it saw; once everything so far has arrived, what it holds is what a list holds. */
  async catchUp(
    t: TestContext,
    { server, history, round }: { server: ServerProcess; history: Expectations; round: number },
  ): Promise<void> {
    const path = `${CONFIG_MAPS}?watch=true&labelSelector=crash&resourceVersion=${this.#revision}`
    if (this.#revision === 0n) this.#revision = (await list(server)).revision
    const watching = await Watching.open(t, server, path.replace('resourceVersion=0', `resourceVersion=${this.#revision}`))
    this.#watching = watching
    const arrived = new Promise<void>(resolve => (this.#marked = seen => seen === `round-${round}` && resolve()))
    this.#reading = this.#read(watching)
    const key = 'mark'
    history.sent(key, `round-${round}`)
    const exists = history.facts.get(key)?.state !== undefined
    const { status, json } = await send(server, { key, state: `round-${round}`, exists, agent: connection(t) })
    assert.equal(status, exists ? 200 : 201)
    history.answered(key, factOf(json))
    await Promise.race([arrived, this.#reading.then(() => assert.fail('the watch ended before the mark arrived'))])
    assert.deepEqual(new Map([...this.#objects].sort()), new Map([...(await list(server)).objects].sort()))
  }

  async #read(watching: Watching): Promise<void> {
    for (let event = await watching.next(); event !== undefined; event = await watching.next()) {
      const { type, object } = event
      assert.match(type, /^(ADDED|MODIFIED|DELETED)$/, JSON.stringify(event))
      const revision = BigInt(object.metadata.resourceVersion)
      assert.ok(revision > this.#revision, `event ${revision} came after ${this.#revision}`)
      const { name } = object.metadata
      assert.equal(type === 'ADDED', !this.#objects.has(name), `${type} of ${name}`)
      this.#revision = revision
      this.events++
      if (type === 'DELETED') this.#objects.delete(name)
      else {
        const { kind, apiVersion, ...item } = object
        this.#objects.set(name, item)
      }
      if (name === 'mark') this.#marked(object.data.value)
    }
  }

  /** Waits for the last bytes of a dead server. */
  async end(): Promise<void> {
    await this.#watching?.end()
    await this.#reading
  }
}

/** Starts a server and kills it somewhere on the way; false if it was ready first. */
async function diesWhileStarting(t: TestContext, dataDir: string): Promise<boolean> {
  const starting = launch(t, { dataDir, flags: FLAGS })
  const timer = setTimeout(() => starting.child.kill('SIGKILL'), randomInt(START_MS))
  const wasReady = await Promise.race([starting.firstLine.then(() => true), starting.exited.then(() => false)])
  clearTimeout(timer)
  starting.child.kill('SIGKILL')
  await starting.exited
  return !wasReady
}

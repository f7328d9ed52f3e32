// The real server, killed while services come and go: no address or port is ever two services', and none is lost.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import type { Agent } from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Answer, ask, connection, patient, type ServerProcess, startProcess, temporaryDirectory } from './kit.ts'
import { killRounds } from './kits/kill-rounds.ts'

const ROUNDS = 6
const WRITERS = 4
const NAMES_PER_WRITER = 4
const MAX_WRITES = 25
/** 30 addresses and 30 ports: what leaks in six rounds would be missed at the end. */
const FLAGS = ['--service-cluster-ip-range', '10.0.0.0/27', '--service-node-port-range', '30000-30029']
const SERVICES = '/api/v1/namespaces/default/services'
const TYPES = ['ClusterIP', 'NodePort', 'LoadBalancer']
const MERGE = { 'content-type': 'application/merge-patch+json' }

/** The last acknowledged state of a service: its spec, or its deletion. Names of unacknowledged writes are not included. */
type Known = Map<string, { clusterIP: string } | 'gone'>

test('kill -9 while services are created and deleted shares no address and loses none', patient, async t => {
  const dataDir = join(temporaryDirectory(t), 'data')
  const known: Known = new Map()
  const acknowledged = await killRounds(t, {
    dataDir,
    flags: FLAGS,
    rounds: ROUNDS,
    mostWrites: MAX_WRITES,
    verify: server => verify(server, known),
    write: (server, _, onDone) => Array.from({ length: WRITERS }, (_, id) => write(server, { known, id, agent: connection(t), onDone })),
  })
  const server = await startProcess(t, { dataDir, flags: FLAGS })
  await verify(server, known)
  await verifyRoom(server)
  assert.deepEqual(await server.stop(), { code: 0, signal: null })
  t.diagnostic(`${ROUNDS} kills, ${acknowledged} acknowledged writes`)
})

type Writer = { readonly known: Known; readonly id: number; readonly agent: Agent; readonly onDone: () => void }

/** Creates, changes and deletes services of its own until the server is gone. */
async function write(server: ServerProcess, { known, id, agent, onDone }: Writer): Promise<void> {
  for (;;) {
    const name = `w${id}-${randomInt(NAMES_PER_WRITER)}`
    known.delete(name)
    let answer: Answer
    let isGone = false
    try {
      const exists = (await ask(server, `${SERVICES}/${name}`, { agent })).status === 200
      isGone = exists && randomInt(3) === 0
      answer = await change(server, { name, agent, exists, isGone })
    } catch {
      return
    }
    assert.ok([200, 201].includes(answer.status), answer.text)
    known.set(name, isGone ? 'gone' : { clusterIP: answer.json.spec.clusterIP })
    onDone()
  }
}

type Wish = { readonly name: string; readonly agent: Agent; readonly exists: boolean; readonly isGone: boolean }

function change(server: ServerProcess, { name, agent, exists, isGone }: Wish): Promise<Answer> {
  const type = TYPES[randomInt(TYPES.length)]!
  if (isGone) return ask(server, `${SERVICES}/${name}`, { agent, method: 'DELETE' })
  if (exists) return ask(server, `${SERVICES}/${name}`, { agent, method: 'PATCH', headers: MERGE, body: { spec: { type } } })
  return ask(server, SERVICES, { agent, method: 'POST', body: { metadata: { name }, spec: { type, ports: [{ port: 80 }] } } })
}

async function verify(server: ServerProcess, known: Known): Promise<void> {
  const services: any[] = (await ask(server, SERVICES)).json.items
  const byName = new Map(services.map(service => [service.metadata.name, service.spec]))
  for (const [name, state] of known) {
    if (state === 'gone') assert.ok(!byName.has(name), `${name} is back`)
    else assert.equal(byName.get(name)?.clusterIP, state.clusterIP, `the address of ${name}`)
  }
  const addresses = services.map(({ spec }) => spec.clusterIP)
  const ports = services.flatMap(({ spec }) => spec.ports.flatMap((port: any) => port.nodePort ?? []))
  assert.equal(new Set(addresses).size, addresses.length, 'an address is shared')
  assert.equal(new Set(ports).size, ports.length, 'a port is shared')
  const records: any[] = (await ask(server, '/apis/networking.k8s.io/v1/ipaddresses')).json.items
  assert.deepEqual(
    records.map(({ metadata, spec }) => `${metadata.name} ${spec.parentRef.name}`).sort(),
    services.map(({ metadata, spec }) => `${spec.clusterIP} ${metadata.name}`).sort(),
  )
}

/** All addresses but the server's own, and as many ports, can still be given. */
async function verifyRoom(server: ServerProcess): Promise<void> {
  const { items } = (await ask(server, SERVICES)).json
  for (const { metadata } of items)
    if (metadata.name !== 'kubernetes') await ask(server, `${SERVICES}/${metadata.name}`, { method: 'DELETE' })
  const create = (i: number) =>
    ask(server, SERVICES, { method: 'POST', body: { metadata: { name: `room-${i}` }, spec: { type: 'NodePort', ports: [{ port: 80 }] } } })
  const made = await Promise.all(Array.from({ length: 29 }, (_, i) => create(i)))
  assert.deepEqual([...new Set(made.map(({ status }) => status))], [201])
  assert.match((await create(29)).json.message, /range is full$/)
}

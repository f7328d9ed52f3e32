// The real server, killed while it signs certificates and gives blocks of addresses to nodes: nothing is given twice, nothing is lost.
import assert from 'node:assert/strict'
import { generateKeyPairSync, randomInt, X509Certificate } from 'node:crypto'
import type { Agent } from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Answer, ask, connection, eventually, patient, type ServerProcess, startProcess, temporaryDirectory } from './kit.ts'
import { killRounds } from './kits/kill-rounds.ts'
import { encodedRequest } from './kits/x509.ts'

const ROUNDS = 6
const WRITERS = 3
const MAX_WRITES = 30
/** With the simulated one there are as many nodes as blocks: one that leaks is missed at the end. */
const NODES = Array.from({ length: 15 }, (_, i) => `n${i}`)
const FLAGS = ['--nodes', '1', '--allocate-node-cidrs', '--cluster-cidr', '10.60.0.0/20,fd60::/60']

const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const POD_REQUESTS = '/apis/certificates.k8s.io/v1/namespaces/default/podcertificaterequests'
const PODS = '/api/v1/namespaces/default/pods'
const MERGE = { 'content-type': 'application/merge-patch+json' }
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })

type Known = {
  /** Decisions about requests that were acknowledged. */
  readonly decided: Map<string, 'Approved' | 'Denied'>
  readonly pods: Set<string>
  /** Every certificate and CIDR that was seen, by its holder. They must not change. */
  readonly seen: Map<string, string>
}

test('kill -9 while certificates are signed and nodes get addresses gives nothing twice and loses nothing', patient, async t => {
  const dataDir = join(temporaryDirectory(t), 'data')
  const known: Known = { decided: new Map(), pods: new Set(), seen: new Map() }
  const acknowledged = await killRounds(t, {
    dataDir,
    flags: FLAGS,
    rounds: ROUNDS,
    mostWrites: MAX_WRITES,
    verify: server => verify(server, known),
    write(server, round, onDone) {
      const prefix = `r${round}`
      const works = [...Array.from({ length: WRITERS }, (_, id) => decideRequests(`${prefix}-${id}`)), changeNodes, createPods(prefix)]
      return works.map(work => until(work, { server, known, agent: connection(t), onDone }))
    },
  })
  const server = await startProcess(t, { dataDir, flags: FLAGS })
  await verify(server, known)
  await finish(server, known)
  await verifyRoom(server)
  t.diagnostic(`${ROUNDS} kills, ${acknowledged} acknowledged writes, ${known.seen.size} certificates and blocks`)
})

type Writer = { readonly server: ServerProcess; readonly known: Known; readonly agent: Agent; readonly onDone: () => void }
type Work = (send: (path: string, sent: object) => Promise<Answer>, known: Known, round: number) => Promise<void>

/** Works until the server is gone. */
async function until(work: Work, { server, known, agent, onDone }: Writer): Promise<void> {
  class Gone extends Error {}
  const send = async (path: string, sent: object) => {
    const answer = await ask(server, path, { agent, ...sent }).catch(() => {
      throw new Gone()
    })
    onDone()
    return answer
  }
  for (let round = 0; ; round++) {
    try {
      await work(send, known, round)
    } catch (error) {
      if (error instanceof Gone) return
      throw error
    }
  }
}

/** Requests of people, which it approves or denies, and of kubelets, which are approved by themselves. */
const decideRequests =
  (prefix: string): Work =>
  async (send, { decided }, round) => {
    const name = `${prefix}-${round}`
    const isKubelet = round % 3 === 0
    const signerName = `kubernetes.io/kube-apiserver-client${isKubelet ? '-kubelet' : ''}`
    const subject = isKubelet ? { commonName: `system:node:${name}`, organizations: ['system:nodes'] } : { commonName: name }
    const spec = { request: encodedRequest(pair, subject), signerName, usages: ['digital signature', 'client auth'] }
    const created = await send(REQUESTS, { method: 'POST', body: { metadata: { name }, spec } })
    assert.equal(created.status, 201, created.text)
    if (isKubelet) {
      decided.set(name, 'Approved')
      return
    }
    const type = randomInt(4) === 0 ? 'Denied' : 'Approved'
    const body = { status: { conditions: [{ type, status: 'True', reason: 'Test', message: 'said so' }] } }
    const answer = await send(`${REQUESTS}/${name}/approval`, { method: 'PATCH', headers: MERGE, body })
    assert.equal(answer.status, 200, answer.text)
    decided.set(name, type)
  }

const changeNodes: Work = async (send, { seen }) => {
  const name = NODES[randomInt(NODES.length)]!
  // The next node of the name gets another block.
  seen.delete(`node ${name}`)
  const { status } = await send('/api/v1/nodes', { method: 'POST', body: { metadata: { name } } })
  if (status === 409) await send(`/api/v1/nodes/${name}`, { method: 'DELETE' })
}

const createPods =
  (prefix: string): Work =>
  async (send, { pods }, round) => {
    const name = `${prefix}-${round}`
    const podCertificate = { signerName: 'kubernetes.io/kube-apiserver-client-pod', keyType: 'ED25519', credentialBundlePath: 'bundle.pem' }
    const spec = {
      nodeName: 'simulated-1',
      containers: [{ name: 'c', image: 'web:1', volumeMounts: [{ name: 'files', mountPath: '/files' }] }],
      volumes: [{ name: 'files', projected: { sources: [{ podCertificate }] } }],
    }
    const { status } = await send(PODS, { method: 'POST', body: { metadata: { name }, spec } })
    // At the very first there is no service account yet.
    if (status === 201) pods.add(name)
  }

const itemsOf = async (server: ServerProcess, path: string): Promise<any[]> => (await ask(server, path)).json.items

/** Everything seen is unchanged, and nothing belongs to two objects. */
async function verify(server: ServerProcess, { decided, pods, seen }: Known): Promise<void> {
  const now = new Map<string, string>()
  for (const { metadata, status } of await itemsOf(server, REQUESTS)) {
    const types: string[] = (status.conditions ?? []).map((each: any) => each.type)
    const said = decided.get(metadata.name)
    // A request that is approved automatically may still be pending.
    if (said && types.length > 0) assert.deepEqual(types, [said], metadata.name)
    if (status.certificate) {
      assert.deepEqual(types, ['Approved'], metadata.name)
      now.set(`request ${metadata.name}`, status.certificate)
    }
  }
  for (const { metadata, status } of await itemsOf(server, POD_REQUESTS))
    if (status.certificateChain) now.set(`pod's request ${metadata.name}`, status.certificateChain)
  for (const { metadata, spec } of await itemsOf(server, '/api/v1/nodes'))
    if (spec.podCIDRs) {
      assert.equal(spec.podCIDRs.length, 2)
      now.set(`node ${metadata.name}`, spec.podCIDRs.join(' '))
    }
  const names = new Set((await itemsOf(server, PODS)).map(({ metadata }) => metadata.name))
  for (const name of pods) assert.ok(names.has(name), `the pod ${name} is lost`)
  for (const [what, value] of seen) assert.equal(now.get(what), value, what)
  for (const [what, value] of now) seen.set(what, value)
  const blocks = [...now].flatMap(([what, value]) => (what.startsWith('node ') ? value.split(' ') : []))
  assert.equal(new Set(blocks).size, blocks.length, 'a block is shared')
  const serials = [...now].flatMap(([what, value]) => (what.startsWith('node ') ? [] : new X509Certificate(pemOf(value)).serialNumber))
  assert.equal(new Set(serials).size, serials.length, 'a serial number is used twice')
}

const pemOf = (text: string) => (text.startsWith('-----') ? text : Buffer.from(text, 'base64').toString())

/** The work that was cut off is done. */
async function finish(server: ServerProcess, known: Known): Promise<void> {
  const { decided, pods, seen } = known
  await eventually('all certificates', async () => {
    const requests = await itemsOf(server, REQUESTS)
    const isOpen = ({ metadata, status }: any) => decided.get(metadata.name) === 'Approved' && !status.certificate
    return requests.some(isOpen) ? undefined : true
  })
  await eventually('all pods', async () => {
    const isWaiting = ({ metadata, status }: any) => pods.has(metadata.name) && status.phase !== 'Running'
    return (await itemsOf(server, PODS)).some(isWaiting) ? undefined : true
  })
  await verify(server, known)
  const key = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  for (const [name, type] of decided) {
    const certificate = seen.get(`request ${name}`)
    assert.equal(certificate !== undefined, type === 'Approved', name)
    if (certificate) assert.notEqual((await ask(server, '/api', { cert: pemOf(certificate), key })).status, 401)
  }
}

/** Every node gets a block, up to the last of them. */
async function verifyRoom(server: ServerProcess): Promise<void> {
  for (const name of NODES) await ask(server, '/api/v1/nodes', { method: 'POST', body: { metadata: { name } } })
  const blocks = await eventually('the blocks of all nodes', async () => {
    const all = (await itemsOf(server, '/api/v1/nodes')).flatMap(({ spec }) => spec.podCIDRs ?? [])
    return all.length === 2 * (NODES.length + 1) ? all : undefined
  })
  assert.equal(new Set(blocks).size, blocks.length)
}

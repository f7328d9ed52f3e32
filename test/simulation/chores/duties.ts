/** Leaders: of all participants of an election at most one leads at any time, and only the leader's controllers have effect. */

import { type ElectionOptions, type LeaseAccess, type Term, takePart } from '../../../src/client/leader-election.ts'
import { abortedWith } from '../../../src/lib/cancellation.ts'
import { monotonicMs, sleep, wallMs } from '../../../src/lib/environment.ts'
import { TERM } from '../../../src/server/controllers/leadership.ts'
import { bytesOf } from '../../../src/storage/store.ts'
import type { Process } from '../world.ts'
import { ask, type Chore, make, objectIn, rest, type Stage } from './chore.ts'

const NAMESPACE = 'duties'
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`
/** Only a controller creates it, whenever it is missing. */
const ACCOUNT = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/default`
const ACCOUNT_KEY = `/core/serviceaccounts/${NAMESPACE}/default`
/** Only a controller creates them, each with a name of its own: a late create meets nothing that would refuse it but the fence. */
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`
const POD_PREFIX = `/core/pods/${NAMESPACE}/`
const REPLICA_SETS = 3
const PARTICIPANTS = 3
const TIMING = { leaseMs: 1_000, renewMs: 800, retryMs: 150 }
const ACT_MS = 10
/** How often participants look whether clients are busy. */
const LOOK_MS = 250
const LEASE_KEY = '/coordination.k8s.io/leases/kube-system/kube-controller-manager'
/** Longer than the lease of controllers. */
const SETTLED_MS = 10_000
/** The longest time that the create of a pod is on its way to the store: its server may have to give up its duties meanwhile. */
const MAX_UNDER_WAY_MS = 15_000

export function duties(): Chore {
  /** The server that has begun the newest term. */
  let leader: Process | undefined
  /** The holder of the lease of controllers. */
  let holder: string | undefined
  let terms = 0
  return {
    name: 'duties',
    needs: { controllers: ['serviceaccount', 'replicaset'] },
    async prepare({ connection, onWrite, delay, random, broken }) {
      onWrite(write => {
        const { server, key, change, revision } = write
        if (key === LEASE_KEY) holder = objectIn(write)?.spec?.holderIdentity
        if (key === TERM) {
          const named = Buffer.from(bytesOf(change.value!)).toString()
          if (holder !== undefined && holder !== named) broken(`${named} began a term at ${revision}, and ${holder} had the lease`)
          leader = server
          terms++
        }
        const isMade = change.value !== null && change.expect === 0 && (key === ACCOUNT_KEY || key.startsWith(POD_PREFIX))
        if (!isMade || leader === undefined || leader === server) return
        broken(`${server.name} wrote ${key} at ${revision} as a controller does, and ${leader.name} had taken over`)
      })
      await make(connection, '/api/v1/namespaces', { metadata: { name: NAMESPACE } })
      await make(connection, `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`, { metadata: { name: 'pods' } })
      for (let i = 0; i < REPLICA_SETS; i++)
        await make(connection, `/apis/apps/v1/namespaces/${NAMESPACE}/replicasets`, replicaSetOf(`set-${i}`))
      const chance = random.fork()
      delay((key, { expect }) => (expect === 0 && key.startsWith(POD_PREFIX) && chance.oneIn(4) ? chance.below(MAX_UNDER_WAY_MS) : 0))
    },
    async work(stage) {
      /** The participant that leads, as far as it may act. */
      const leading = new Map<string, Term>()
      const participants = Array.from({ length: PARTICIPANTS }, (_, i) => campaign(stage, `participant-${i}`, leading))
      while (!stage.stop.aborted) {
        await ask(stage.connection, { method: 'DELETE', path: ACCOUNT })
        await ask(stage.connection, { method: 'DELETE', path: PODS })
        await rest(stage, 300)
      }
      await Promise.all(participants)
    },
    /** Undisturbed servers do not take over from each other. */
    async check({ broken }) {
      await sleep(SETTLED_MS)
      const before = terms
      await sleep(SETTLED_MS)
      if (terms !== before) broken(`servers took over from each other ${terms - before} times, and nothing disturbed them`)
    },
  }
}

/** Its pods are never scheduled. */
function replicaSetOf(name: string) {
  const containers = [{ name: 'main', image: 'example.com/app' }]
  const spec = { serviceAccountName: 'pods', automountServiceAccountToken: false, containers }
  return { metadata: { name }, spec: { selector: { matchLabels: { set: name } }, template: { metadata: { labels: { set: name } }, spec } } }
}

/** Takes part in bursts. Between them a participant would ask as often, and nearly nothing would happen to it. */
async function campaign(stage: Stage, holder: string, leading: Map<string, Term>): Promise<void> {
  while (!stage.stop.aborted) {
    const leaving = abortedWith(stage.stop)
    const taking = participate(stage, { holder, leading, signal: leaving.signal })
    while (!stage.stop.aborted && stage.pace() === 1) await look(stage)
    leaving.abort()
    await taking
    while (!stage.stop.aborted && stage.pace() !== 1) await look(stage)
  }
}

const look = ({ stop }: Stage): Promise<void> => sleep(LOOK_MS, { signal: stop }).catch(() => {})

type Candidate = { readonly holder: string; readonly leading: Map<string, Term>; readonly signal: AbortSignal }

function participate(stage: Stage, { holder, leading, signal }: Candidate): Promise<void> {
  const options: ElectionOptions = {
    leases: leasesOver(stage),
    namespace: NAMESPACE,
    name: 'shared',
    holder,
    timing: TIMING,
    onError: error => stage.broken(`${holder} failed: ${error}`),
    signal,
    async lead(term) {
      leading.set(holder, term)
      // It acts for as long as it believes to lead.
      while (!term.signal.aborted) {
        if (term.mayWrite())
          for (const [other, { mayWrite }] of leading)
            if (other !== holder && mayWrite()) stage.broken(`${holder} and ${other} both lead at ${Math.round(monotonicMs())} ms`)
        await sleep(ACT_MS, { signal: term.signal }).catch(() => {})
      }
      leading.delete(holder)
    },
  }
  return takePart(options)
}

/** Leases as a client outside of the server reads and writes them; its requests, and their responses, are held up now and then. */
function leasesOver({ connection, random }: Stage): LeaseAccess {
  const stall = async () => {
    if (random.oneIn(8)) await sleep(random.below(2 * TIMING.leaseMs))
  }
  const send = async (method: string, path: string, body?: unknown) => {
    await stall()
    const { status, json } = await connection.call({ method, path, ...(body !== undefined && { body }) })
    await stall()
    if (status === 404) return undefined
    if (status !== 200 && status !== 201) throw new Error(`${method} ${path} was answered with ${status}`)
    return json
  }
  return {
    now: () => new Date(wallMs()),
    get: ({ name }) => send('GET', `${LEASES}/${name}`),
    create: lease => send('POST', LEASES, lease),
    update: lease => send('PUT', `${LEASES}/${lease.metadata.name}`, lease),
  }
}

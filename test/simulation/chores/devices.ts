/** No device is allocated to two claims, and in the end every pod that can have its devices runs. */
import { LIMITS } from '../../../src/lib/limits.ts'
import { ask, type Chore, eventually, itemsOf, make, objectIn, repeatedly, rest, type Stage } from './chore.ts'

const NAMESPACE = 'devices'
const API = '/apis/resource.k8s.io/v1'
const DRIVER = 'gpu.example.com'
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`
const CLAIMS = `${API}/namespaces/${NAMESPACE}/resourceclaims`
const KEY = `/resource.k8s.io/resourceclaims/${NAMESPACE}/`
/** More pods want a device than there are devices. */
const NODES = 2
const DEVICES_OF_NODE = 1
const NAMES = 4
/** How much later than its server gives it up the write of a claim may reach a shared store. */
const MAX_LATER_MS = 3_000
/** Devices that a write may still take stay taken for a while. */
const SETTLED_MS = LIMITS.undecidedWriteMs + 90_000

export function devices(): Chore {
  /** The holders of devices, as the store has them now. */
  const holders = new Map<string, string>()
  const held = new Map<string, readonly string[]>()
  return {
    name: 'devices',
    // Holders are compared at every revision, and pods with devices until they agree; a pod that comes late is one more.
    mayRepeat: true,
    needs: {
      controllers: ['resource-claim-controller', 'podgc', 'nodelifecycle', 'serviceaccount', 'scheduler'],
      nodes: NODES,
      nodeDevices: [`${DRIVER}=${DEVICES_OF_NODE}`],
    },
    async prepare({ connection, onWrite, broken, delay, giveUpMs, random }) {
      await make(connection, '/api/v1/namespaces', { metadata: { name: NAMESPACE } })
      const selectors = [{ cel: { expression: `device.driver == "${DRIVER}"` } }]
      await make(connection, `${API}/deviceclasses`, { metadata: { name: 'gpu' }, spec: { selectors } })
      const requests = [{ name: 'one', exactly: { deviceClassName: 'gpu' } }]
      const template = { metadata: { name: 'one' }, spec: { spec: { devices: { requests } } } }
      await make(connection, `${API}/namespaces/${NAMESPACE}/resourceclaimtemplates`, template)
      const chance = random.fork()
      delay((key, { value }) => (value !== null && key.startsWith(KEY) && chance.oneIn(8) ? giveUpMs + 1 + chance.below(MAX_LATER_MS) : 0))
      onWrite(write => {
        if (!write.key.startsWith(KEY)) return
        const name = write.key.slice(KEY.length)
        for (const device of held.get(name) ?? []) if (holders.get(device) === name) holders.delete(device)
        const results = objectIn(write)?.status?.allocation?.devices?.results ?? []
        const devices = results.map(({ driver, pool, device }: any) => `${driver}/${pool}/${device}`)
        held.set(name, devices)
        for (const device of devices) {
          const other = holders.get(device)
          if (other !== undefined) broken(`at revision ${write.revision} ${device} is given to ${name}, and ${other} has it`)
          holders.set(device, name)
        }
      })
    },
    work: stage =>
      repeatedly(stage, 3, async () => {
        const { connection, random } = stage
        const name = `p-${random.below(NAMES)}`
        if (random.oneIn(3)) await ask(connection, { method: 'DELETE', path: `${PODS}/${name}` })
        else await ask(connection, { method: 'POST', path: PODS, body: podOf(name) })
        await rest(stage, 200)
      }),
    check: stage => eventually(stage, () => unsettled(stage), { everyMs: 2_000, withinMs: SETTLED_MS }),
  }
}

function podOf(name: string) {
  const containers = [{ name: 'main', image: 'example.com/app', resources: { claims: [{ name: 'gpu' }] } }]
  const resourceClaims = [{ name: 'gpu', resourceClaimTemplateName: 'one' }]
  return { metadata: { name }, spec: { terminationGracePeriodSeconds: 1, automountServiceAccountToken: false, containers, resourceClaims } }
}

/** Devices do not stay with claims of pods that are gone, and pods do not wait for devices that are free. */
async function unsettled({ connection }: Stage): Promise<string | undefined> {
  const [pods, claims] = [await itemsOf(connection, PODS), await itemsOf(connection, CLAIMS)]
  if (!pods || !claims) return 'pods and claims cannot be listed'
  const uids = new Set(pods.map(({ metadata }) => metadata.uid))
  for (const { metadata } of claims) if (!uids.has(metadata.ownerReferences?.[0]?.uid)) return `the claim ${metadata.name} has no pod`
  const running = pods.filter(({ status }) => status?.phase === 'Running').length
  const expected = Math.min(pods.length, NODES * DEVICES_OF_NODE)
  return running === expected ? undefined : `${running} of ${pods.length} pods run, and ${expected} could`
}

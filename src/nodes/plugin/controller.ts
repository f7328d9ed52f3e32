/** Tells nodes about the CSI drivers whose plugins are registered: keeps CSINode, labels and the annotation of each simulated node. */
import { isDeepStrictEqual } from 'node:util'
import { type Controller, defineController, watch } from '../../controllers/controller.ts'
import { Node } from '../../kinds/core/node.ts'
import { CSINode } from '../../kinds/storage/csinode.ts'
import { StatusError } from '../../schema/status-error.ts'
import { nodeIdentity } from '../node/identity.ts'
import { isSimulated, SIMULATED_LABEL } from '../node/is-simulated.ts'
import { csiNodeOf, nodePatch, withDrivers } from './node-drivers.ts'
import { pluginCalls } from './plugin-calls.ts'
import { Registrations } from './registrations.ts'

/** Attempts before a conflict with other writers is an error. */
const MAX_ATTEMPTS = 5

async function untilWritten(write: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++)
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof StatusError) || error.reason !== 'Conflict' || attempt === MAX_ATTEMPTS) throw error
    }
}

export const nodePlugins = (directory: string): Controller =>
  defineController({
    name: 'simulated-node-plugins',
    identity: 'node-controller',
    workers: 4,
    create({ client, enqueue, onError, signal }) {
      const nodes = client.of(Node)
      /** Drivers that plugins have brought, by node. */
      const brought = new Map<string, Set<string>>()
      const isNode = (name: string) => {
        const node = nodes.get({ name })
        return node !== undefined && isSimulated(node)
      }
      // One after the other: registrations and changes of nodes would write over each other.
      let last: Promise<unknown> = Promise.resolve()
      const inTurn = (name: string): Promise<void> => {
        const next = last.then(() => untilWritten(() => install(name)))
        last = next.catch(() => {})
        return next
      }
      const apply = async () => {
        for (const { metadata } of [...nodes.list()]) if (isNode(metadata.name ?? '')) await inTurn(metadata.name ?? '')
      }
      const registrations = new Registrations({ directory, calls: pluginCalls(signal), apply, onError, signal })

      /** As a kubelet: the labels and the annotation first. Labels stay when a driver goes. */
      async function install(name: string): Promise<void> {
        const node = nodes.get({ name })
        if (!node || !isSimulated(node)) return
        const drivers = registrations.driversOf(name, isNode)
        const present = new Set(drivers.map(driver => driver.name))
        const gone = new Set([...(brought.get(name) ?? [])].filter(driver => !present.has(driver)))
        if (present.size === 0 && gone.size === 0) return
        const self = client.as(nodeIdentity(name))
        const patch = nodePatch(node, drivers, gone)
        if (patch) await self.of(Node).patch({ name }, { metadata: patch })
        const stored = client.of(CSINode).get({ name })
        const next = withDrivers(stored?.spec.drivers ?? [], drivers, gone)
        if (!stored && !(await self.of(CSINode).create(csiNodeOf(node.metadata, next)))) enqueue(name)
        else if (stored && !isDeepStrictEqual(next, stored.spec.drivers ?? []))
          await self.of(CSINode).update({ ...stored, spec: { ...stored.spec, drivers: next } })
        brought.set(name, present)
      }

      return {
        watches: [
          watch(Node, ({ current, type }) => {
            if (type === 'deleted') brought.delete(current.name)
            return type !== 'deleted' && current.labels[SIMULATED_LABEL] === 'true' ? current.name : undefined
          }),
          watch(CSINode),
        ],
        reconcile: inTurn,
      }
    },
  })

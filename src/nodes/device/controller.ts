/** Publishes the devices of simulated nodes, as the driver on each of them would. */
import { type Controller, defineController, watch } from '../../controllers/controller.ts'
import { Node } from '../../kinds/core/node.ts'
import { ResourceSlice } from '../../kinds/resource/resourceslice.ts'
import { nodeIdentity } from '../node/identity.ts'
import { SIMULATED_LABEL } from '../node/is-simulated.ts'
import { isAlive } from '../node/simulated-node.ts'
import { type DriverSpec, planSlices, sliceContents } from './driver.ts'

export type SimulatedDriversParts = { readonly drivers: readonly DriverSpec[]; readonly gate: (name: string) => boolean }

export const simulatedDrivers = ({ drivers, gate }: SimulatedDriversParts): Controller =>
  defineController({
    name: 'simulated-driver-controller',
    identity: 'node-controller',
    workers: 10,
    create({ client }) {
      const [nodes, slices] = [client.of(Node), client.of(ResourceSlice)]
      const options = { namesPartitions: gate('DRAPartitionableDevicesType') }
      const published = drivers.map(spec => ({ driver: spec.driver, contents: sliceContents(spec, options) }))
      return {
        watches: [
          watch(Node, ({ type, current }) => (type === 'added' && current.labels[SIMULATED_LABEL] === 'true' ? current.name : undefined)),
          watch(ResourceSlice, ({ current }) => (current.labels[SIMULATED_LABEL] === 'true' ? current.fields['spec.nodeName'] : undefined)),
        ],
        async reconcile(name) {
          const node = nodes.get({ name })
          if (!node || !isAlive(node)) return
          const own = client.as(nodeIdentity(name)).of(ResourceSlice)
          const field = { key: 'spec.nodeName', value: name }
          const there = [...slices.list({ field })].filter(({ metadata }) => metadata.labels?.[SIMULATED_LABEL] === 'true')
          const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name, uid: node.metadata.uid ?? '', controller: true }]
          for (const spec of published) {
            const plan = planSlices(
              name,
              spec,
              there.filter(slice => slice.spec.driver === spec.driver),
            )
            for (const { name: slice, spec: content, old } of plan.put)
              if (old) await own.update({ ...old, spec: content })
              else await own.create({ metadata: { name: slice, labels: { [SIMULATED_LABEL]: 'true' }, ownerReferences }, spec: content })
            for (const slice of plan.remove) await own.delete(slice)
          }
          // Devices of drivers that no longer exist are removed.
          for (const slice of there) if (!published.some(({ driver }) => driver === slice.spec.driver)) await own.delete(slice)
        },
      }
    },
  })

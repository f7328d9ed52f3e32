/** Keeps ServiceCIDRs protected while services use them, and says whether they are ready. */
import { IPAddress } from '../../kinds/networking/ipaddress.ts'
import { ServiceCIDR } from '../../kinds/networking/servicecidr.ts'
import { timestampOf } from '../../lib/time.ts'
import { type ControllerContext, defineController, watch } from '../controller.ts'
import { nextStep, type Range, type Step } from './reconcile.ts'

const ALL = 'all'
/** Protect, report, release: a range needs no more than these in a row. */
const MAX_STEPS = 3

export const serviceCIDRController = defineController({
  name: 'service-cidr-controller',
  identity: 'service-cidrs-controller',
  create(context) {
    const { client, groupDomain, signal } = context
    const [ranges, addresses] = [client.of(ServiceCIDR), client.of(IPAddress)]
    const managedBy = `ipallocator.${groupDomain}`
    return {
      // The state of a range depends on all other ranges and on every address.
      watches: [watch(ServiceCIDR, () => ALL), watch(IPAddress, () => ALL)],
      async reconcile() {
        const around = {
          ranges: [...ranges.list()],
          *addresses() {
            for (const { name, labels } of addresses.revisions()) if (labels['ipaddress.kubernetes.io/managed-by'] === managedBy) yield name
          },
          finalizer: finalizerOf(groupDomain),
        }
        for (const { metadata } of around.ranges)
          for (let steps = 0; steps < MAX_STEPS && !signal.aborted; steps++) {
            const range = ranges.get(metadata)
            const step = range && nextStep(range, around)
            if (!step) break
            await take(step, range, context)
          }
      },
    }
  },
})

const finalizerOf = (groupDomain: string) => `networking.${groupDomain}/service-cidr-finalizer`

async function take(step: Step, { metadata }: Range, { client, groupDomain }: ControllerContext): Promise<void> {
  const ranges = client.of(ServiceCIDR)
  const finalizers = [finalizerOf(groupDomain)]
  const { uid, resourceVersion } = metadata
  switch (step.step) {
    case 'protect':
      await ranges.patch(metadata, { metadata: { uid, finalizers } }, { type: 'strategic' })
      return
    case 'release': {
      // Only as it was when it was found to be free.
      const released = { uid, resourceVersion, '$deleteFromPrimitiveList/finalizers': finalizers }
      await ranges.patch(metadata, { metadata: released }, { type: 'strategic' })
      return
    }
    case 'report': {
      const lastTransitionTime = timestampOf(client.now)
      const status = { conditions: [{ type: 'Ready', ...step.ready, lastTransitionTime }] }
      await ranges.apply({ metadata: { name: metadata.name }, status }, { manager: 'service-cidr-controller', subresource: 'status' })
      return
    }
  }
}

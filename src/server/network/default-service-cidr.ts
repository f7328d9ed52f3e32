/** The ServiceCIDR named `kubernetes`: the ranges of service addresses in the configuration. */
import type { Client } from '../../client/client.ts'
import { serverIdentity } from '../../client/identity.ts'
import { defineController, watch } from '../../controllers/controller.ts'
import { ServiceCIDR } from '../../kinds/networking/servicecidr.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { timestampOf } from '../../lib/time.ts'

const NAMED = { name: 'kubernetes' }
const NAME = 'kubernetes-service-cidr-controller'

/** Creates it if it does not exist; a range of a single family may get its second. */
export async function ensureDefaultServiceCIDR(client: Client, configured: readonly string[]): Promise<void> {
  const ranges = client.of(ServiceCIDR)
  const cidrs = [...configured]
  const stored = ranges.get(NAMED)
  const has = stored?.spec.cidrs ?? []
  if (!stored) await ranges.create({ metadata: NAMED, spec: { cidrs } })
  else if (has.length === 1 && cidrs.length === 2 && has[0] === cidrs[0]) await ranges.update({ ...stored, spec: { cidrs } })
}

/** Sets the condition Ready, until a controller sets a condition. */
async function reportReady(client: Client, configured: readonly string[]): Promise<void> {
  const ranges = client.of(ServiceCIDR)
  const stored = ranges.get(NAMED)
  const isReported = stored?.status.conditions?.some(({ type, status }) => type === 'Ready' && status !== 'Unknown')
  if (!stored || stored.metadata.deletionTimestamp || isReported || !deepEqual(stored.spec.cidrs, [...configured])) return
  const lastTransitionTime = timestampOf(client.now)
  const condition = { type: 'Ready', status: 'True', lastTransitionTime, message: 'Kubernetes default Service CIDR is ready' }
  await ranges.apply({ metadata: NAMED, status: { conditions: [condition] } }, { manager: NAME, subresource: 'status' })
}

/** Keeps it while the server runs. */
export const defaultServiceCIDRController = (ranges: readonly string[]) =>
  defineController({
    name: NAME,
    identity: serverIdentity(),
    create({ client, enqueue }) {
      enqueue(NAMED.name)
      return {
        watches: [watch(ServiceCIDR, ({ current }) => (current.name === NAMED.name ? NAMED.name : undefined))],
        async reconcile() {
          await ensureDefaultServiceCIDR(client, ranges)
          await reportReady(client, ranges)
        },
      }
    },
  })

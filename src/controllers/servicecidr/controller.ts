/** Keeps ServiceCIDRs protected while services use them, and says whether they are ready. */
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import { Loop } from '../loop.ts'
import { nextStep, type Range, type Step } from './reconcile.ts'

/** What the controller asks of the API. Lists are of one moment, and hold all that this controller has written. */
export interface Api {
  readonly now: Date
  get(resource: Resource, name: { readonly name: string }): AnyObject | undefined
  list(resource: Resource): Iterable<AnyObject>
  /** Calls back after every change, and when changes may have been missed. */
  follow(resource: Resource, onChange: () => void, signal: AbortSignal): void
  patch(
    resource: Resource,
    name: { readonly name: string },
    patch: object,
    how: { readonly type: string; readonly subresource?: string; readonly query?: string },
  ): Promise<boolean>
}

export type ServiceCIDRController = {
  readonly api: Api
  readonly ranges: Resource
  readonly addresses: Resource
  readonly groupDomain: string
  readonly onError: (error: unknown) => void
  readonly signal: AbortSignal
}

const NAME = 'service-cidr-controller'
const MERGE = 'application/strategic-merge-patch+json'

/** Starts the controller; the result settles when all that was known at the call has been dealt with. */
export async function startServiceCIDRController(parts: ServiceCIDRController): Promise<void> {
  const { api, ranges, addresses, onError, signal } = parts
  const loop = new Loop<'all'>({ settle: () => reconcileAll(parts), onError, signal })
  for (const resource of [ranges, addresses]) api.follow(resource, () => void loop.wake('all'), signal)
  await loop.wake('all')
}

async function reconcileAll(parts: ServiceCIDRController): Promise<void> {
  const { api, ranges, addresses, groupDomain, signal } = parts
  const manager = `ipallocator.${groupDomain}`
  const around = {
    ranges: [...api.list(ranges)] as unknown as Range[],
    *addresses() {
      for (const { metadata } of api.list(addresses))
        if (metadata.labels?.['ipaddress.kubernetes.io/managed-by'] === manager) yield metadata.name!
    },
    finalizer: finalizerOf(groupDomain),
  }
  for (const { metadata } of around.ranges) {
    const name = metadata.name!
    // Each step is decided on what the one before has left.
    for (let steps = 0; steps < 3 && !signal.aborted; steps++) {
      const range = api.get(ranges, { name }) as unknown as Range | undefined
      const step = range && nextStep(range, around)
      if (!step) break
      await take(step, range, parts)
    }
  }
}

export const finalizerOf = (groupDomain: string) => `networking.${groupDomain}/service-cidr-finalizer`

async function take(step: Step, { metadata }: Range, { api, ranges, groupDomain }: ServiceCIDRController): Promise<void> {
  const finalizers = [finalizerOf(groupDomain)]
  const name = { name: metadata.name! }
  const { uid, resourceVersion } = metadata
  switch (step.step) {
    case 'protect':
      await api.patch(ranges, name, { metadata: { uid, finalizers } }, { type: MERGE })
      return
    case 'release': {
      // Only as it was when it was found to be free.
      const released = { uid, resourceVersion, '$deleteFromPrimitiveList/finalizers': finalizers }
      await api.patch(ranges, name, { metadata: released }, { type: MERGE })
      return
    }
    case 'report': {
      const condition = { type: 'Ready', ...step.ready, lastTransitionTime: api.now.toISOString().replace(/\.\d+Z$/, 'Z') }
      const { apiVersion, kind } = ranges
      const applied = { apiVersion, kind, metadata: name, status: { conditions: [condition] } }
      const query = new URLSearchParams({ fieldManager: NAME, force: 'true' }).toString()
      await api.patch(ranges, name, applied, { type: 'application/apply-patch+yaml', subresource: 'status', query })
      return
    }
  }
}

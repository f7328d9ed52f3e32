/** The parts that the admission plugin and the controller of quotas share: measuring objects, and reservations. */

import { evaluators } from '../../admission/plugins/resource-quota/evaluators.ts'
import { type Note, type Notes, Reservations } from '../../admission/plugins/resource-quota/reservations.ts'
import { isVisible, type ResourceQuotaParts } from '../../admission/plugins/resource-quota/resource-quota.ts'
import type { Reader } from '../../admission/reader.ts'
import type { Client } from '../../client/client.ts'
import { ResourceQuota } from '../../kinds/core/resourcequota.ts'
import { StatusError } from '../../schema/status-error.ts'

export type QuotaOptions = {
  readonly client: Client
  readonly reader: Reader
  readonly groupDomain: string
  readonly gate: (name: string) => boolean
  readonly now: () => Date
  /** Publishes reservations to other servers over the same store. */
  readonly notes?: Notes | undefined
}

type IsVisible = (note: Note, namespace: string) => boolean

export function quotaParts({
  client,
  reader,
  groupDomain,
  gate,
  now,
  notes,
}: QuotaOptions): Omit<ResourceQuotaParts, 'reader'> & { isVisible: IsVisible } {
  return {
    evaluatorOf: evaluators({
      reader,
      groupDomain,
      now,
      hasPodLevel: gate('PodLevelResources'),
      hasExtendedResources: gate('DRAExtendedResource'),
    }),
    reservations: new Reservations(notes),
    isVisible: (note, namespace) => isVisible(note, namespace, reader),
    async writeStatus(quota) {
      try {
        await client.of(ResourceQuota).updateStatus(quota as ResourceQuota)
        return undefined
      } catch (error) {
        if (error instanceof StatusError && error.reason === 'Conflict') return error
        throw error
      }
    },
  }
}

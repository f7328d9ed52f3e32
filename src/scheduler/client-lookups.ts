/** The lookups of plugins, answered from the informers of the server. */
import type { Client } from '../client/client.ts'
import type { IndexDefinition } from '../client/informer.ts'
import { ReplicaSet } from '../kinds/apps/replicaset.ts'
import { StatefulSet } from '../kinds/apps/statefulset.ts'
import { Namespace } from '../kinds/core/namespace.ts'
import { ReplicationController } from '../kinds/core/replicationcontroller.ts'
import { Service } from '../kinds/core/service/service.ts'
import { CSIDriver } from '../kinds/storage/csidriver.ts'
import { CSINode } from '../kinds/storage/csinode.ts'
import { StorageClass } from '../kinds/storage/storageclass.ts'
import { VolumeAttachment } from '../kinds/storage/volumeattachment.ts'
import type { Lookups } from './lookups.ts'

const ATTACHED_TO: IndexDefinition<VolumeAttachment> = {
  name: 'attached-to',
  valuesOf: ({ object }) => (object ? [object.spec.nodeName] : []),
}

export function clientLookups(client: Client, { devices, volumes }: Pick<Lookups, 'devices' | 'volumes'>): Lookups {
  const [namespaces, services] = [client.of(Namespace), client.of(Service)]
  const [classes, attachments] = [client.of(StorageClass), client.of(VolumeAttachment)]
  const [csiNodes, csiDrivers] = [client.of(CSINode), client.of(CSIDriver)]
  const [controllers, replicaSets, statefulSets] = [client.of(ReplicationController), client.of(ReplicaSet), client.of(StatefulSet)]
  return {
    namespaceLabels: name => namespaces.revision({ name })?.labels ?? {},
    *namespacesMatching({ matches }) {
      for (const { name, labels } of namespaces.revisions()) if (matches(labels)) yield name
    },
    *serviceSelectors(namespace) {
      for (const { spec } of services.list({ namespace })) if (spec.selector && Object.keys(spec.selector).length > 0) yield spec.selector
    },
    workloadSelector({ apiVersion, kind, name }, namespace) {
      const named = { namespace, name }
      switch (`${apiVersion}/${kind}`) {
        case 'v1/ReplicationController': {
          const labels = controllers.get(named)?.spec.selector
          return labels && { labels }
        }
        case 'apps/v1/ReplicaSet': {
          const selector = replicaSets.get(named)?.spec.selector
          return selector && { selector }
        }
        case 'apps/v1/StatefulSet': {
          const selector = statefulSets.get(named)?.spec.selector
          return selector && { selector }
        }
        default:
          return undefined
      }
    },
    claim: volumes.claim,
    volume: volumes.volume,
    storageClass: name => classes.get({ name }),
    csiNode: name => csiNodes.get({ name }),
    csiDriver: name => csiDrivers.get({ name }),
    attachmentsOn: node => attachments.byIndex(ATTACHED_TO, node),
    devices,
    volumes,
  }
}

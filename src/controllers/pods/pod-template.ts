/** A pod as a workload makes it from its template. */

import type { Draft } from '../../client/client.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { PodTemplateSpec } from '../../kinds/rules/pod/spec.ts'
import { nameIsDNSSubdomain } from '../../lib/names.ts'
import type { Envelope, OwnerReference } from '../../schema/object-meta.ts'

/** The reference of an object to its controller. */
export const controllerReference = ({ apiVersion, kind, metadata: { name = '', uid = '' } }: Envelope): OwnerReference => ({
  apiVersion,
  kind,
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
})

/** `NAME-`, or the name alone where that would be too long. */
export const podNamePrefix = (name: string): string => (nameIsDNSSubdomain(`${name}-`, 'prefix').length === 0 ? `${name}-` : name)

/** A new pod of a workload; its name is made from the workload's unless `metadata` names it. */
export function podFromTemplate(template: PodTemplateSpec, owner: Envelope, metadata: Draft<Pod['metadata']> = {}): Draft<Pod> {
  const { labels, annotations, finalizers } = template.metadata
  const name = metadata.name || metadata.generateName ? {} : { generateName: podNamePrefix(owner.metadata.name ?? '') }
  return {
    metadata: {
      ...name,
      namespace: owner.metadata.namespace,
      labels: { ...labels },
      annotations: { ...annotations },
      ...(finalizers?.length && { finalizers: [...finalizers] }),
      ownerReferences: [controllerReference(owner)],
      ...metadata,
    },
    spec: template.spec,
  }
}

/** Finds the desired size of the workload of a pod, for built-in kinds and for all others with a scale subresource. */
import type { Client } from '../../client/client.ts'
import { Deployment } from '../../kinds/apps/deployment.ts'
import { ReplicaSet } from '../../kinds/apps/replicaset.ts'
import type { Envelope, OwnerReference } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import { controllerOf } from '../pods/ownership.ts'
import type { Scale, ScaleOf } from './reconcile.ts'

export function scaleReader(client: Client): ScaleOf {
  const [replicaSets, deployments] = [client.of(ReplicaSet).resource, client.of(Deployment).resource]
  /** The object that a reference means, if it is still that one. */
  const referred = ({ apiVersion, kind, name, uid }: OwnerReference, namespace: string) => {
    const objects = client.ofKind(apiVersion, kind)
    if (!objects) throw new Error(`no matches for kind "${kind}" in version "${apiVersion}"`)
    const object = objects.get({ namespace, name })
    return { resource: objects.resource, object: object?.metadata.uid === uid ? object : undefined }
  }
  return (controller, namespace) => {
    const { resource, object } = referred(controller, namespace)
    const deployment = object && isOf(replicaSets, controller) ? controllerOf(object) : undefined
    if (deployment && isOf(deployments, deployment)) {
      const found = referred(deployment, namespace)
      return found.object && scaleIn(found.resource, found.object)
    }
    if (!resource.def.subresources?.scale)
      throw new Error(`${resource.plural}${resource.group && `.${resource.group}`} does not implement the scale subresource`)
    return object && scaleIn(resource, object)
  }
}

const isOf = ({ group, kind }: Resource, reference: OwnerReference): boolean =>
  reference.kind === kind && reference.apiVersion.split('/')[0] === group

const scaleIn = ({ def }: Resource, object: Envelope): Scale => ({
  uid: object.metadata.uid!,
  replicas: def.subresources?.scale?.replicas(object) ?? 0,
})

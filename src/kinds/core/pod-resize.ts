/** Changing the resources of a running pod. */
import type { RequestContext } from '../../schema/request-context.ts'
import type { Container } from '../shapes/pod/containers/container.ts'
import { fillPodLevelResources } from '../shapes/pod/resources/level-resources.ts'
import { type PodObject, prepareChangedPod } from './pod-preparation.ts'

/**
 * Takes over resources and resize policies only. Containers that were added, removed, reordered or renamed are taken as
 * they are sent, for the rules to refuse.
 */
export function takeResources<P extends PodObject>(sent: P, stored: P): P {
  const { containers = [], initContainers = [], resources } = sent.spec
  const old = stored.spec
  if ((containers ?? []).length !== (old.containers ?? []).length) return sent
  if ((initContainers ?? []).length !== (old.initContainers ?? []).length) return sent
  const spec = { ...old, containers: mergeResources(containers, old.containers) }
  if (old.initContainers) spec.initContainers = mergeResources(initContainers, old.initContainers)
  if (resources) spec.resources = resources
  else delete spec.resources
  return { ...stored, spec }
}

/** Completes a resized pod. */
export function prepareResizedPod(pod: PodObject, old: PodObject, ctx: RequestContext): void {
  prepareChangedPod(pod, old, ctx)
  fillPodLevelResources(pod.spec)
}

function mergeResources(sent: Container[], stored: Container[]): Container[] {
  if (sent.some((container, i) => container.name !== stored[i]?.name)) return sent
  return stored.map((container, i) => {
    const { resizePolicy: _, ...kept } = container
    const { resources, resizePolicy } = sent[i]!
    return { ...kept, resources, ...(resizePolicy ? { resizePolicy } : {}) }
  })
}

/** In-place resize: the resources of a container that differ from those in force, and the texts of events about it. */

import { stringifyJson } from '../../codec/json.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import type { ContainerStatus } from '../../kinds/rules/pod/status/container-status.ts'
import type { Json } from '../../lib/json-value.ts'

type Amounts = Readonly<Record<string, string>> | undefined

/** The resources, cpu and memory, whose amounts in the spec differ from those in force. */
export function resourcesToResize({ resources }: Container, status: ContainerStatus): string[] {
  const inForce = status.resources
  if (!inForce) return []
  const differs = (name: string) =>
    (['requests', 'limits'] as const).some(list => amount(resources[list], name) !== amount(inForce[list], name))
  return ['cpu', 'memory'].filter(differs)
}

const amount = (amounts: Amounts, name: string) => amounts?.[name]

/** The requested resources of the pod, as events about resizing write them. */
export function resized({ metadata, spec }: Pod, error = ''): string {
  const of = (containers: readonly Container[] | undefined) => containers?.map(({ name, resources }) => ({ name, resources }))
  return stringifyJson({
    ...(spec.initContainers?.length && { initContainers: of(spec.initContainers) }),
    containers: of(spec.containers),
    generation: Number(metadata.generation ?? 0),
    ...(error && { error }),
  } as unknown as Json)
}

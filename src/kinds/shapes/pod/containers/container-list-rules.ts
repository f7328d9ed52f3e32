/** All containers of a pod, each with its place. */
import type { Ref } from '../../../../schema/refs.ts'
import type { PodSpec } from '../spec.ts'
import type { Container } from './container.ts'

/** Every container with its place: first those that initialise, then those that run, then those added for debugging. */
export function* placedContainersOf(spec: PodSpec, at: Ref<PodSpec>): Iterable<readonly [Container, Ref<Container>]> {
  for (const [i, container] of (spec.initContainers ?? []).entries()) yield [container, at.initContainers[i]!]
  for (const [i, container] of (spec.containers ?? []).entries()) yield [container, at.containers[i]!]
  for (const [i, container] of (spec.ephemeralContainers ?? []).entries())
    yield [container, at.ephemeralContainers[i]! as unknown as Ref<Container>]
}

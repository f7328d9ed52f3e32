/** All containers of a pod, each with its field path. */
import type { Ref } from '../../../../schema/refs.ts'
import type { PodSpec } from '../spec.ts'
import type { Container } from './container.ts'

/** A container and its field path. The Ref is created on demand: rules visit every container, and report few. */
export class ContainerWithRef {
  readonly container: Container
  readonly #list: Ref<Container[]>
  readonly #index: number

  constructor(container: Container, list: Ref<Container[]>, index: number) {
    this.container = container
    this.#list = list
    this.#index = index
  }

  get at(): Ref<Container> {
    return this.#list[this.#index]!
  }
}

/** All containers: init containers, then containers, then ephemeral ones. */
export function containersWithRefs(spec: PodSpec, at: Ref<PodSpec>): readonly ContainerWithRef[] {
  const placed: ContainerWithRef[] = []
  const withRefs = (containers: readonly Container[] | undefined, list: Ref<Container[]>) =>
    containers?.forEach((container, i) => {
      placed.push(new ContainerWithRef(container, list, i))
    })
  withRefs(spec.initContainers, at.initContainers)
  withRefs(spec.containers, at.containers)
  withRefs(spec.ephemeralContainers as Container[] | undefined, at.ephemeralContainers as unknown as Ref<Container[]>)
  return placed
}

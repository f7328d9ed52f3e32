/** The containers of a pod taken together: visiting them, and which of them keep running. */

import type { PodSpec } from '../spec.ts'
import type { Container, EphemeralContainer } from './container.ts'

/** Init containers first, then containers, then ephemeral ones, as they are started. */
export function* containersOf(spec: PodSpec): Iterable<Container | EphemeralContainer> {
  yield* spec.initContainers ?? []
  yield* spec.containers ?? []
  yield* spec.ephemeralContainers ?? []
}

/** Whether an init container is a sidecar: started before the containers, and kept running beside them. */
export const isSidecar = (container: Container | undefined): boolean => container?.restartPolicy === 'Always'

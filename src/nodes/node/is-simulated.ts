/** Whether a node is simulated here. */
import type { Node } from '../../kinds/core/node.ts'

/** The name of the container runtime. */
export const RUNTIME = 'simulated'
/** Every simulated node has this label, and a Node that is created with it is simulated from then on. */
export const SIMULATED_LABEL = 'keelson.dev/simulated'

/** A node that a real kubelet has registered is not simulated, whatever its labels. */
export function isSimulated(node: Node | undefined): boolean {
  const runtime = node?.status.nodeInfo.containerRuntimeVersion ?? ''
  return node?.metadata.labels?.[SIMULATED_LABEL] === 'true' && (runtime === '' || runtime.startsWith(`${RUNTIME}://`))
}

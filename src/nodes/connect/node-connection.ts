/** The connection to a node: to its kubelet, or to the simulation of one. */
import type { Node } from '../../kinds/core/node.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Call, CallContext, Result } from '../../registry/api.ts'

export type PodRequest = {
  readonly pod: Pod
  /** The name of the container; empty when the request is about none. */
  readonly container: string
  readonly node: Node
  readonly call: Call
  readonly ctx: CallContext
}

/** Both reject with a StatusError. */
export interface NodeConnection {
  /** Handles requests for `log`, `exec`, `attach`, `portforward` and `proxy` of a pod. */
  pod(request: PodRequest): Promise<Result>
  /** Handles requests for `proxy` of the node itself. */
  node(name: string, call: Call, ctx: CallContext): Promise<Result>
}

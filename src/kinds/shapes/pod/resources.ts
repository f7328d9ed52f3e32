/** Amounts of compute resources that pods and containers ask for. */
import { keyed, mapOf, message, quantity, type Static, string } from '../../../schema/types.ts'

export const ResourceClaim = message('ResourceClaim', {
  name: [1, string.always(), 'The entry of resourceClaims in the pod.'],
  request: [2, string, 'One request of the claim; all when empty.'],
})
export type ResourceClaim = Static<typeof ResourceClaim>

export const ResourceRequirements = message('ResourceRequirements', {
  limits: [1, mapOf(quantity), 'The most that may be used.'],
  requests: [2, mapOf(quantity), 'What is set aside at least.'],
  claims: [3, keyed(ResourceClaim, 'name'), 'Device claims the container uses.'],
})
export type ResourceRequirements = Static<typeof ResourceRequirements>

export const ContainerResizePolicy = message('ContainerResizePolicy', {
  resourceName: [1, string.always(), 'The resource the policy is for: cpu or memory.'],
  restartPolicy: [2, string.always(), 'Whether a change of the resource restarts the container: NotRequired or RestartContainer.'],
})
export type ContainerResizePolicy = Static<typeof ContainerResizePolicy>

/** Amounts of compute resources that pods and containers ask for. */
import { keyed, mapOf, message, quantity, type Static, string } from '../../../schema/types.ts'

export const ResourceClaim = message('ResourceClaim', {
  name: [1, string.always(), ''],
  request: [2, string, ''],
})
export type ResourceClaim = Static<typeof ResourceClaim>

export const ResourceRequirements = message('ResourceRequirements', {
  limits: [1, mapOf(quantity), ''],
  requests: [2, mapOf(quantity), ''],
  claims: [3, keyed(ResourceClaim, 'name'), ''],
})
export type ResourceRequirements = Static<typeof ResourceRequirements>

export const ContainerResizePolicy = message('ContainerResizePolicy', {
  resourceName: [1, string.always(), ''],
  restartPolicy: [2, string.always(), ''],
})
export type ContainerResizePolicy = Static<typeof ContainerResizePolicy>

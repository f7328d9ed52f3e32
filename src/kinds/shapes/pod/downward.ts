/** What a pod may read about itself: its own fields and the resources of its containers. */
import { message, quantity, type Static, string } from '../../../schema/types.ts'

export const ObjectFieldSelector = message('ObjectFieldSelector', {
  apiVersion: [1, string.default('v1'), ''],
  fieldPath: [2, string.always(), ''],
}).atomic()
export type ObjectFieldSelector = Static<typeof ObjectFieldSelector>

export const ResourceFieldSelector = message('ResourceFieldSelector', {
  containerName: [1, string, ''],
  resource: [2, string.always(), ''],
  divisor: [3, quantity.default('0'), ''],
}).atomic()
export type ResourceFieldSelector = Static<typeof ResourceFieldSelector>

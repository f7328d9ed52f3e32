/** What a pod may read about itself: its own fields and the resources of its containers. */
import { message, quantity, type Static, string } from '../../../../schema/types.ts'

export const ObjectFieldSelector = message('ObjectFieldSelector', {
  apiVersion: [1, string.default('v1'), 'The version in which the path is written.'],
  fieldPath: [2, string.always(), 'The field, such as metadata.name.'],
}).atomic()
export type ObjectFieldSelector = Static<typeof ObjectFieldSelector>

export const ResourceFieldSelector = message('ResourceFieldSelector', {
  containerName: [1, string, 'The container; in environment variables, the own one when empty.'],
  resource: [2, string.always(), 'The resource, such as limits.cpu.'],
  divisor: [3, quantity.default('0'), 'Unit the amount is written in; 0 stands for 1.'],
}).atomic()
export type ResourceFieldSelector = Static<typeof ResourceFieldSelector>

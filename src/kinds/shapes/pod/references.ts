/** References to other objects, shared by the kinds that point at something. */
import { message, type Static, string } from '../../../schema/types.ts'

export const localObjectReference = {
  name: [1, string, ''],
} as const
export const LocalObjectReference = message('LocalObjectReference', localObjectReference).atomic()
export type LocalObjectReference = Static<typeof LocalObjectReference>

export const ObjectReference = message('ObjectReference', {
  kind: [1, string, ''],
  namespace: [2, string, ''],
  name: [3, string, ''],
  uid: [4, string, ''],
  apiVersion: [5, string, ''],
  resourceVersion: [6, string, ''],
  fieldPath: [7, string, ''],
}).atomic()
export type ObjectReference = Static<typeof ObjectReference>

export const SecretReference = message('SecretReference', {
  name: [1, string, ''],
  namespace: [2, string, ''],
}).atomic()
export type SecretReference = Static<typeof SecretReference>

export const TypedLocalObjectReference = message('TypedLocalObjectReference', {
  apiGroup: [1, string.always(), ''],
  kind: [2, string.always(), ''],
  name: [3, string.always(), ''],
}).atomic()
export type TypedLocalObjectReference = Static<typeof TypedLocalObjectReference>

export const TypedObjectReference = message('TypedObjectReference', {
  apiGroup: [1, string.always(), ''],
  kind: [2, string.always(), ''],
  name: [3, string.always(), ''],
  namespace: [4, string.optional(), ''],
})
export type TypedObjectReference = Static<typeof TypedObjectReference>

/** References to other objects. */
import { message, type Static, string } from '../../schema/types.ts'

export const localObjectReference = {
  name: [1, string.openapiDefault(''), 'Name of the object, in the same namespace.'],
} as const
export const LocalObjectReference = message('LocalObjectReference', localObjectReference).atomic()
export type LocalObjectReference = Static<typeof LocalObjectReference>

export const ObjectReference = message('ObjectReference', {
  kind: [1, string, 'Kind of the object.'],
  namespace: [2, string, 'Namespace of the object.'],
  name: [3, string, 'Name of the object.'],
  uid: [4, string, 'UID of the object.'],
  apiVersion: [5, string, 'API version of the object.'],
  resourceVersion: [6, string, 'The resourceVersion of the referenced object.'],
  fieldPath: [7, string, 'A part of the object, such as spec.containers{name}.'],
}).atomic()
export type ObjectReference = Static<typeof ObjectReference>

export const SecretReference = message('SecretReference', {
  name: [1, string, 'Name of the secret.'],
  namespace: [2, string, 'Namespace of the secret.'],
}).atomic()
export type SecretReference = Static<typeof SecretReference>

export const TypedLocalObjectReference = message('TypedLocalObjectReference', {
  apiGroup: [1, string.optional().always().omittable(), 'API group of the object; the core group when absent.'],
  kind: [2, string.always(), 'Kind of the object.'],
  name: [3, string.always(), 'Name of the object.'],
}).atomic()
export type TypedLocalObjectReference = Static<typeof TypedLocalObjectReference>

export const TypedObjectReference = message('TypedObjectReference', {
  apiGroup: [1, string.optional().always().omittable(), 'API group of the object; the core group when absent.'],
  kind: [2, string.always(), 'Kind of the object.'],
  name: [3, string.always(), 'Name of the object.'],
  namespace: [4, string.optional(), 'Namespace of the object; the own one when absent.'],
})
export type TypedObjectReference = Static<typeof TypedObjectReference>

/** Objects as the API serves them. */

/** An object as the API serves it. Its content is known only to the server's schema. */
export type KubeObject = {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
  [field: string]: any
}

export type ObjectMeta = {
  name: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  finalizers?: string[]
  ownerReferences?: OwnerReference[]
  managedFields?: ManagedFields[]
}

export type OwnerReference = { apiVersion: string; kind: string; name: string; uid: string; controller?: boolean }

export type ManagedFields = {
  manager?: string
  operation?: string
  time?: string
  subresource?: string
  apiVersion?: string
  fieldsV1?: Record<string, unknown>
}

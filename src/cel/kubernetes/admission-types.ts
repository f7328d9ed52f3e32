/** The types of what expressions see of a request under admission. */

import { boolType, dynType, intType, stringType, timestampType } from '../checker/types.ts'
import { sized, sizedList, sizedMap, sizedObject } from './sized-types.ts'

const text = sized(stringType)
const texts = sizedList(text)
const labels = sizedMap(text, text)

const groupVersionKind = sizedObject('kubernetes.GroupVersionKind', { group: text, version: text, kind: text })
const groupVersionResource = sizedObject('kubernetes.GroupVersionResource', { group: text, version: text, resource: text })

/** The variable `request`. */
export const admissionRequestType = sizedObject('kubernetes.AdmissionRequest', {
  kind: groupVersionKind,
  resource: groupVersionResource,
  subResource: text,
  requestKind: groupVersionKind,
  requestResource: groupVersionResource,
  requestSubResource: text,
  name: text,
  namespace: text,
  operation: text,
  userInfo: sizedObject('kubernetes.UserInfo', { username: text, uid: text, groups: texts, extra: sizedMap(text, texts) }),
  dryRun: sized(boolType),
  options: sized(dynType),
})

/** The variable `namespaceObject`: a namespace without what only its managers need. */
export const namespaceObjectType = sizedObject('kubernetes.Namespace', {
  metadata: sizedObject('kubernetes.NamespaceMetadata', {
    name: text,
    generateName: text,
    namespace: text,
    labels,
    annotations: labels,
    UID: text,
    creationTimestamp: sized(timestampType),
    deletionGracePeriodSeconds: sized(intType),
    deletionTimestamp: sized(timestampType),
    generation: sized(intType),
    resourceVersion: text,
    finalizers: texts,
  }),
  spec: sizedObject('kubernetes.NamespaceSpec', { finalizers: texts }),
  status: sizedObject('kubernetes.NamespaceStatus', {
    conditions: sizedList(
      sizedObject('kubernetes.NamespaceCondition', {
        status: text,
        type: text,
        lastTransitionTime: sized(timestampType),
        message: text,
        reason: text,
      }),
    ),
    phase: text,
  }),
})

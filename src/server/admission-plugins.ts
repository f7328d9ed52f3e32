/** The admission plugins that are on, in the order in which they are asked. */
import { defaultIngressClass } from '../admission/default-ingress-class.ts'
import { defaultStorageClass } from '../admission/default-storage-class.ts'
import { defaultTolerationSeconds } from '../admission/default-toleration-seconds.ts'
import { namespaceLifecycle } from '../admission/namespace-lifecycle.ts'
import { persistentVolumeClaimResize } from '../admission/persistent-volume-claim-resize.ts'
import type { Plugin } from '../admission/plugin.ts'
import { priority } from '../admission/priority.ts'
import type { Reader } from '../admission/reader.ts'
import { runtimeClass } from '../admission/runtime-class.ts'
import { storageObjectInUseProtection } from '../admission/storage-object-in-use-protection.ts'
import { taintNodesByCondition } from '../admission/taint-nodes-by-condition.ts'
import type { AnyObject } from '../schema/object-meta.ts'

export type PluginParts = {
  readonly reader: Reader
  readonly namespace: (name: string) => AnyObject | undefined
  readonly groupDomain: string
}

/** Those of Kubernetes that are on by default and need nothing but what is stored, in the order of Kubernetes. */
export const admissionPlugins = ({ reader, namespace, groupDomain }: PluginParts): readonly Plugin[] => [
  namespaceLifecycle(namespace),
  taintNodesByCondition,
  priority(reader, groupDomain),
  defaultTolerationSeconds,
  defaultStorageClass(reader, groupDomain),
  storageObjectInUseProtection(groupDomain),
  persistentVolumeClaimResize(reader, groupDomain),
  runtimeClass(reader, groupDomain),
  defaultIngressClass(reader, groupDomain),
]

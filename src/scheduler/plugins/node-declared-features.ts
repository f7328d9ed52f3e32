/** Some fields of a pod work only on nodes that say that they know them. */
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { type Plugin, unresolvable } from '../plugin.ts'

const REJECTION = unresolvable("node(s) didn't match Pod's required features")

export const nodeDeclaredFeatures: Plugin = {
  name: 'NodeDeclaredFeatures',
  filter({ pod: { spec } }) {
    const features = requiredFeatures(spec)
    if (features.length === 0) return undefined
    return { test: node => (features.every(feature => node.features.has(feature)) ? undefined : REJECTION) }
  },
  queueingHints: {
    'node added': () => true,
    'node features': () => true,
    'self changed': (_, event) =>
      event.about === 'self' &&
      event.before !== undefined &&
      event.after !== undefined &&
      !deepEqual(requiredFeatures(event.before.spec), requiredFeatures(event.after.spec)),
  },
}

function requiredFeatures({ containers = [], initContainers = [], ephemeralContainers = [], hostNetwork, hostUsers }: PodSpec): string[] {
  const lasting = [...containers, ...initContainers]
  const features: string[] = []
  if (lasting.some(({ restartPolicyRules = [] }) => restartPolicyRules.some(({ action }) => action === 'RestartAllContainers')))
    features.push('RestartAllContainersOnContainerExits')
  if (hostNetwork && hostUsers === false) features.push('UserNamespacesHostNetworkSupport')
  if ([...lasting, ...ephemeralContainers].some(({ volumeMounts = [] }) => volumeMounts.some(hasBindOptions)))
    features.push('VolumeBindMountOptions')
  return features
}

const hasBindOptions = (mount: { readonly bindMountOptions?: unknown[] }): boolean => (mount.bindMountOptions?.length ?? 0) > 0

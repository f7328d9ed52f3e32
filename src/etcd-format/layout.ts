/**
 * Where kube-apiserver keeps the objects of each kind in etcd, in which version and encoding. Kinds that are not listed follow the rule: a
 * built-in kind is under its plural name, as protobuf, in its stored version; custom kinds are under group and plural, as JSON.
 */
import { isServedApart, type Resource, recordsPath } from '../schema/resource.ts'

/**
 * Other versions in which records may be: from before the stored one was, which no release serves any more, or from a later release, which
 * stores another. The stored version has their fields under the same numbers. Records in others are not read; kube-apiserver of the version
 * that wrote them can rewrite them.
 */
const READABLE_VERSIONS: Readonly<Record<string, readonly string[]>> = {
  certificatesigningrequests: ['v1beta1'],
  clusterrolebindings: ['v1beta1'],
  clusterroles: ['v1beta1'],
  controllerrevisions: ['v1beta1', 'v1beta2'],
  cronjobs: ['v1beta1'],
  csidrivers: ['v1beta1'],
  csinodes: ['v1beta1'],
  csistoragecapacities: ['v1alpha1', 'v1beta1'],
  daemonsets: ['v1beta2'],
  deployments: ['v1beta2'],
  flowschemas: ['v1beta1', 'v1beta2', 'v1beta3'],
  ingressclasses: ['v1beta1'],
  ipaddresses: ['v1alpha1'],
  leases: ['v1beta1'],
  mutatingwebhookconfigurations: ['v1beta1'],
  podcertificaterequests: ['v1'],
  poddisruptionbudgets: ['v1beta1'],
  priorityclasses: ['v1alpha1', 'v1beta1'],
  prioritylevelconfigurations: ['v1beta3'],
  replicasets: ['v1beta2'],
  rolebindings: ['v1beta1'],
  roles: ['v1beta1'],
  runtimeclasses: ['v1beta1'],
  servicecidrs: ['v1alpha1'],
  statefulsets: ['v1beta1', 'v1beta2'],
  storageclasses: ['v1beta1'],
  validatingadmissionpolicies: ['v1alpha1', 'v1beta1'],
  validatingadmissionpolicybindings: ['v1alpha1', 'v1beta1'],
  validatingwebhookconfigurations: ['v1beta1'],
  volumeattachments: ['v1alpha1', 'v1beta1'],
  volumeattributesclasses: ['v1alpha1'],
}

export type Layout = {
  /** Where its records are: `/services/specs/`. */
  readonly base: string
  readonly encoding: 'protobuf' | 'json'
  /** The version and kind that records name. */
  readonly apiVersion: string
  /** Other versions that they may name, with the same fields. */
  readonly alsoWrittenAs: readonly string[]
}

/** The layout of a built-in kind, given in its stored version. */
export function layoutOf(resource: Resource): Layout {
  const { group, version, plural, def } = resource
  const named = (v: string) => (group === '' ? v : `${group}/${v}`)
  const stored = def.storedAs?.version ?? version
  const others = [version, ...Object.keys(def.otherVersions ?? {}), ...(READABLE_VERSIONS[plural] ?? [])].filter(v => v !== stored)
  return {
    base: recordsPath(resource),
    encoding: isServedApart(resource) ? 'json' : 'protobuf',
    apiVersion: named(stored),
    alsoWrittenAs: others.map(named),
  }
}

/** How errors print values that are not plain fields. The texts are those of kube-apiserver. */
import { pathOf, type Ref, refTo } from '../../schema/refs.ts'

/** A path under `at` for errors that no field has, with `value` as the value. */
export const under = <T>(at: Ref<any>, name: string, value?: T): Ref<T> =>
  refTo(value, pathOf(at) === '' ? name : `${pathOf(at)}.${name}`) as Ref<T>

/** The object as a whole, for errors about no field in particular. */
export const wholeObject: Ref<any> = refTo(undefined, '')

/** Which fields a structure shows, in order, under which names, and the value for an absent one. */
export type ErrorLayout = Readonly<Record<string, readonly [field: string, absent: null | '', inner?: ErrorLayout]>>

/** A structure as errors print it: every field under its upper-case name, also those that are not set. */
export function printedAs(layout: ErrorLayout, value: any): unknown {
  if (value === undefined || value === null) return null
  if (Array.isArray(value)) return value.map(item => printedAs(layout, item))
  return Object.fromEntries(
    Object.entries(layout).map(([name, [field, absent, inner]]) => {
      const part = value[field]
      return [name, part === undefined || part === null ? absent : inner ? printedAs(inner, part) : part]
    }),
  )
}

const PROFILE: ErrorLayout = { Type: ['type', ''], LocalhostProfile: ['localhostProfile', null] }
const SELINUX: ErrorLayout = { User: ['user', ''], Role: ['role', ''], Type: ['type', ''], Level: ['level', ''] }
const WINDOWS: ErrorLayout = {
  GMSACredentialSpecName: ['gmsaCredentialSpecName', null],
  GMSACredentialSpec: ['gmsaCredentialSpec', null],
  RunAsUserName: ['runAsUserName', null],
  HostProcess: ['hostProcess', null],
}
const REQUIREMENT: ErrorLayout = { Key: ['key', ''], Operator: ['operator', ''], Values: ['values', null] }

export const SECCOMP_PROFILE_LAYOUT: ErrorLayout = PROFILE
export const SECURITY_CONTEXT_LAYOUT: ErrorLayout = {
  Capabilities: ['capabilities', null, { Add: ['add', null], Drop: ['drop', null] }],
  Privileged: ['privileged', null],
  SELinuxOptions: ['seLinuxOptions', null, SELINUX],
  WindowsOptions: ['windowsOptions', null, WINDOWS],
  RunAsUser: ['runAsUser', null],
  RunAsGroup: ['runAsGroup', null],
  RunAsNonRoot: ['runAsNonRoot', null],
  ReadOnlyRootFilesystem: ['readOnlyRootFilesystem', null],
  AllowPrivilegeEscalation: ['allowPrivilegeEscalation', null],
  ProcMount: ['procMount', null],
  SeccompProfile: ['seccompProfile', null, PROFILE],
  AppArmorProfile: ['appArmorProfile', null, PROFILE],
}
export const POD_RESOURCE_CLAIM_LAYOUT: ErrorLayout = {
  Name: ['name', ''],
  ResourceClaimName: ['resourceClaimName', null],
  ResourceClaimTemplateName: ['resourceClaimTemplateName', null],
}
export const CLUSTER_TRUST_BUNDLE_LAYOUT: ErrorLayout = {
  Name: ['name', null],
  SignerName: ['signerName', null],
  LabelSelector: ['labelSelector', null],
  Optional: ['optional', null],
  Path: ['path', ''],
  User: ['user', null],
}
export const NODE_SELECTOR_TERM_LAYOUT: ErrorLayout = {
  MatchExpressions: ['matchExpressions', null, REQUIREMENT],
  MatchFields: ['matchFields', null, REQUIREMENT],
}
export const RESOURCE_REQUIREMENTS_LAYOUT: ErrorLayout = {
  Limits: ['limits', null],
  Requests: ['requests', null],
  Claims: ['claims', null, { Name: ['name', ''], Request: ['request', ''] }],
}
export const IP_LAYOUT: ErrorLayout = { IP: ['ip', ''] }

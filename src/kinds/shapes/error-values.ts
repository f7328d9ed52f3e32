/** How errors name and show what is not a plain field: clients know these texts, so they are kept as they are. */
import { pathOf, type Ref, refTo } from '../../schema/refs.ts'

/** A place under `at` that errors name although no field is called so, showing `value`. */
export const under = <T>(at: Ref<any>, name: string, value?: T): Ref<T> =>
  refTo(value, pathOf(at) === '' ? name : `${pathOf(at)}.${name}`) as Ref<T>

/** The object as a whole, for errors about no field in particular. */
export const nowhere: Ref<any> = refTo(undefined, '')

/** Which fields a structure shows, in order, under which names, and what stands for an absent one. */
export type Form = Readonly<Record<string, readonly [field: string, absent: null | '', inner?: Form]>>

/** A structure the way errors print it: every field under its upper-case name, also those that are not set. */
export function shownAs(form: Form, value: any): unknown {
  if (value === undefined || value === null) return null
  if (Array.isArray(value)) return value.map(item => shownAs(form, item))
  return Object.fromEntries(
    Object.entries(form).map(([name, [field, absent, inner]]) => {
      const part = value[field]
      return [name, part === undefined || part === null ? absent : inner ? shownAs(inner, part) : part]
    }),
  )
}

const PROFILE: Form = { Type: ['type', ''], LocalhostProfile: ['localhostProfile', null] }
const SELINUX: Form = { User: ['user', ''], Role: ['role', ''], Type: ['type', ''], Level: ['level', ''] }
const WINDOWS: Form = {
  GMSACredentialSpecName: ['gmsaCredentialSpecName', null],
  GMSACredentialSpec: ['gmsaCredentialSpec', null],
  RunAsUserName: ['runAsUserName', null],
  HostProcess: ['hostProcess', null],
}
const REQUIREMENT: Form = { Key: ['key', ''], Operator: ['operator', ''], Values: ['values', null] }

export const SECCOMP_PROFILE_FORM: Form = PROFILE
export const SECURITY_CONTEXT_FORM: Form = {
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
export const POD_RESOURCE_CLAIM_FORM: Form = {
  Name: ['name', ''],
  ResourceClaimName: ['resourceClaimName', null],
  ResourceClaimTemplateName: ['resourceClaimTemplateName', null],
}
export const CLUSTER_TRUST_BUNDLE_FORM: Form = {
  Name: ['name', null],
  SignerName: ['signerName', null],
  LabelSelector: ['labelSelector', null],
  Optional: ['optional', null],
  Path: ['path', ''],
  User: ['user', null],
}
export const NODE_SELECTOR_TERM_FORM: Form = {
  MatchExpressions: ['matchExpressions', null, REQUIREMENT],
  MatchFields: ['matchFields', null, REQUIREMENT],
}
export const RESOURCE_REQUIREMENTS_FORM: Form = {
  Limits: ['limits', null],
  Requests: ['requests', null],
  Claims: ['claims', null, { Name: ['name', ''], Request: ['request', ''] }],
}
export const IP_FORM: Form = { IP: ['ip', ''] }

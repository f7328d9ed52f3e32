/** Rules for the security contexts of a pod. */
import { isValidGroupID, isValidUserID } from '../../../../lib/names.ts'
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  invalidEach,
  type Ref,
  required,
  tooLong,
  unsupported,
  withValue,
} from '../../../../schema/refs.ts'
import { internalRepresentation } from '../../internal-representation.ts'
import type { PodOptions } from '../options.ts'
import type { PodSpec } from '../spec.ts'
import { validateLocalDescendingPath } from '../volumes/path-rules.ts'
import { type AppArmorProfile, type PodSecurityContext, SeccompProfile, SecurityContext } from './security.ts'
import { validateWindowsOptions } from './windows-rules.ts'

/** Rules for the security context of one container. */
export function* validateSecurityContext(
  context: SecurityContext,
  at: Ref<SecurityContext>,
  { hostUsers, options }: { readonly hostUsers: boolean; readonly options: PodOptions },
): Iterable<FieldError> {
  const { privileged, runAsUser, runAsGroup, procMount, seccompProfile, windowsOptions, appArmorProfile } = context
  if (privileged && !options.privileged) yield forbidden(at.privileged, 'disallowed by cluster policy')
  if (runAsUser !== undefined) yield* invalidEach(at.runAsUser, isValidUserID(runAsUser))
  if (runAsGroup !== undefined) yield* invalidEach(at.runAsGroup, isValidGroupID(runAsGroup))
  if (procMount !== undefined) {
    if (procMount !== 'Default' && procMount !== 'Unmasked') yield unsupported(at.procMount, 'Default', 'Unmasked')
    if (hostUsers && procMount === 'Unmasked') yield invalid(at.procMount, '`hostUsers` must be false to use `Unmasked`')
  }
  if (seccompProfile) yield* validateSeccompProfile(seccompProfile, at.seccompProfile)
  yield* validatePrivilegeEscalation(context, at, options)
  if (windowsOptions) yield* validateWindowsOptions(windowsOptions, at.windowsOptions)
  if (appArmorProfile) yield* validateAppArmorProfile(appArmorProfile, at.appArmorProfile)
}

function* validatePrivilegeEscalation(context: SecurityContext, at: Ref<SecurityContext>, options: PodOptions): Iterable<FieldError> {
  if (context.allowPrivilegeEscalation !== false) return
  const whole = () => withValue(at, internalRepresentation(SecurityContext, context))
  if (context.privileged) yield invalid(whole(), 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true')
  if (options.allowSysAdminWithoutEscalation) return
  for (const capability of context.capabilities?.add ?? [])
    if (capability === 'CAP_SYS_ADMIN')
      yield invalid(whole(), 'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN')
}

/** Rules for the security context of the whole pod. */
export function* validatePodSecurityContext(spec: PodSpec, at: Ref<PodSecurityContext>, options: PodOptions): Iterable<FieldError> {
  const context = spec.securityContext
  if (!context) return
  const { fsGroup, runAsUser, runAsGroup, seccompProfile, windowsOptions, appArmorProfile } = context
  if (fsGroup !== undefined) yield* invalidEach(at.fsGroup, isValidGroupID(fsGroup))
  if (runAsUser !== undefined) yield* invalidEach(at.runAsUser, isValidUserID(runAsUser))
  if (runAsGroup !== undefined) yield* invalidEach(at.runAsGroup, isValidGroupID(runAsGroup))
  for (const [i, group] of (context.supplementalGroups ?? []).entries())
    yield* invalidEach(at.supplementalGroups[i]!, isValidGroupID(group))
  yield* validateSysctls(spec, at, options)
  yield* validatePolicy(context.fsGroupChangePolicy, at.fsGroupChangePolicy, 'Always', 'OnRootMismatch')
  if (seccompProfile) yield* validateSeccompProfile(seccompProfile, at.seccompProfile)
  if (windowsOptions) yield* validateWindowsOptions(windowsOptions, at.windowsOptions)
  if (appArmorProfile) yield* validateAppArmorProfile(appArmorProfile, at.appArmorProfile)
  yield* validatePolicy(context.supplementalGroupsPolicy, at.supplementalGroupsPolicy, 'Merge', 'Strict')
  const changes = options.onlyRecursiveSELinuxChange ? ['Recursive'] : ['MountOption', 'Recursive']
  yield* validatePolicy(context.seLinuxChangePolicy, at.seLinuxChangePolicy, ...changes)
}

function* validatePolicy(policy: string | undefined, at: Ref<any>, ...policies: readonly string[]): Iterable<FieldError> {
  if (policy !== undefined && !policies.includes(policy)) yield unsupported(at, ...policies)
}

function* validateSeccompProfile(profile: SeccompProfile, at: Ref<SeccompProfile>): Iterable<FieldError> {
  const { type, localhostProfile } = profile
  if (!type) yield required(at.type, 'type is required when seccompProfile is set')
  else yield* validatePolicy(type, at.type, 'Localhost', 'RuntimeDefault', 'Unconfined')
  if (type !== 'Localhost') {
    if (localhostProfile !== undefined)
      yield invalid(
        withValue(at.localhostProfile, internalRepresentation(SeccompProfile, profile)),
        'can only be set when seccomp type is Localhost',
      )
  } else if (localhostProfile === undefined) yield required(at.localhostProfile, 'must be set when seccomp type is Localhost')
  else yield* validateLocalDescendingPath(localhostProfile, at.localhostProfile)
}

const MAX_APPARMOR_PROFILE = 4095

function* validateAppArmorProfile({ type, localhostProfile }: AppArmorProfile, at: Ref<AppArmorProfile>): Iterable<FieldError> {
  if (!type) return yield required(at.type, 'type is required when appArmorProfile is set')
  if (type === 'RuntimeDefault' || type === 'Unconfined') {
    if (localhostProfile !== undefined) yield invalid(at.localhostProfile, 'can only be set when AppArmor type is Localhost')
    return
  }
  if (type !== 'Localhost') return yield unsupported(at.type, 'Localhost', 'RuntimeDefault', 'Unconfined')
  if (localhostProfile === undefined || localhostProfile === '')
    return yield required(at.localhostProfile, 'must be set when AppArmor type is Localhost')
  if (localhostProfile.trim() !== localhostProfile) yield invalid(at.localhostProfile, 'must not be padded with whitespace')
  if (Buffer.byteLength(localhostProfile) > MAX_APPARMOR_PROFILE) yield tooLong(at.localhostProfile, MAX_APPARMOR_PROFILE)
}

const SYSCTL_SEGMENT = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?'
const SYSCTL = `^(${SYSCTL_SEGMENT}[\\./])*${SYSCTL_SEGMENT}$`
const MAX_SYSCTL = 253

function* validateSysctls(spec: PodSpec, at: Ref<PodSecurityContext>, options: PodOptions): Iterable<FieldError> {
  const names = new Set<string>()
  for (const [i, { name = '' }] of (spec.securityContext?.sysctls ?? []).entries()) {
    const itemAt = at.sysctls[i]!.name
    if (!name) yield required(itemAt)
    else if (!isSysctlName(name)) yield invalid(itemAt, `must have at most ${MAX_SYSCTL} characters and match regex ${SYSCTL}`)
    else if (names.has(name)) yield duplicate(itemAt)
    const fault = options.allowHostSysctls ? undefined : hostSysctlFault(name, spec)
    if (fault) yield invalid(itemAt, fault)
    names.add(name)
  }
}

/** Segment by segment, because the whole pattern can take forever in a backtracking engine. */
const isSysctlName = (name: string): boolean => name.length <= MAX_SYSCTL && name.split(/[./]/).every(segment => SEGMENT.test(segment))
const SEGMENT = /^[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?$/

const IPC_SYSCTLS: ReadonlySet<string> = new Set([
  'kernel.sem',
  ...['all', 'max', 'mni', '_rmid_forced', ''].map(end => `kernel.shm${end}`),
  ...['max', 'mnb', 'mni', ''].map(end => `kernel.msg${end}`),
])

/** Why a pod may not set a sysctl: it would change it for the whole node. */
export function hostSysctlFault(sysctl: string, spec: PodSpec): string | undefined {
  const [prefix = ''] = normalSysctl(sysctl).split('*', 1)
  if (spec.hostNetwork && prefix.startsWith('net.')) return "may not be specified when 'hostNetwork' is true"
  if (spec.hostIPC && (IPC_SYSCTLS.has(prefix) || prefix.startsWith('fs.mqueue.'))) return "may not be specified when 'hostIPC' is true"
  return undefined
}

/** Sysctls may have dots or slashes between segments; the first separator decides. */
function normalSysctl(name: string): string {
  const separator = name.search(/[./]/)
  if (separator < 0 || name[separator] === '.') return name
  return name.replace(/[./]/g, character => (character === '/' ? '.' : '/'))
}

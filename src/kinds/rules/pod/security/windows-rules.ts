/** Rules for pods of one operating system, and for fields of Windows only. */
import { isDNS1123Subdomain } from '../../../../lib/names.ts'
import { type FieldError, forbidden, invalid, invalidEach, type Ref, required, unsupported, withValue } from '../../../../schema/refs.ts'
import { containersWithRefs } from '../containers/container-list-rules.ts'
import type { PodOptions } from '../options.ts'
import type { PodSpec } from '../spec.ts'
import type { WindowsSecurityContextOptions } from './security.ts'

const MAX_CREDENTIAL_KIB = 64
const MAX_DOMAIN = 256
const MAX_USER = 104

/** The credentials and the user of a Windows process. */
export function* validateWindowsOptions(
  { gmsaCredentialSpecName, gmsaCredentialSpec, runAsUserName }: WindowsSecurityContextOptions,
  at: Ref<WindowsSecurityContextOptions>,
): Iterable<FieldError> {
  if (gmsaCredentialSpecName !== undefined) yield* invalidEach(at.gmsaCredentialSpecName, isDNS1123Subdomain(gmsaCredentialSpecName))
  if (gmsaCredentialSpec === '') yield invalid(at.gmsaCredentialSpec, 'gmsaCredentialSpec cannot be an empty string')
  else if (gmsaCredentialSpec !== undefined && Buffer.byteLength(gmsaCredentialSpec) > MAX_CREDENTIAL_KIB * 1024)
    yield invalid(at.gmsaCredentialSpec, `gmsaCredentialSpec size must be under ${MAX_CREDENTIAL_KIB} KiB`)
  if (runAsUserName !== undefined) yield* invalidEach(at.runAsUserName, userNameFaults(runAsUserName))
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for them.
const CONTROL = /[\x00-\x1f\x7f]/
const NETBIOS_DOMAIN = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/u
const DNS_LABEL = /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$/
const ONLY_DOTS_AND_SPACES = /^[. ]+$/
const FORBIDDEN_IN_USERS = /["/\\:;|=,+*?<>@[\]]/

/** The errors of `USER` or `DOMAIN\USER`. */
function userNameFaults(name: string): string[] {
  if (name === '') return ['runAsUserName cannot be an empty string']
  if (CONTROL.test(name)) return ['runAsUserName cannot contain control characters']
  const parts = name.split('\\')
  if (parts.length > 2) return ['runAsUserName cannot contain more than one backslash']
  const user = parts.at(-1) ?? ''
  const domain = parts.length === 2 ? (parts[0] ?? '') : undefined
  const faults: string[] = []
  if (domain !== undefined && Buffer.byteLength(domain) >= MAX_DOMAIN)
    faults.push(`runAsUserName's Domain length must be under ${MAX_DOMAIN} characters`)
  if (domain !== undefined && !NETBIOS_DOMAIN.test(domain) && !domain.split('.').every(label => DNS_LABEL.test(label)))
    faults.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
  if (user === '') faults.push("runAsUserName's User cannot be empty")
  else if (Buffer.byteLength(user) > MAX_USER) faults.push(`runAsUserName's User length must not be longer than ${MAX_USER} characters`)
  if (ONLY_DOTS_AND_SPACES.test(user)) faults.push("runAsUserName's User cannot contain only periods or spaces")
  if (FORBIDDEN_IN_USERS.test(user)) faults.push(`runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`)
  return faults
}

/** Host processes: all containers or none, and only in the host network. */
export function* validateHostProcesses(spec: PodSpec, at: Ref<PodSpec>, options: PodOptions): Iterable<FieldError> {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess
  let containers = 0
  let processes = 0
  for (const placed of containersWithRefs(spec, at)) {
    containers++
    const own = placed.container.securityContext?.windowsOptions?.hostProcess
    if (ofPod !== undefined && own !== undefined && ofPod !== own)
      yield invalid(
        placed.at.securityContext.windowsOptions.hostProcess,
        `pod hostProcess value must be identical if both are specified, was ${ofPod}`,
      )
    if (own ?? ofPod) processes++
  }
  if (processes === 0) return
  if (processes !== containers)
    yield invalid(withValue(at, ''), 'If pod contains any hostProcess containers then all containers must be HostProcess containers')
  if (!spec.hostNetwork)
    yield invalid(withValue(at.hostNetwork, false), 'hostNetwork must be true if pod contains any hostProcess containers')
  if (!options.privileged) yield forbidden(at, 'hostProcess containers are disallowed by cluster policy')
}

/** The operating system is supported, and only its own fields are set. */
export function* validateOS(spec: PodSpec, at: Ref<PodSpec>): Iterable<FieldError> {
  if (!spec.os) return
  const { name } = spec.os
  if (!name) yield required(at.os.name)
  else if (name === 'linux') yield* validateLinux(spec, at)
  else if (name === 'windows') yield* validateWindows(spec, at)
  else yield unsupported(withValue(at.os, name), 'linux', 'windows')
}

function* validateLinux(spec: PodSpec, at: Ref<PodSpec>): Iterable<FieldError> {
  const message = 'windows options cannot be set for a linux pod'
  if (spec.securityContext?.windowsOptions) yield forbidden(at.securityContext.windowsOptions, message)
  for (const placed of containersWithRefs(spec, at))
    if (placed.container.securityContext?.windowsOptions) yield forbidden(placed.at.securityContext.windowsOptions, message)
}

const POD_CONTEXT_WITHOUT_WINDOWS = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'sysctls',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'seLinuxChangePolicy',
] as const
const CONTAINER_CONTEXT_WITHOUT_WINDOWS = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
] as const

function* validateWindows(spec: PodSpec, at: Ref<PodSpec>): Iterable<FieldError> {
  const message = 'cannot be set for a windows pod'
  for (const field of POD_CONTEXT_WITHOUT_WINDOWS)
    if (spec.securityContext?.[field] !== undefined) yield forbidden(at.securityContext[field], message)
  if (spec.hostUsers !== undefined) yield forbidden(at.hostUsers, message)
  if (spec.hostPID) yield forbidden(at.hostPID, message)
  if (spec.hostIPC) yield forbidden(at.hostIPC, message)
  if (spec.shareProcessNamespace !== undefined) yield forbidden(at.shareProcessNamespace, message)
  for (const placed of containersWithRefs(spec, at))
    for (const field of CONTAINER_CONTEXT_WITHOUT_WINDOWS)
      if (placed.container.securityContext?.[field] !== undefined) yield forbidden(placed.at.securityContext[field], message)
}

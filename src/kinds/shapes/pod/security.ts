/** Under which identity and with which rights the processes of a pod run. */
import { atomic, bool, int64, message, type Static, string } from '../../../schema/types.ts'

export const Capabilities = message('Capabilities', {
  add: [1, atomic(string), ''],
  drop: [2, atomic(string), ''],
})
export type Capabilities = Static<typeof Capabilities>

export const SELinuxOptions = message('SELinuxOptions', {
  user: [1, string, ''],
  role: [2, string, ''],
  type: [3, string, ''],
  level: [4, string, ''],
})
export type SELinuxOptions = Static<typeof SELinuxOptions>

export const WindowsSecurityContextOptions = message('WindowsSecurityContextOptions', {
  gmsaCredentialSpecName: [1, string.optional(), ''],
  gmsaCredentialSpec: [2, string.optional(), ''],
  runAsUserName: [3, string.optional(), ''],
  hostProcess: [4, bool.optional(), ''],
})
export type WindowsSecurityContextOptions = Static<typeof WindowsSecurityContextOptions>

export const SeccompProfile = message('SeccompProfile', {
  type: [1, string.always(), ''],
  localhostProfile: [2, string.optional(), ''],
})
export type SeccompProfile = Static<typeof SeccompProfile>

export const AppArmorProfile = message('AppArmorProfile', {
  type: [1, string.always(), ''],
  localhostProfile: [2, string.optional(), ''],
})
export type AppArmorProfile = Static<typeof AppArmorProfile>

export const SecurityContext = message('SecurityContext', {
  capabilities: [1, Capabilities, ''],
  privileged: [2, bool.optional(), ''],
  seLinuxOptions: [3, SELinuxOptions, ''],
  windowsOptions: [10, WindowsSecurityContextOptions, ''],
  runAsUser: [4, int64.optional(), ''],
  runAsGroup: [8, int64.optional(), ''],
  runAsNonRoot: [5, bool.optional(), ''],
  readOnlyRootFilesystem: [6, bool.optional(), ''],
  allowPrivilegeEscalation: [7, bool.optional(), ''],
  procMount: [9, string.optional(), ''],
  seccompProfile: [11, SeccompProfile, ''],
  appArmorProfile: [12, AppArmorProfile, ''],
})
export type SecurityContext = Static<typeof SecurityContext>

export const Sysctl = message('Sysctl', {
  name: [1, string.always(), ''],
  value: [2, string.always(), ''],
})
export type Sysctl = Static<typeof Sysctl>

export const PodSecurityContext = message('PodSecurityContext', {
  seLinuxOptions: [1, SELinuxOptions, ''],
  windowsOptions: [8, WindowsSecurityContextOptions, ''],
  runAsUser: [2, int64.optional(), ''],
  runAsGroup: [6, int64.optional(), ''],
  runAsNonRoot: [3, bool.optional(), ''],
  supplementalGroups: [4, atomic(int64), ''],
  supplementalGroupsPolicy: [12, string.optional(), ''],
  fsGroup: [5, int64.optional(), ''],
  sysctls: [7, atomic(Sysctl), ''],
  fsGroupChangePolicy: [9, string.optional(), ''],
  seccompProfile: [10, SeccompProfile, ''],
  appArmorProfile: [11, AppArmorProfile, ''],
  seLinuxChangePolicy: [13, string.optional(), ''],
})
export type PodSecurityContext = Static<typeof PodSecurityContext>

/** Types of security contexts: the identity and privileges of a pod's processes. */

import { deepEqual } from '../../../../lib/json-value.ts'
import { atomic, bool, int64, message, type Static, string } from '../../../../schema/types.ts'

const Capabilities = message('Capabilities', {
  add: [1, atomic(string), 'Capabilities added to those of the runtime.'],
  drop: [2, atomic(string), 'Capabilities taken away.'],
})

const SELinuxOptions = message('SELinuxOptions', {
  user: [1, string, 'User part of the label.'],
  role: [2, string, 'Role part of the label.'],
  type: [3, string, 'Type part of the label.'],
  level: [4, string, 'Level part of the label.'],
})

export const WindowsSecurityContextOptions = message('WindowsSecurityContextOptions', {
  gmsaCredentialSpecName: [1, string.optional(), 'Name of the GMSA credential.'],
  gmsaCredentialSpec: [2, string.optional(), 'The GMSA credential itself.'],
  runAsUserName: [3, string.optional(), 'User name of the first process.'],
  hostProcess: [4, bool.optional(), 'Whether it runs as a process of the host; the same for all containers of a pod.'],
})
export type WindowsSecurityContextOptions = Static<typeof WindowsSecurityContextOptions>

export const SeccompProfile = message(
  'SeccompProfile',
  {
    type: [
      1,
      string.listed('Localhost', 'RuntimeDefault', 'Unconfined').always(),
      'Which profile applies: Localhost, RuntimeDefault or Unconfined.',
    ],
    localhostProfile: [2, string.optional(), 'Path of a profile on the node; only for type Localhost.'],
  },
  { union: { by: 'type' } },
)
export type SeccompProfile = Static<typeof SeccompProfile>

export const AppArmorProfile = message(
  'AppArmorProfile',
  {
    type: [
      1,
      string.listed('Localhost', 'RuntimeDefault', 'Unconfined').always(),
      'Which profile applies: Localhost, RuntimeDefault or Unconfined.',
    ],
    localhostProfile: [2, string.optional(), 'Name of a profile loaded on the node; only for type Localhost.'],
  },
  { union: { by: 'type' } },
)
export type AppArmorProfile = Static<typeof AppArmorProfile>

export const SecurityContext = message('SecurityContext', {
  capabilities: [1, Capabilities, 'Capabilities added and dropped.'],
  privileged: [2, bool.optional(), 'Whether it runs with the rights of root on the node.'],
  seLinuxOptions: [3, SELinuxOptions, 'SELinux label, overrides that of the pod.'],
  windowsOptions: [10, WindowsSecurityContextOptions, 'Settings for Windows.'],
  runAsUser: [4, int64.optional(), 'User, overrides that of the pod.'],
  runAsGroup: [8, int64.optional(), 'Primary group, overrides that of the pod.'],
  runAsNonRoot: [5, bool.optional(), 'Whether an image that runs as root is refused.'],
  readOnlyRootFilesystem: [6, bool.optional(), 'Whether the root file system may only be read.'],
  allowPrivilegeEscalation: [7, bool.optional(), 'Whether a process may gain more rights than its parent.'],
  procMount: [9, string.listed('Default', 'Unmasked').optional(), 'How /proc is mounted: Default or Unmasked.'],
  seccompProfile: [11, SeccompProfile, 'Seccomp profile, overrides that of the pod.'],
  appArmorProfile: [12, AppArmorProfile, 'AppArmor profile, overrides that of the pod.'],
})
export type SecurityContext = Static<typeof SecurityContext>

const Sysctl = message('Sysctl', {
  name: [1, string.always(), 'Name of the parameter.'],
  value: [2, string.always(), 'Its value.'],
})

export const PodSecurityContext = message('PodSecurityContext', {
  seLinuxOptions: [1, SELinuxOptions, 'SELinux label of all containers.'],
  windowsOptions: [8, WindowsSecurityContextOptions, 'Settings for Windows.'],
  runAsUser: [2, int64.optional(), 'User of all processes.'],
  runAsGroup: [6, int64.optional(), 'Primary group of all processes.'],
  runAsNonRoot: [3, bool.optional(), 'Whether images that run as root are refused.'],
  supplementalGroups: [4, atomic(int64), 'Further groups of the first process.'],
  supplementalGroupsPolicy: [12, string.listed('Merge', 'Strict').optional(), 'Whether groups of the image count too: Merge or Strict.'],
  fsGroup: [5, int64.optional(), 'Group that owns volumes which can be owned.'],
  sysctls: [7, atomic(Sysctl), 'Kernel parameters within the namespaces of the pod.'],
  fsGroupChangePolicy: [
    9,
    string.listed('Always', 'OnRootMismatch').optional(),
    'When ownership of volumes is changed: OnRootMismatch or Always.',
  ],
  seccompProfile: [10, SeccompProfile, 'Seccomp profile of all containers.'],
  appArmorProfile: [11, AppArmorProfile, 'AppArmor profile of all containers.'],
  seLinuxChangePolicy: [13, string.optional(), 'How volumes get their SELinux label: MountOption or Recursive.'],
})
export type PodSecurityContext = Static<typeof PodSecurityContext>

/** The prefix, before the name of a container, of the annotation with its profile. */
export const APP_ARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/'

/** The profile of an annotation; undefined if the field cannot represent it. */
export function appArmorProfileOf(annotation: string): AppArmorProfile | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' }
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' }
  if (!annotation.startsWith(LOCALHOST)) return undefined
  const localhostProfile = annotation.slice(LOCALHOST.length)
  const isValid = localhostProfile !== '' && localhostProfile.trim() === localhostProfile && localhostProfile.length <= MAX_PROFILE
  return isValid ? { type: 'Localhost', localhostProfile } : undefined
}

export const isSameProfile = (a: AppArmorProfile, b: AppArmorProfile | undefined): boolean => deepEqual(a, b)

const LOCALHOST = 'localhost/'
const MAX_PROFILE = 4095

/** A container of a pod. */
import { atomic, bool, inlined, int32, keyed, message, type Static, set, string } from '../../../../schema/types.ts'
import { ContainerResizePolicy, ResourceRequirements } from '../resources/resources.ts'
import { SecurityContext } from '../security/security.ts'
import { EnvFromSource, EnvVar } from './environment.ts'
import { defaultPullPolicy } from './image-reference.ts'
import { ContainerPort } from './ports.ts'
import { Lifecycle, Probe } from './probes.ts'

const ContainerRestartRuleOnExitCodes = message('ContainerRestartRuleOnExitCodes', {
  operator: [1, string.expected(), 'In for exit codes listed, NotIn for all others.'],
  values: [2, set(int32), 'Exit codes compared with.'],
})

export const ContainerRestartRule = message('ContainerRestartRule', {
  action: [1, string.expected(), 'The action when the rule matches: Restart or RestartAllContainers.'],
  exitCodes: [2, ContainerRestartRuleOnExitCodes, 'The exit codes the rule matches.'],
})
export type ContainerRestartRule = Static<typeof ContainerRestartRule>

export const VolumeMount = message('VolumeMount', {
  name: [1, string.always(), 'The volume of the pod.'],
  readOnly: [2, bool, 'Whether the volume may only be read.'],
  recursiveReadOnly: [7, string.optional(), 'Whether mounts below are read-only too: Disabled, IfPossible or Enabled.'],
  mountPath: [3, string.always(), 'Where the volume appears in the container.'],
  subPath: [4, string, 'Path within the volume that is mounted; its root when empty.'],
  mountPropagation: [
    5,
    string.listed('Bidirectional', 'HostToContainer', 'None').optional(),
    'How mounts travel between node and container: None, HostToContainer or Bidirectional.',
  ],
  subPathExpr: [6, string, 'The same, in which $(NAME) is replaced by environment variables.'],
  bindMountOptions: [8, set(string), 'Further mount options: noexec, nodev, nosuid.'],
})
export type VolumeMount = Static<typeof VolumeMount>

export const VolumeDevice = message('VolumeDevice', {
  name: [1, string.always(), 'The claim volume of the pod.'],
  devicePath: [2, string.always(), 'Where the device appears in the container.'],
})
export type VolumeDevice = Static<typeof VolumeDevice>

const containerFields = {
  name: [1, string.always(), 'Name of the container, unique in the pod.'],
  image: [2, string, 'The image to run.'],
  command: [3, atomic(string), 'The command; that of the image when empty.'],
  args: [4, atomic(string), 'Arguments of the command; those of the image when empty.'],
  workingDir: [5, string, 'Directory it starts in; that of the image when empty.'],
  ports: [6, keyed(ContainerPort, 'containerPort', 'protocol').mergedBy('containerPort'), 'Ports it listens on; for information.'],
  envFrom: [19, atomic(EnvFromSource), 'Sets of environment variables; those in env win.'],
  env: [7, keyed(EnvVar, 'name').mergedBy('name'), 'Environment variables.'],
  resources: [8, ResourceRequirements.orEmpty(), 'The requests and limits of the container.'],
  resizePolicy: [23, atomic(ContainerResizePolicy), 'Which resources can change without a restart.'],
  restartPolicy: [24, string.optional(), 'Its own restart policy, which overrides that of the pod.'],
  restartPolicyRules: [25, atomic(ContainerRestartRule), 'Exit codes that are treated differently from the policy.'],
  volumeMounts: [9, keyed(VolumeMount, 'mountPath').mergedBy('mountPath'), 'Volumes it mounts.'],
  volumeDevices: [21, keyed(VolumeDevice, 'devicePath').mergedBy('devicePath'), 'Raw devices it gets.'],
  livenessProbe: [10, Probe, 'Restarts the container when it fails.'],
  readinessProbe: [11, Probe, 'Takes the pod out of services while it fails.'],
  startupProbe: [22, Probe, 'Holds back the other probes until it passes.'],
  lifecycle: [12, Lifecycle, 'The hooks that run after the start and before the end.'],
  terminationMessagePath: [13, string.default('/dev/termination-log'), 'File into which it may write its termination message.'],
  terminationMessagePolicy: [
    20,
    string.listed('FallbackToLogsOnError', 'File').default('File'),
    'Where the termination message is read from: File, or FallbackToLogsOnError.',
  ],
  imagePullPolicy: [
    14,
    string.listed('Always', 'IfNotPresent', 'Never'),
    'When to pull: Always, Never or IfNotPresent; Always by default for the tag latest.',
  ],
  securityContext: [15, SecurityContext, 'Identity and rights, which override those of the pod.'],
  stdin: [16, bool, 'Whether it has a standard input.'],
  stdinOnce: [17, bool, 'Whether the input closes after the first client.'],
  tty: [18, bool, 'Whether it has a terminal.'],
} as const

/** Images with the tag latest are pulled every time. */
function fillPullPolicy(container: { image?: string; imagePullPolicy?: string }): void {
  container.imagePullPolicy ??= defaultPullPolicy(container.image)
}

export const Container = message('Container', containerFields, { defaults: fillPullPolicy })
export type Container = Static<typeof Container>

export const EphemeralContainer = message(
  'EphemeralContainer',
  {
    ...inlined(1, containerFields),
    targetContainerName: [2, string, 'The container whose process namespace it shares.'],
  },
  { defaults: fillPullPolicy },
)
export type EphemeralContainer = Static<typeof EphemeralContainer>

/** The part of a PodSpec that lists containers. */
type ContainerLists = {
  readonly initContainers?: readonly Container[] | null
  readonly containers: readonly Container[] | null
  readonly ephemeralContainers?: readonly EphemeralContainer[] | null
}

/** Init containers first, then containers, then ephemeral ones, as they are started. */
export function containersOf(lists: ContainerLists): readonly (Container | EphemeralContainer)[] {
  const { initContainers, containers, ephemeralContainers } = lists
  // Most pods have only containers, and the list is used many times in a write.
  if (!initContainers && !ephemeralContainers) return containers ?? []
  return [...(initContainers ?? []), ...(containers ?? []), ...(ephemeralContainers ?? [])]
}

/** Whether an init container is a sidecar: started before the containers, and kept running beside them. */
export const isSidecar = (container: Container | undefined): boolean => container?.restartPolicy === 'Always'

/** A container of a pod. */
import { atomic, bool, inlined, int32, keyed, message, type Static, set, string } from '../../../schema/types.ts'
import { EnvFromSource, EnvVar } from './environment.ts'
import { Lifecycle, Probe } from './probes.ts'
import { ContainerResizePolicy, ResourceRequirements } from './resources.ts'
import { SecurityContext } from './security.ts'

export const ContainerPort = message('ContainerPort', {
  name: [1, string, ''],
  hostPort: [2, int32, ''],
  containerPort: [3, int32.always(), ''],
  protocol: [4, string.default('TCP'), ''],
  hostIP: [5, string, ''],
})
export type ContainerPort = Static<typeof ContainerPort>

export const ContainerRestartRuleOnExitCodes = message('ContainerRestartRuleOnExitCodes', {
  operator: [1, string, ''],
  values: [2, set(int32), ''],
})
export type ContainerRestartRuleOnExitCodes = Static<typeof ContainerRestartRuleOnExitCodes>

export const ContainerRestartRule = message('ContainerRestartRule', {
  action: [1, string, ''],
  exitCodes: [2, ContainerRestartRuleOnExitCodes, ''],
})
export type ContainerRestartRule = Static<typeof ContainerRestartRule>

export const VolumeMount = message('VolumeMount', {
  name: [1, string.always(), ''],
  readOnly: [2, bool, ''],
  recursiveReadOnly: [7, string.optional(), ''],
  mountPath: [3, string.always(), ''],
  subPath: [4, string, ''],
  mountPropagation: [5, string.optional(), ''],
  subPathExpr: [6, string, ''],
  bindMountOptions: [8, set(string), ''],
})
export type VolumeMount = Static<typeof VolumeMount>

export const VolumeDevice = message('VolumeDevice', {
  name: [1, string.always(), ''],
  devicePath: [2, string.always(), ''],
})
export type VolumeDevice = Static<typeof VolumeDevice>

const containerFields = {
  name: [1, string.always(), ''],
  image: [2, string, ''],
  command: [3, atomic(string), ''],
  args: [4, atomic(string), ''],
  workingDir: [5, string, ''],
  ports: [6, keyed(ContainerPort, 'containerPort', 'protocol').mergedBy('containerPort'), ''],
  envFrom: [19, atomic(EnvFromSource), ''],
  env: [7, keyed(EnvVar, 'name').mergedBy('name'), ''],
  resources: [8, ResourceRequirements.orEmpty(), ''],
  resizePolicy: [23, atomic(ContainerResizePolicy), ''],
  restartPolicy: [24, string.optional(), ''],
  restartPolicyRules: [25, atomic(ContainerRestartRule), ''],
  volumeMounts: [9, keyed(VolumeMount, 'mountPath').mergedBy('mountPath'), ''],
  volumeDevices: [21, keyed(VolumeDevice, 'devicePath').mergedBy('devicePath'), ''],
  livenessProbe: [10, Probe, ''],
  readinessProbe: [11, Probe, ''],
  startupProbe: [22, Probe, ''],
  lifecycle: [12, Lifecycle, ''],
  terminationMessagePath: [13, string.default('/dev/termination-log'), ''],
  terminationMessagePolicy: [20, string.default('File'), ''],
  imagePullPolicy: [14, string, ''],
  securityContext: [15, SecurityContext, ''],
  stdin: [16, bool, ''],
  stdinOnce: [17, bool, ''],
  tty: [18, bool, ''],
} as const

export const Container = message('Container', containerFields)
export type Container = Static<typeof Container>

export const EphemeralContainer = message('EphemeralContainer', {
  ...inlined(1, containerFields),
  targetContainerName: [2, string, ''],
})
export type EphemeralContainer = Static<typeof EphemeralContainer>

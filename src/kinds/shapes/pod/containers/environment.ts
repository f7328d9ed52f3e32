/** Environment variables of a container and where their values come from. */
import { bool, inlined, message, type Static, string } from '../../../../schema/types.ts'
import { localObjectReference } from '../../references.ts'
import { ObjectFieldSelector, ResourceFieldSelector } from './downward.ts'

export const ConfigMapEnvSource = message('ConfigMapEnvSource', {
  ...inlined(1, localObjectReference),
  optional: [2, bool.optional(), 'Whether the pod may start although it, or its keys, are missing.'],
})
export type ConfigMapEnvSource = Static<typeof ConfigMapEnvSource>

export const SecretEnvSource = message('SecretEnvSource', {
  ...inlined(1, localObjectReference),
  optional: [2, bool.optional(), 'Whether the pod may start although it, or its keys, are missing.'],
})
export type SecretEnvSource = Static<typeof SecretEnvSource>

export const EnvFromSource = message('EnvFromSource', {
  prefix: [1, string, 'Text put before every name.'],
  configMapRef: [2, ConfigMapEnvSource, 'The config map whose entries become variables.'],
  secretRef: [3, SecretEnvSource, 'The secret whose entries become variables.'],
})
export type EnvFromSource = Static<typeof EnvFromSource>

export const ConfigMapKeySelector = message('ConfigMapKeySelector', {
  ...inlined(1, localObjectReference),
  key: [2, string.always(), 'Key within the config map.'],
  optional: [3, bool.optional(), 'Whether the pod may start although it, or its keys, are missing.'],
}).atomic()
export type ConfigMapKeySelector = Static<typeof ConfigMapKeySelector>

export const SecretKeySelector = message('SecretKeySelector', {
  ...inlined(1, localObjectReference),
  key: [2, string.always(), 'Key within the secret.'],
  optional: [3, bool.optional(), 'Whether the pod may start although it, or its keys, are missing.'],
}).atomic()
export type SecretKeySelector = Static<typeof SecretKeySelector>

export const FileKeySelector = message('FileKeySelector', {
  volumeName: [1, string.always(), 'The volume that holds the file.'],
  path: [2, string.always(), 'Path of the file within the volume.'],
  key: [3, string.always(), 'Name of the variable within the file.'],
  optional: [4, bool.optional().toldDefault(false), 'Whether the pod may start although it, or its keys, are missing.'],
}).atomic()
export type FileKeySelector = Static<typeof FileKeySelector>

export const EnvVarSource = message('EnvVarSource', {
  fieldRef: [1, ObjectFieldSelector, 'A field of the pod.'],
  resourceFieldRef: [2, ResourceFieldSelector, 'A resource of a container.'],
  configMapKeyRef: [3, ConfigMapKeySelector, 'A key of a config map.'],
  secretKeyRef: [4, SecretKeySelector, 'A key of a secret.'],
  fileKeyRef: [5, FileKeySelector, 'A key of an env file in a volume.'],
})
export type EnvVarSource = Static<typeof EnvVarSource>

export const EnvVar = message('EnvVar', {
  name: [1, string.always(), 'Name of the variable.'],
  value: [2, string, 'Its value, in which $(NAME) stands for variables before it.'],
  valueFrom: [3, EnvVarSource, 'Where the value comes from instead.'],
})
export type EnvVar = Static<typeof EnvVar>

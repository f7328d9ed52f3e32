/** Environment variables of a container and where their values come from. */
import { bool, inlined, message, type Static, string } from '../../../schema/types.ts'
import { ObjectFieldSelector, ResourceFieldSelector } from './downward.ts'
import { localObjectReference } from './references.ts'

export const ConfigMapEnvSource = message('ConfigMapEnvSource', {
  ...inlined(1, localObjectReference),
  optional: [2, bool.optional(), ''],
})
export type ConfigMapEnvSource = Static<typeof ConfigMapEnvSource>

export const SecretEnvSource = message('SecretEnvSource', {
  ...inlined(1, localObjectReference),
  optional: [2, bool.optional(), ''],
})
export type SecretEnvSource = Static<typeof SecretEnvSource>

export const EnvFromSource = message('EnvFromSource', {
  prefix: [1, string, ''],
  configMapRef: [2, ConfigMapEnvSource, ''],
  secretRef: [3, SecretEnvSource, ''],
})
export type EnvFromSource = Static<typeof EnvFromSource>

export const ConfigMapKeySelector = message('ConfigMapKeySelector', {
  ...inlined(1, localObjectReference),
  key: [2, string.always(), ''],
  optional: [3, bool.optional(), ''],
}).atomic()
export type ConfigMapKeySelector = Static<typeof ConfigMapKeySelector>

export const SecretKeySelector = message('SecretKeySelector', {
  ...inlined(1, localObjectReference),
  key: [2, string.always(), ''],
  optional: [3, bool.optional(), ''],
}).atomic()
export type SecretKeySelector = Static<typeof SecretKeySelector>

export const FileKeySelector = message('FileKeySelector', {
  volumeName: [1, string.always(), ''],
  path: [2, string.always(), ''],
  key: [3, string.always(), ''],
  optional: [4, bool.optional().default(false), ''],
}).atomic()
export type FileKeySelector = Static<typeof FileKeySelector>

export const EnvVarSource = message('EnvVarSource', {
  fieldRef: [1, ObjectFieldSelector, ''],
  resourceFieldRef: [2, ResourceFieldSelector, ''],
  configMapKeyRef: [3, ConfigMapKeySelector, ''],
  secretKeyRef: [4, SecretKeySelector, ''],
  fileKeyRef: [5, FileKeySelector, ''],
})
export type EnvVarSource = Static<typeof EnvVarSource>

export const EnvVar = message('EnvVar', {
  name: [1, string.always(), ''],
  value: [2, string, ''],
  valueFrom: [3, EnvVarSource, ''],
})
export type EnvVar = Static<typeof EnvVar>

/** Environment variables of a container and the sources of their values. */

import { isConfigMapKey, isRelaxedEnvVarName, nameIsDNSSubdomain } from '../../../../lib/names.ts'
import { type FieldError, invalid, invalidEach, type Ref, required, withValue } from '../../../../schema/refs.ts'
import { bool, inlined, message, type Static, string } from '../../../../schema/types.ts'
import { localObjectReference } from '../../references.ts'
import { validateRequiredLabelText } from '../../text-rules.ts'
import type { PodOptions } from '../options.ts'
import { validateNoBacksteps } from '../volumes/path-rules.ts'
import {
  ENV_FIELDS,
  ObjectFieldSelector,
  ResourceFieldSelector,
  validateFieldSelector,
  validateResourceFieldSelector,
} from './downward-api.ts'

const ConfigMapEnvSource = message('ConfigMapEnvSource', {
  ...inlined(1, localObjectReference),
  optional: [2, bool.optional(), 'Whether the pod may start although it, or its keys, are missing.'],
})

const SecretEnvSource = message('SecretEnvSource', {
  ...inlined(1, localObjectReference),
  optional: [2, bool.optional(), 'Whether the pod may start although it, or its keys, are missing.'],
})

export const EnvFromSource = message('EnvFromSource', {
  prefix: [1, string, 'Text put before every name.'],
  configMapRef: [2, ConfigMapEnvSource, 'The config map whose entries become variables.'],
  secretRef: [3, SecretEnvSource, 'The secret whose entries become variables.'],
})
export type EnvFromSource = Static<typeof EnvFromSource>

const ConfigMapKeySelector = message('ConfigMapKeySelector', {
  ...inlined(1, localObjectReference),
  key: [2, string.always(), 'Key within the config map.'],
  optional: [3, bool.optional(), 'Whether the pod may start although it, or its keys, are missing.'],
}).atomic()
type ConfigMapKeySelector = Static<typeof ConfigMapKeySelector>

const SecretKeySelector = message('SecretKeySelector', {
  ...inlined(1, localObjectReference),
  key: [2, string.always(), 'Key within the secret.'],
  optional: [3, bool.optional(), 'Whether the pod may start although it, or its keys, are missing.'],
}).atomic()

const FileKeySelector = message('FileKeySelector', {
  volumeName: [1, string.always(), 'The volume that holds the file.'],
  path: [2, string.always(), 'Path of the file within the volume.'],
  key: [3, string.always(), 'Name of the variable within the file.'],
  optional: [4, bool.optional().publishedDefault(false), 'Whether the pod may start although it, or its keys, are missing.'],
}).atomic()
type FileKeySelector = Static<typeof FileKeySelector>

const EnvVarSource = message('EnvVarSource', {
  fieldRef: [1, ObjectFieldSelector, 'A field of the pod.'],
  resourceFieldRef: [2, ResourceFieldSelector, 'A resource of a container.'],
  configMapKeyRef: [3, ConfigMapKeySelector, 'A key of a config map.'],
  secretKeyRef: [4, SecretKeySelector, 'A key of a secret.'],
  fileKeyRef: [5, FileKeySelector, 'A key of an env file in a volume.'],
})
type EnvVarSource = Static<typeof EnvVarSource>

export const EnvVar = message('EnvVar', {
  name: [1, string.always(), 'Name of the variable.'],
  value: [2, string, 'Its value, in which $(NAME) is replaced by variables before it.'],
  valueFrom: [3, EnvVarSource, 'The source of the value.'],
})
export type EnvVar = Static<typeof EnvVar>

/** Variables have names and at most one source each. */
export function* validateEnv(
  variables: readonly EnvVar[] | null | undefined,
  at: Ref<EnvVar[]>,
  options: PodOptions,
): Iterable<FieldError> {
  for (const [i, { name, value = '', valueFrom }] of (variables ?? []).entries()) {
    const itemAt = at[i]!
    if (!name) yield required(itemAt.name)
    else yield* invalidEach(itemAt.name, isRelaxedEnvVarName(name))
    if (valueFrom) yield* validateSource(valueFrom, itemAt.valueFrom, { value, options })
  }
}

function* validateSource(
  source: EnvVarSource,
  at: Ref<EnvVarSource>,
  { value, options }: { readonly value: string; readonly options: PodOptions },
): Iterable<FieldError> {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source
  if (fieldRef) yield* validateFieldSelector(fieldRef, at.fieldRef, ENV_FIELDS)
  if (resourceFieldRef) yield* validateResourceFieldSelector(resourceFieldRef, at.resourceFieldRef, { inVolume: false })
  if (configMapKeyRef) yield* validateKeySelector(configMapKeyRef, at.configMapKeyRef)
  if (secretKeyRef) yield* validateKeySelector(secretKeyRef, at.secretKeyRef)
  if (fileKeyRef) yield* validateFileKeySelector(fileKeyRef, at.fileKeyRef)
  const sources = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef].filter(Boolean).length
  const whole = withValue(at, '')
  const choice = options.envFiles
    ? '`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`'
    : '`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`'
  if (sources === 0) yield invalid(whole, `must specify one of: ${choice}`)
  else if (value) yield invalid(whole, 'may not be specified when `value` is not empty')
  else if (sources > 1) yield invalid(whole, 'may not have more than one field specified at a time')
}

/** Imported variables have one source each. */
export function* validateEnvFrom(sources: readonly EnvFromSource[] | null | undefined, at: Ref<EnvFromSource[]>): Iterable<FieldError> {
  for (const [i, { prefix, configMapRef, secretRef }] of (sources ?? []).entries()) {
    const itemAt = at[i]!
    if (prefix) yield* invalidEach(itemAt.prefix, isRelaxedEnvVarName(prefix))
    if (configMapRef) yield* validateSourceName(configMapRef.name, itemAt.configMapRef.name)
    if (secretRef) yield* validateSourceName(secretRef.name, itemAt.secretRef.name)
    if (!configMapRef && !secretRef) yield invalid(withValue(at, ''), 'must specify one of: `configMapRef` or `secretRef`')
    else if (configMapRef && secretRef) yield invalid(withValue(at, ''), 'may not have more than one field specified at a time')
  }
}

function* validateSourceName(name: string | undefined, at: Ref<string>): Iterable<FieldError> {
  if (!name) yield required(at)
  else yield* invalidEach(at, nameIsDNSSubdomain(name, 'prefix'))
}

/** A key of a ConfigMap or Secret. */
function* validateKeySelector({ name = '', key }: ConfigMapKeySelector, at: Ref<ConfigMapKeySelector>): Iterable<FieldError> {
  yield* invalidEach(at.name, nameIsDNSSubdomain(name))
  if (!key) yield required(at.key)
  else yield* invalidEach(at.key, isConfigMapKey(key))
}

/** A variable in a file of a volume. */
function* validateFileKeySelector({ key, volumeName, path }: FileKeySelector, at: Ref<FileKeySelector>): Iterable<FieldError> {
  if (!key) yield required(at.key)
  else yield* invalidEach(at.key, isRelaxedEnvVarName(key))
  yield* validateRequiredLabelText(volumeName, at.volumeName)
  if (!path) yield required(at.path)
  else yield* validateNoBacksteps(path, at.path)
}

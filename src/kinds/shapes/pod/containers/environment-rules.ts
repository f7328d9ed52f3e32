/** Rules on the environment variables of a container. */
import { isConfigMapKey, isRelaxedEnvVarName, nameIsDNSSubdomain } from '../../../../lib/names.ts'
import { type FieldError, invalid, invalidEach, type Ref, required, withValue } from '../../../../schema/refs.ts'
import { validateRequiredLabelText } from '../../text-rules.ts'
import type { PodOptions } from '../options.ts'
import { validateNoBacksteps } from '../volumes/path-rules.ts'
import { ENV_FIELDS, validateFieldSelector, validateResourceFieldSelector } from './downward-rules.ts'
import type { ConfigMapKeySelector, EnvFromSource, EnvVar, EnvVarSource, FileKeySelector } from './environment.ts'

/** Variables have names and at most one source each. */
export function* validateEnv(
  variables: readonly EnvVar[] | null | undefined,
  at: Ref<EnvVar[]>,
  options: PodOptions,
): Iterable<FieldError> {
  for (const [i, { name, value = '', valueFrom }] of (variables ?? []).entries()) {
    const place = at[i]!
    if (!name) yield required(place.name)
    else yield* invalidEach(place.name, isRelaxedEnvVarName(name))
    if (valueFrom) yield* validateSource(valueFrom, place.valueFrom, { value, options })
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

/** Imported variables come from one place each. */
export function* validateEnvFrom(sources: readonly EnvFromSource[] | null | undefined, at: Ref<EnvFromSource[]>): Iterable<FieldError> {
  for (const [i, { prefix, configMapRef, secretRef }] of (sources ?? []).entries()) {
    const place = at[i]!
    if (prefix) yield* invalidEach(place.prefix, isRelaxedEnvVarName(prefix))
    if (configMapRef) yield* validateSourceName(configMapRef.name, place.configMapRef.name)
    if (secretRef) yield* validateSourceName(secretRef.name, place.secretRef.name)
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

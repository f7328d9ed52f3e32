/** Configuration files of the server: one YAML or JSON document of a known kind, read strictly. Import it lazily: it reads YAML. */
import { isObject, type JsonObject } from '../lib/json-value.ts'
import { ConformError, conform } from '../schema/conform.ts'
import type { AnyType, Static } from '../schema/types.ts'
import { parseYaml, YamlError } from './yaml.ts'

/** Thrown for a document that cannot be read; the message does not name the file. */
export class ConfigurationError extends Error {}

export type ConfigurationKind<T extends AnyType> = {
  /** The kinds, by their apiVersion, that have these fields; `{group_domain}` stands for the domain of the server. */
  readonly accepts: Readonly<Record<string, string>>
  readonly type: T
}

/** Reads a document. Unknown and repeated fields are errors. Throws ConfigurationError. */
export const readConfiguration = <T extends AnyType>(text: string, kind: ConfigurationKind<T>): Static<T> =>
  configurationOf(readDocument(text), kind)

/** The fields of a document of any kind. A repeated one is an error. Throws ConfigurationError. */
export function readDocument(text: string): JsonObject {
  try {
    const { value, strictError } = parseYaml(text)
    if (!isObject(value)) throw new ConfigurationError('it is not a document with fields')
    if (strictError !== undefined) throw new ConfigurationError(strictError)
    return value
  } catch (error) {
    if (error instanceof YamlError) throw new ConfigurationError(error.message)
    throw error
  }
}

/** A document, or a part of one, that says its kind. Throws ConfigurationError. */
export function configurationOf<T extends AnyType>(
  document: JsonObject,
  { accepts, type }: ConfigurationKind<T>,
  groupDomain = 'k8s.io',
): Static<T> {
  const { apiVersion, kind, ...fields } = document
  const known = Object.entries(accepts).map(([version, name]) => ({ version: version.replace('{group_domain}', groupDomain), name }))
  if (typeof kind !== 'string' || kind === '') throw new ConfigurationError("Object 'Kind' is missing")
  if (typeof apiVersion !== 'string' || apiVersion === '') throw new ConfigurationError("Object 'apiVersion' is missing")
  if (!known.some(({ version, name }) => version === apiVersion && name === kind))
    throw new ConfigurationError(
      `no kind "${kind}" is registered for version "${apiVersion}"; it must be ${known.map(({ version, name }) => `${name} of ${version}`).join(' or ')}`,
    )
  return fieldsOf(fields, type)
}

/** Fields of a known type. Throws ConfigurationError. */
export function fieldsOf<T extends AnyType>(fields: JsonObject, type: T): Static<T> {
  try {
    const { value, problems } = conform(type, fields)
    if (problems.length > 0) throw new ConfigurationError(`strict decoding error: ${problems.join(', ')}`)
    return value as Static<T>
  } catch (error) {
    if (error instanceof ConformError) throw new ConfigurationError(error.message)
    throw error
  }
}

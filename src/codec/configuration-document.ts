/** Configuration files of the server: one YAML or JSON document of a known kind, read strictly. Import it lazily: it reads YAML. */
import { isObject } from '../lib/json-value.ts'
import { ConformError, conform } from '../schema/conform.ts'
import type { AnyType, Static } from '../schema/types.ts'
import { parseYaml, YamlError } from './yaml.ts'

/** That a document cannot be read; the message does not name the file. */
export class ConfigurationError extends Error {}

export type ConfigurationKind<T extends AnyType> = {
  readonly kind: string
  readonly group: string
  readonly versions: readonly string[]
  readonly type: T
}

/** Reads a document. Unknown and repeated fields are errors. Throws ConfigurationError. */
export function readConfiguration<T extends AnyType>(text: string, { kind, group, versions, type }: ConfigurationKind<T>): Static<T> {
  try {
    const { value, strictError } = parseYaml(text)
    if (!isObject(value)) throw new ConfigurationError('it is not a document with fields')
    const { apiVersion, kind: given, ...fields } = value
    if (typeof given !== 'string' || given === '') throw new ConfigurationError("Object 'Kind' is missing")
    if (typeof apiVersion !== 'string' || apiVersion === '') throw new ConfigurationError("Object 'apiVersion' is missing")
    if (given !== kind || !versions.some(version => apiVersion === `${group}/${version}`))
      throw new ConfigurationError(
        `no kind "${given}" is registered for version "${apiVersion}"; it must be ${kind} of ${versions.map(version => `${group}/${version}`).join(' or ')}`,
      )
    if (strictError !== undefined) throw new ConfigurationError(strictError)
    const { value: read, problems } = conform(type, fields)
    if (problems.length > 0) throw new ConfigurationError(`strict decoding error: ${problems.join(', ')}`)
    return read as Static<T>
  } catch (error) {
    if (error instanceof YamlError || error instanceof ConformError) throw new ConfigurationError(error.message)
    throw error
  }
}

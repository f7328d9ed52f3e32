/** One version of a custom kind as data decides it: what its objects look like, are filled with and are checked for. */

import { parseJson } from '../codec/json.ts'
import { encodeStored } from '../codec/stored-bytes.ts'
import { goQuote } from '../lib/go-text.ts'
import { type Duplicate, isObject, type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import { type Conformed, conform } from '../schema/conform.ts'
import type { CustomSchema, Revived } from '../schema/custom-schema.ts'
import { type AnyObject, ObjectMeta } from '../schema/object-meta.ts'
import type { AnyType } from '../schema/types.ts'
import { conformObject } from '../structural/custom-object.ts'
import { applyDefaults } from '../structural/defaults.ts'
import { compileSchema, type JsonSchema, type Structural } from '../structural/schema.ts'
import { typeOf } from '../structural/type-of.ts'

/** The schema of a version. Compiled when first needed: of the kinds that are defined on a server most are seldom used. */
export class VersionSchema {
  /** Whether fields that it does not know are kept. */
  readonly preserve: boolean
  readonly #source: JsonSchema | undefined
  #structural: Structural | undefined
  #type: AnyType | undefined

  constructor(source: JsonSchema | undefined, { preserve }: { preserve: boolean }) {
    this.#source = source
    this.preserve = preserve
  }

  /** The schema as OpenAPI publishes it, for which it need not be compiled. */
  get described(): Pick<Structural, 'source' | 'preserve'> {
    const source = this.#source ?? {}
    return { source, preserve: source['x-kubernetes-preserve-unknown-fields'] === true }
  }

  get structural(): Structural {
    this.#structural ??= compileSchema(this.#source)
    return this.#structural
  }

  /** The schema as field ownership needs it. */
  get type(): AnyType {
    this.#type ??= typeOf(this.structural)
    return this.#type
  }
}

const UNKNOWN = /^unknown field "/

/** Conforms a sent object to its kind: apiVersion, kind and metadata as for all objects, the rest by the schema. */
export function conformCustom(
  { structural, preserve }: VersionSchema,
  value: JsonObject,
  duplicates: readonly Duplicate[] = [],
): Conformed {
  const problems = duplicates.map(({ path }) => `duplicate field ${goQuote(path)}`)
  const { value: metadata, problems: strange } = conform(ObjectMeta, value['metadata'] ?? {})
  problems.push(...strange.map(problem => problem.replace(UNKNOWN, 'unknown field "metadata.')))
  const rest = conformObject(structural, value, { problems, preserve })
  return { value: { ...rest, metadata }, problems }
}

/** Fills an object with the defaults of a schema, in place. */
export function fillCustomDefaults({ structural }: VersionSchema, object: AnyObject): void {
  const content = object as unknown as JsonObject
  const filled = applyDefaults(structural, content)
  if (filled !== content) for (const key of Object.keys(filled)) setOwn(content, key, filled[key]!)
}

export type Revival = {
  /** Keyed by apiVersion. */
  readonly schemas: ReadonlyMap<string, VersionSchema>
  /** The version to read objects in; undefined where a webhook converts them. */
  readonly into: string | undefined
}

/** How records of a kind are read, whatever was known of it when they were written. */
export function reviver({ schemas, into }: Revival): CustomSchema['revive'] {
  return (value, given) => {
    const object = given ?? readObject(value)
    const revived = revive(object)
    return revived === object ? { object, value } : ({ object: revived, value: encodeStored(revived) } satisfies Revived)
  }

  function revive(object: AnyObject): AnyObject {
    const written = withSchema(schemas.get(object.apiVersion), object)
    if (into === undefined || object.apiVersion === into) return written
    return withSchema(schemas.get(into), { ...written, apiVersion: into })
  }
}

/** An object pruned and filled by a schema; the same one where that changes nothing. */
function withSchema(schema: VersionSchema | undefined, object: AnyObject): AnyObject {
  if (!schema) return object
  const content = object as unknown as JsonObject
  const known = conformObject(schema.structural, content, { malformed: 'drop', preserve: schema.preserve })
  return applyDefaults(schema.structural, known) as unknown as AnyObject
}

function readObject(value: Uint8Array): AnyObject {
  const object: Json = parseJson(value).value
  if (!isObject(object) || !isObject(object['metadata'])) throw new Error('the record is no object')
  return object as unknown as AnyObject
}

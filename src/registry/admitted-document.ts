/** A document that a webhook or a policy has patched, read as an object again, with the errors of kube-apiserver. */
import { type Reading, UnreadableDocument, UnsuitableKind } from '../admission/attributes.ts'
import { goShownJson } from '../lib/go-text.ts'
import { isObject, type Json, type JsonObject, jsonTypeName } from '../lib/json-value.ts'
import { ConformError, conform } from '../schema/conform.ts'
import { conformObject } from '../schema/custom-schema.ts'
import { type AnyObject, ObjectMeta } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { internalError } from '../schema/status-error.ts'
import { type FindKind, mistakenKind, versionOf } from './claimed-kind.ts'
import { otherCustomKind, TYPE_META } from './decode.ts'
import { mistakenField } from './patched-object.ts'

export type AdmittedDocument = {
  readonly document: Json
  readonly reading: Reading
  readonly findKind: FindKind | undefined
  readonly isCreate: boolean
}

/** The object, and the version of `kind` that the document is of. Defaults are left to the caller. */
export type AdmittedObject = { readonly object: AnyObject; readonly version: Resource }

/** Throws a StatusError, UnreadableDocument or UnsuitableKind. */
export function readAdmitted(kind: Resource, from: AdmittedDocument): AdmittedObject {
  const { document, reading } = from
  if (reading === 'merged') return { object: readMerged(kind, document), version: kind }
  if (document !== null && !isObject(document))
    throw internalError(unidentified(`json: cannot unmarshal ${jsonTypeName(document)} into Go value of type ${TYPE_META}`))
  const fields = document ?? {}
  const mistyped = mistakenField(fields)
  if (mistyped !== undefined) throw internalError(mistyped)
  const claimed = { kind: (fields['kind'] as string | null) ?? '', apiVersion: (fields['apiVersion'] as string | null) ?? '' }
  if (claimed.apiVersion.split('/').length > 2) throw internalError(`unexpected GroupVersion string: ${claimed.apiVersion}`)
  return kind.def.custom
    ? readCustom(kind, claimed, { ...from, document: fields })
    : readBuiltIn(kind, claimed, { ...from, document: fields })
}

const unidentified = (problem: string) => `couldn't get version/kind; json parse error: ${problem}`

type Claimed = { readonly kind: string; readonly apiVersion: string }
type Fields = Omit<AdmittedDocument, 'document'> & { readonly document: JsonObject }

/** A document may leave out its kind and version, or be of another version of the kind. */
function readBuiltIn(expected: Resource, claim: Claimed, { document, reading, findKind }: Fields): AdmittedObject {
  const claimed = { kind: claim.kind || expected.kind, apiVersion: claim.apiVersion || expected.apiVersion }
  const version = expected.versions.find(each => each.apiVersion === claimed.apiVersion && each.kind === claimed.kind)
  if (version) return { object: conformed(version, document, reading), version }
  const mistake = mistakenKind(expected, claimed, findKind)
  if (mistake === undefined) return { object: conformed(expected, document, reading), version: expected }
  if (!mistake.startsWith('converting')) throw internalError(mistake)
  // A document of another kind is read before it turns out to be of no use.
  const other = findKind?.(claimed.apiVersion, claimed.kind)
  if (other) conformed(other, document, reading)
  const isOfOtherVersion = claimed.apiVersion !== expected.apiVersion
  throw new UnsuitableKind(mistake, { isOfOtherVersion, type: `${versionOf(claimed)}.${claimed.kind}` })
}

function conformed(kind: Resource, document: JsonObject, reading: Reading): AnyObject {
  try {
    const { value: object, problems } = conformObject(kind, document)
    if (reading === 'strict' && problems.length > 0) throw new ConformError(`strict decoding error: ${problems.join(', ')}`)
    object.kind = kind.kind
    object.apiVersion = kind.apiVersion
    return object
  } catch (error) {
    if (error instanceof ConformError) throw internalError(error.message)
    throw error
  }
}

/** A custom object has to name its kind and version. Fields that its schema does not know stay until it is stored. */
function readCustom(expected: Resource, { kind, apiVersion }: Claimed, { document, isCreate }: Fields): AdmittedObject {
  if (kind === '') throw internalError(`Object 'Kind' is missing in '${goShownJson(document)}'`)
  const slash = apiVersion.indexOf('/')
  const group = slash === -1 ? '' : apiVersion.slice(0, slash)
  const type = `${versionOf({ apiVersion })}.${kind}`
  if (apiVersion !== expected.apiVersion && group !== expected.group) {
    const named = `${apiVersion === '' || slash !== -1 ? apiVersion || '/' : `/${apiVersion}`}, Kind=${kind}`
    const message = `${named} is unstructured and is not suitable for converting to ${JSON.stringify(expected.apiVersion)}`
    throw new UnsuitableKind(message, { isOfOtherVersion: true, type })
  }
  const version = expected.versions.find(each => each.apiVersion === apiVersion)
  if (!version)
    throw new UnsuitableKind(`request to convert CR from an invalid group/version: ${apiVersion}`, { isOfOtherVersion: true, type })
  if (kind !== expected.kind) throw otherCustomKind(expected, kind, document['metadata'])
  return { object: { ...document, metadata: readMetadata(document['metadata'], isCreate) } as unknown as AnyObject, version }
}

/** Metadata that is no object can be given neither a uid nor a version. */
function readMetadata(metadata: Json | undefined, isCreate: boolean): ObjectMeta {
  const isMissing = metadata !== undefined && !isObject(metadata)
  if (isMissing && isCreate) throw internalError('system metadata was not initialized')
  try {
    return conform(ObjectMeta, isMissing ? {} : (metadata ?? {})).value as ObjectMeta
  } catch (error) {
    if (error instanceof ConformError) throw internalError(error.message)
    throw error
  }
}

function readMerged(kind: Resource, document: Json): AnyObject {
  if (kind.def.custom)
    return { ...(document as JsonObject), metadata: readMetadata((document as JsonObject)['metadata'], false) } as unknown as AnyObject
  try {
    const { value: object } = conformObject(kind, document)
    object.kind = kind.kind
    object.apiVersion = kind.apiVersion
    return object
  } catch (error) {
    if (!(error instanceof ConformError)) throw error
    const named = `${kind.group}/${kind.version}, Kind=${kind.kind}`
    throw new UnreadableDocument(`unable to convert unstructured object to ${named}: ${error.converting}`)
  }
}

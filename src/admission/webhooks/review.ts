/** The AdmissionReview that a webhook is sent, and what its answer says. */
import { parseJson } from '../../codec/json.ts'
import { decodeBase64 } from '../../lib/base64.ts'
import { goQuote } from '../../lib/go-text.ts'
import { isObject, type Json, type JsonObject, jsonTypeName } from '../../lib/json-value.ts'
import { type StatusDetails, StatusError } from '../../schema/status-error.ts'
import { admissionRequest, type VersionedRequest } from '../expression-variables.ts'

export const REVIEW_VERSIONS = ['v1', 'v1beta1'] as const
export type ReviewVersion = (typeof REVIEW_VERSIONS)[number]

/** The body of the call. */
export function reviewFor(
  request: VersionedRequest,
  { uid, version }: { readonly uid: string; readonly version: ReviewVersion },
): JsonObject {
  const { attributes, object, oldObject } = request
  const about: JsonObject = { uid }
  const said = admissionRequest(request)
  for (const field in said) {
    if (field === 'dryRun') {
      about['object'] = (object ?? null) as unknown as Json
      about['oldObject'] = (oldObject ?? null) as unknown as Json
    }
    about[field] = said[field]!
  }
  return { kind: 'AdmissionReview', apiVersion: `admission.${attributes.ctx.groupDomain}/${version}`, request: about }
}

/** What an answer says, read as Kubernetes reads it. */
export type ReviewResponse = {
  readonly allowed: boolean
  /** A patch as text; empty when there is none. */
  readonly patch: string
  readonly patchType: string
  readonly status: JsonObject | undefined
  readonly warnings: readonly string[]
  readonly auditAnnotations: Readonly<Record<string, string>>
}

/** An answer that is no valid review; `stage` tells whether it could not be read or says something that it must not. */
export class InvalidReview extends Error {
  readonly stage: 'reading' | 'checking'

  constructor(stage: 'reading' | 'checking', message: string) {
    super(message)
    this.stage = stage
  }
}

export type Expected = { readonly uid: string; readonly version: ReviewVersion; readonly isMutating: boolean; readonly groupDomain: string }

/** Reads the answer to a review. Throws InvalidReview. */
export function readReview(text: string, { uid, version, isMutating, groupDomain }: Expected): ReviewResponse {
  const apiVersion = `admission.${groupDomain}/${version}`
  const review = readKind(text, { apiVersion, groupDomain })
  const wrong = (why: string) => new InvalidReview('checking', why)
  const { response } = review
  if (!isObject(response)) throw wrong('webhook response was absent')
  const read = new ResponseReader(response)
  const patchType = read.text('patchType')
  const patch = read.bytes('patch')
  if (version === 'v1') {
    const answered = read.text('uid') ?? ''
    if (answered !== uid) throw wrong(`expected response.uid=${goQuote(uid)}, got ${goQuote(answered)}`)
    const [gotVersion, gotKind] = [textOf(review['apiVersion']), textOf(review['kind'])]
    if (gotVersion !== apiVersion || gotKind !== KIND)
      throw wrong(`expected webhook response of ${apiVersion}, Kind=${KIND}, got ${gotVersion || '/'}, Kind=${gotKind}`)
    if (isMutating) {
      if (patch !== '' && patchType === undefined) throw wrong('webhook returned response.patch but not response.patchType')
      if (patch === '' && patchType !== undefined) throw wrong('webhook returned response.patchType but not response.patch')
      if (patchType === '') throw wrong('webhook returned invalid response.patchType of ""')
    } else {
      if (patch !== '') throw wrong('validating webhook may not return response.patch')
      if (patchType !== undefined) throw wrong('validating webhook may not return response.patchType')
    }
  }
  return {
    allowed: read.truth('allowed'),
    patch: isMutating ? patch : '',
    patchType: patchType ?? 'JSONPatch',
    status: read.object('status'),
    warnings: read.texts('warnings'),
    auditAnnotations: read.textMap('auditAnnotations'),
  }
}

const KIND = 'AdmissionReview'

/** The review, if it is one of a version that is known; what it leaves out of kind and version is not looked at here. */
function readKind(text: string, { apiVersion, groupDomain }: { apiVersion: string; groupDomain: string }): JsonObject {
  const unreadable = (why: string) => new InvalidReview('reading', why)
  const value = jsonOrText(text)
  if (!isObject(value))
    throw unreadable(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonTypeName(value)} into Go value of type ${TYPE_META}`,
    )
  const [version, kind] = [textOf(value['apiVersion']) || apiVersion, textOf(value['kind']) || KIND]
  const isKnown = kind === KIND && REVIEW_VERSIONS.some(known => version === `admission.${groupDomain}/${known}`)
  if (!isKnown) throw unreadable(`no kind ${goQuote(kind)} is registered for version ${goQuote(version)} in scheme "admission"`)
  return value
}

/** What is no JSON is taken for YAML, and hardly anything that people send is more than text there. */
function jsonOrText(text: string): Json {
  try {
    return parseJson(text).value
  } catch {
    return text
  }
}

const TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/** Reads the fields of a response; what is of another type than it must be cannot be read at all. */
class ResponseReader {
  readonly #response: JsonObject

  constructor(response: JsonObject) {
    this.#response = response
  }

  truth(field: string): boolean {
    return (this.#of(field, 'bool', value => typeof value === 'boolean') as boolean | undefined) ?? false
  }

  text(field: string): string | undefined {
    return this.#of(field, 'string', value => typeof value === 'string') as string | undefined
  }

  object(field: string): JsonObject | undefined {
    return this.#of(field, 'v1.Status', isObject) as JsonObject | undefined
  }

  texts(field: string): readonly string[] {
    const isList = (value: Json) => Array.isArray(value) && value.every(item => typeof item === 'string')
    return (this.#of(field, '[]string', isList) as readonly string[] | undefined) ?? []
  }

  textMap(field: string): Readonly<Record<string, string>> {
    const isMap = (value: Json) => isObject(value) && Object.values(value).every(item => typeof item === 'string')
    return (this.#of(field, 'map[string]string', isMap) as Readonly<Record<string, string>> | undefined) ?? {}
  }

  /** Bytes in base64, as text. */
  bytes(field: string): string {
    const text = this.text(field)
    if (!text) return ''
    try {
      return decodeBase64(text).toString('utf8')
    } catch (error) {
      throw new InvalidReview('reading', (error as Error).message)
    }
  }

  #of(field: string, type: string, fits: (value: Json) => boolean): Json | undefined {
    const value = Object.hasOwn(this.#response, field) ? this.#response[field]! : null
    if (value === null) return undefined
    if (fits(value)) return value
    const why = `json: cannot unmarshal ${jsonTypeName(value)} into Go struct field AdmissionResponse.response.${field} of type ${type}`
    throw new InvalidReview('reading', why)
  }
}

/** How a rejection reaches the client: the webhook's own status, with at least code 400 and a message that names the webhook. */
export function rejection(webhook: string, status: JsonObject = {}): StatusError {
  const denied = `admission webhook ${goQuote(webhook)} denied the request`
  const [message, reason] = [textOf(status['message']), textOf(status['reason'])]
  const code = typeof status['code'] === 'number' && status['code'] >= 400 ? status['code'] : 400
  const details = isObject(status['details']) ? (status['details'] as StatusDetails) : undefined
  const why = message || reason
  const error = new StatusError(code, reason, why === '' ? `${denied} without explanation` : `${denied}: ${why}`, details)
  error.isFinal = true
  return error
}

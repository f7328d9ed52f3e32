/** The AdmissionReview that is sent to a webhook, and the meaning of its response. */
import { JsonError, parseJson } from '../../codec/json.ts'
import { goQuote } from '../../lib/go-text.ts'
import { isObject, type Json, type JsonObject, jsonTypeName } from '../../lib/json-value.ts'
import { type StatusDetails, StatusError } from '../../schema/status-error.ts'
import { AnswerError, AnswerFields } from '../../transport/answer-fields.ts'
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
  const fields = admissionRequest(request)
  for (const field in fields) {
    if (field === 'dryRun') {
      about['object'] = (object ?? null) as unknown as Json
      about['oldObject'] = (oldObject ?? null) as unknown as Json
    }
    about[field] = fields[field]!
  }
  return { kind: 'AdmissionReview', apiVersion: `admission.${attributes.ctx.groupDomain}/${version}`, request: about }
}

/** The content of an answer, read as Kubernetes reads it. */
export type ReviewResponse = {
  readonly allowed: boolean
  /** A patch as text; empty when there is none. */
  readonly patch: string
  readonly patchType: string
  readonly status: ReviewStatus | undefined
  readonly warnings: readonly string[]
  readonly auditAnnotations: Readonly<Record<string, string>>
}

/** The status that a webhook rejects with; zero values for fields that it leaves out. */
export type ReviewStatus = { readonly message: string; readonly reason: string; readonly code: number; readonly details?: StatusDetails }

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
export async function readReview(text: string, expected: Expected): Promise<ReviewResponse> {
  try {
    return await reviewOf(text, expected)
  } catch (error) {
    if (error instanceof AnswerError) throw new InvalidReview('reading', error.message)
    throw error
  }
}

async function reviewOf(text: string, { uid, version, isMutating, groupDomain }: Expected): Promise<ReviewResponse> {
  const apiVersion = `admission.${groupDomain}/${version}`
  const review = await readKind(text, { apiVersion, groupDomain })
  const wrong = (why: string) => new InvalidReview('checking', why)
  if (!review.has('response')) throw wrong('webhook response was absent')
  const response = review.struct('response', 'AdmissionResponse')
  const patchType = response.has('patchType') ? response.text('patchType') : undefined
  const patch = response.bytes('patch').toString('utf8')
  const answered = response.text('uid')
  const read: ReviewResponse = {
    allowed: response.bool('allowed'),
    patch: isMutating ? patch : '',
    // The type was not looked at before v1.
    patchType: version === 'v1' ? (patchType ?? '') : 'JSONPatch',
    status: statusOf(response),
    warnings: response.texts('warnings'),
    auditAnnotations: response.textMap('auditAnnotations'),
  }
  if (version !== 'v1') return read
  if (answered !== uid) throw wrong(`expected response.uid=${goQuote(uid)}, got ${goQuote(answered)}`)
  const [gotVersion, gotKind] = [review.text('apiVersion'), review.text('kind')]
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
  return read
}

function statusOf(response: AnswerFields): ReviewStatus | undefined {
  if (!response.has('status')) return undefined
  const status = response.struct('status', 'Status')
  const [message, reason, code] = [status.text('message'), status.text('reason'), status.int32('code')]
  return { message, reason, code, ...(status.has('details') && { details: detailsOf(status.struct('details', 'StatusDetails')) }) }
}

function detailsOf(details: AnswerFields): StatusDetails {
  const causes = details.structs('causes', 'StatusCause').map(cause => textsIn(cause, ['reason', 'message', 'field']))
  const retryAfterSeconds = details.int32('retryAfterSeconds')
  return {
    ...textsIn(details, ['name', 'group', 'kind', 'uid']),
    ...(causes.length > 0 && { causes }),
    ...(retryAfterSeconds !== 0 && { retryAfterSeconds }),
  }
}

const textsIn = <T extends string>(fields: AnswerFields, names: readonly T[]): { readonly [name in T]?: string } =>
  Object.fromEntries(names.flatMap(name => (fields.text(name) === '' ? [] : [[name, fields.text(name)]]))) as { [name in T]?: string }

const KIND = 'AdmissionReview'

/** The review, if it is one of a version that is known; what it leaves out of kind and version is not looked at here. */
async function readKind(text: string, { apiVersion, groupDomain }: { apiVersion: string; groupDomain: string }): Promise<AnswerFields> {
  const value = await jsonOrYaml(text)
  if (value !== null && !isObject(value))
    throw new AnswerError(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonTypeName(value)} into Go value of type ${TYPE_META}`,
    )
  const review = new AnswerFields(value, { struct: KIND })
  const [version, kind] = [review.text('apiVersion') || apiVersion, review.text('kind') || KIND]
  const isKnown = kind === KIND && REVIEW_VERSIONS.some(known => version === `admission.${groupDomain}/${known}`)
  if (!isKnown) throw new AnswerError(`no kind ${goQuote(kind)} is registered for version ${goQuote(version)} in scheme "admission"`)
  return review
}

/** A YAML answer is small: people write those by hand. */
const MAX_YAML_LENGTH = 64 << 10

/** A text that does not begin like a JSON object is taken for YAML, as which most answers of that sort are only text. */
async function jsonOrYaml(text: string): Promise<Json> {
  try {
    return parseJson(text, { numbers: 'written' }).value
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    if (!/^\s*\{/.test(text)) return await yamlOrText(text)
    throw new AnswerError(`couldn't get version/kind; json parse error: ${error.message}`)
  }
}

/** Few servers get such an answer, and the others do not load the parser. */
async function yamlOrText(text: string): Promise<Json> {
  if (text.length > MAX_YAML_LENGTH) return text
  const { parseYaml, YamlError } = await import('../../codec/yaml.ts')
  try {
    return parseYaml(text).value
  } catch (error) {
    if (error instanceof YamlError) return text
    throw error
  }
}

const TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

/** How a rejection reaches the client: the webhook's own status, with at least code 400 and a message that names the webhook. */
export function rejection(webhook: string, { message, reason, code, details }: ReviewStatus = NO_STATUS): StatusError {
  const denied = `admission webhook ${goQuote(webhook)} denied the request`
  const why = message || reason
  const error = new StatusError(rejectionCode(code), reason, why === '' ? `${denied} without explanation` : `${denied}: ${why}`, details)
  error.isFinal = true
  return error
}

/** A number that is no code of HTTP cannot be sent; kube-apiserver panics then, which is a 500 as well. */
const rejectionCode = (code: number): number => (code > 599 ? 500 : Math.max(code, 400))

const NO_STATUS: ReviewStatus = { message: '', reason: '', code: 0 }

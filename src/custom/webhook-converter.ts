/** Conversion between versions by the webhook that a definition names. */

import { parseJson, stringifyJson } from '../codec/json.ts'
import { goQuote } from '../lib/go-text.ts'
import { copyJson, deepEqual, isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import { validateAnnotations, validateLabels } from '../schema/meta-rules.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { type FieldError, refTo } from '../schema/refs.ts'
import type { Resource } from '../schema/resource.ts'
import { StatusError } from '../schema/status-error.ts'
import { AnswerFields } from '../transport/answer-fields.ts'
import { webhookPath } from '../transport/webhook-transport.ts'
import type { Converter } from './compile.ts'
import type { CustomDefinition } from './definition.ts'
import { type Post, WEBHOOK_TIMEOUT_SECONDS } from './https-post.ts'

export type ServiceReference = { readonly namespace: string; readonly name: string; readonly port: number }
export type WebhookParts = {
  readonly post: (request: Post) => Promise<string>
  /** Where a service can be reached; throws an Error for people when it cannot. */
  readonly resolve: (service: ServiceReference) => Pick<Post, 'host' | 'port' | 'lookup'>
  readonly newUid: () => string
  readonly groupDomain: string
}

const REVIEW_VERSIONS = ['v1', 'v1beta1']

/** Converts the objects of a definition's kind. Objects that are in the wanted version already are not sent. */
export function webhookConverter(definition: CustomDefinition, parts: WebhookParts): Converter {
  return async (objects, to) => {
    const foreign = objects.filter(object => object.apiVersion !== to.apiVersion)
    // An object with nothing but its apiVersion and kind is the same in every version.
    const sent = foreign.filter(object => Object.keys(object).length > 2)
    const converted = sent.length === 0 ? [] : await convert(definition, sent, to, parts)
    const results = new Map(sent.map((object, i) => [object, converted[i]!]))
    return objects.map(object =>
      object.apiVersion === to.apiVersion ? object : (results.get(object) ?? { ...object, apiVersion: to.apiVersion }),
    )
  }
}

async function convert(
  definition: CustomDefinition,
  objects: readonly AnyObject[],
  to: Resource,
  parts: WebhookParts,
): Promise<AnyObject[]> {
  const about = `conversion webhook for ${kindText(objects[0]!)}`
  const failed = (why: string) => new StatusError(500, '', `${about} ${why}`)
  const { webhook } = definition.spec.conversion!
  const version = webhook?.conversionReviewVersions?.find(v => REVIEW_VERSIONS.includes(v))
  if (version === undefined) throw new StatusError(500, '', 'no supported conversion review versions')
  const uid = parts.newUid()
  const apiVersion = `apiextensions.${parts.groupDomain}/${version}`
  const review = {
    kind: 'ConversionReview',
    apiVersion,
    request: { uid, desiredAPIVersion: to.apiVersion, objects: objects as unknown as Json[] },
  }
  let answered: readonly Json[]
  try {
    const text = await parts.post({ ...addressOf(definition, parts), body: stringifyJson(review) })
    answered = convertedOf(parseJson(text).value, { uid, apiVersion, isStrict: version === 'v1' })
  } catch (error) {
    throw failed(`failed: ${(error as Error).message}`)
  }
  if (answered.length !== objects.length) throw failed(`returned ${answered.length} objects, expected ${objects.length}`)
  return answered.map((object, i) => {
    const fault = faultOf(object, objects[i]!, to)
    if (fault !== undefined) throw failed(`returned invalid converted object at index ${i}: ${fault}`)
    try {
      return restored(object as unknown as AnyObject, objects[i]!)
    } catch (error) {
      throw failed(`returned invalid metadata in object at index ${i}: ${(error as Error).message}`)
    }
  })
}

/** Where the webhook is called. */
function addressOf({ spec }: CustomDefinition, { resolve }: WebhookParts): Omit<Post, 'body'> {
  const { url, service, caBundle } = spec.conversion?.webhook?.clientConfig ?? {}
  const ca = caBundle ? { ca: Buffer.from(caBundle, 'base64').toString('utf8') } : {}
  if (service) {
    const { namespace, name, port = 443, path = '/' } = service
    return { ...resolve({ namespace, name, port }), path: withTimeout(webhookPath(path)), servername: `${name}.${namespace}.svc`, ...ca }
  }
  const { hostname, port, pathname, search } = new URL(url ?? '')
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? 443 : Number(port),
    path: withTimeout(webhookPath(pathname) + search),
    ...ca,
  }
}

/** The timeout is sent to the webhook. */
const withTimeout = (path: string): string => `${path}${path.includes('?') ? '&' : '?'}timeout=${WEBHOOK_TIMEOUT_SECONDS}s`

type Expected = { readonly uid: string; readonly apiVersion: string; readonly isStrict: boolean }

/** The objects of an answer. Reviews of the first version are not compared with the request. */
function convertedOf(answer: Json, { uid, apiVersion, isStrict }: Expected): readonly Json[] {
  const review = new AnswerFields(answer, { struct: 'v1.ConversionReview' })
  const [gotVersion, gotKind] = [review.text('apiVersion'), review.text('kind')]
  const response = review.struct('response', 'ConversionResponse')
  const answered = response.text('uid')
  const result = response.struct('result', 'Status')
  const [status, message] = [result.text('status'), result.text('message')]
  const converted = response.list('convertedObjects')
  if (isStrict && (gotKind !== 'ConversionReview' || gotVersion !== apiVersion))
    throw new Error(`expected webhook response of ${apiVersion}, Kind=ConversionReview, got ${gotVersion}, Kind=${gotKind}`)
  if (!review.has('response')) throw new Error('no response provided')
  if (isStrict && answered !== uid) throw new Error(`expected response.uid=${goQuote(uid)}, got ${goQuote(answered)}`)
  if (status !== 'Success') throw new Error(message || `response.result.status was '${status}', not 'Success'`)
  return converted
}

/** Checks the parts that a webhook must not change. */
function faultOf(converted: Json, original: AnyObject, to: Resource): string | undefined {
  if (!isObject(converted)) return 'it is no object'
  if (converted['apiVersion'] !== to.apiVersion)
    return `invalid groupVersion (expected ${to.apiVersion}, received ${textOf(converted['apiVersion'])})`
  if (converted['kind'] !== original.kind) return `invalid kind (expected ${original.kind}, received ${textOf(converted['kind'])})`
  const metadata = isObject(converted['metadata']) ? converted['metadata'] : {}
  for (const [field, title] of [
    ['name', 'name'],
    ['namespace', 'namespace'],
    ['uid', 'UID'],
  ] as const) {
    const [before, after] = [textOf(original.metadata?.[field]), textOf(metadata[field])]
    if (before !== after) return `must have the same ${title}: ${before} != ${after}`
  }
  return undefined
}

/** The converted object with the metadata of the original; only labels and annotations may have been converted. */
function restored(converted: AnyObject, original: AnyObject): AnyObject {
  if (!isObject(converted.metadata)) throw new Error('missing metadata in converted object')
  const metadata = copyJson(original.metadata ?? {})
  for (const field of ['labels', 'annotations'] as const) {
    const given = (converted.metadata as JsonObject)[field]
    if (given === undefined || given === null) {
      delete metadata[field]
      continue
    }
    const texts = textsOf(given, field)
    if (!deepEqual(texts, metadata[field] ?? {})) refuse(field, texts)
    metadata[field] = texts
  }
  return { ...converted, metadata }
}

function textsOf(given: Json, field: string): Record<string, string> {
  if (!isObject(given)) throw new Error(`invalid metadata.${field} in converted object`)
  for (const [key, value] of Object.entries(given))
    if (typeof value !== 'string') throw new Error(`metadata.${field}[${key}] must be a string in converted object`)
  return given as Record<string, string>
}

function refuse(field: 'labels' | 'annotations', texts: Record<string, string>): void {
  const at = refTo({ metadata: { [field]: texts } }).metadata[field]!
  const errors: FieldError[] = [...(field === 'labels' ? validateLabels(texts, at) : validateAnnotations(texts, at))]
  if (errors.length > 0) throw new Error(errors.map(e => `${e.field}: ${e.message}`).join(', '))
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const kindText = ({ apiVersion, kind }: AnyObject) => `${apiVersion}, Kind=${kind}`

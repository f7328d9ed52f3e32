/** Audit events: the record of a request at one of its stages, as kube-apiserver writes it. */
import { stringifyJson } from '../codec/json.ts'
import { goQuote } from '../lib/go-text.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { formatMicroTime, type Instant } from '../lib/time.ts'
import type { User } from '../schema/user.ts'
import type { Level, Stage } from './policy.ts'

/** The object that a request is about. */
export type ObjectReference = {
  readonly resource?: string
  readonly namespace?: string
  readonly name?: string
  readonly uid?: string
  readonly apiGroup?: string
  readonly apiVersion?: string
  readonly resourceVersion?: string
  readonly subresource?: string
}

/** The outcome of a request; only the code where the response is no `Status`. */
export type ResponseStatus = {
  readonly status?: string
  readonly message?: string
  readonly reason?: string
  readonly details?: JsonObject
  readonly code: number
}

export type AuditEvent = {
  readonly level: Level
  readonly auditID: string
  readonly stage: Stage
  readonly requestURI: string
  readonly verb: string
  readonly user: User | undefined
  readonly impersonatedUser: User | undefined
  /** The verb by which a constrained impersonation was allowed. */
  readonly impersonationConstraint: string | undefined
  readonly sourceIPs: readonly string[]
  readonly userAgent: string
  readonly objectRef: ObjectReference | undefined
  readonly responseStatus: ResponseStatus | undefined
  /** Bodies, as JSON texts. */
  readonly requestObject: string | undefined
  readonly responseObject: string | undefined
  readonly requestReceivedTimestamp: Instant
  readonly stageTimestamp: Instant
  readonly annotations: Readonly<Record<string, string>>
}

export const EVENT_VERSION = 'audit.k8s.io/v1'

/** One event as JSON, with its fields in the order of Go's type. */
export function eventJson(event: AuditEvent): string {
  return escaped(`{"kind":"Event","apiVersion":"${EVENT_VERSION}",${eventFields(event)}}`)
}

/** Several events as the body of a call to a webhook; items of a list name no kind. */
export function eventListJson(events: readonly AuditEvent[]): string {
  const items = events.map(event => `{${eventFields(event)}}`).join(',')
  return escaped(`{"kind":"EventList","apiVersion":"${EVENT_VERSION}","metadata":{},"items":[${items}]}\n`)
}

/** Go's encoder writes these characters as escapes; they can only be in strings. */
const escaped = (json: string): string =>
  json.replace(/[<>&\u2028\u2029]/g, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

function eventFields(event: AuditEvent): string {
  const { impersonatedUser, impersonationConstraint, sourceIPs, userAgent, objectRef, responseStatus, annotations } = event
  let text = `"level":"${event.level}","auditID":${quoted(event.auditID)},"stage":"${event.stage}","requestURI":${quoted(event.requestURI)}`
  text += `,"verb":${quoted(event.verb)},"user":${userJson(event.user)}`
  if (impersonatedUser) text += `,"impersonatedUser":${userJson(impersonatedUser)}`
  if (impersonationConstraint) text += `,"authenticationMetadata":{"impersonationConstraint":${quoted(impersonationConstraint)}}`
  if (sourceIPs.length > 0) text += `,"sourceIPs":${stringifyJson([...sourceIPs])}`
  if (userAgent !== '') text += `,"userAgent":${quoted(userAgent)}`
  if (objectRef) text += `,"objectRef":${stringifyJson(inOrder(objectRef))}`
  if (responseStatus) text += `,"responseStatus":${statusJson(responseStatus)}`
  if (event.requestObject !== undefined) text += `,"requestObject":${event.requestObject}`
  if (event.responseObject !== undefined) text += `,"responseObject":${event.responseObject}`
  text += `,"requestReceivedTimestamp":"${formatMicroTime(event.requestReceivedTimestamp)}"`
  text += `,"stageTimestamp":"${formatMicroTime(event.stageTimestamp)}"`
  const keys = Object.keys(annotations)
  if (keys.length > 0) text += `,"annotations":${stringifyJson(Object.fromEntries(keys.sort().map(key => [key, annotations[key]!])))}`
  return text
}

const quoted = (text: string) => stringifyJson(text)

function userJson(user: User | undefined): string {
  if (user === undefined) return '{}'
  const { name, uid, groups, extra = {} } = user
  const keys = Object.keys(extra).sort()
  return stringifyJson({
    ...(name !== '' && { username: name }),
    ...(uid && { uid }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(keys.length > 0 && { extra: Object.fromEntries(keys.map(key => [key, [...extra[key]!]])) }),
  })
}

const REFERENCE_FIELDS = ['resource', 'namespace', 'name', 'uid', 'apiGroup', 'apiVersion', 'resourceVersion', 'subresource'] as const

function inOrder(reference: ObjectReference): JsonObject {
  const fields = REFERENCE_FIELDS.filter(field => reference[field])
  return Object.fromEntries(fields.map(field => [field, reference[field]!]))
}

function statusJson({ status, message, reason, details, code }: ResponseStatus): string {
  return stringifyJson({
    metadata: {},
    ...(status && { status }),
    ...(message && { message }),
    ...(reason && { reason }),
    ...(details && { details }),
    code,
  })
}

/** One event as a line of text, the format `legacy`. */
export function eventLine(event: AuditEvent): string {
  const { user, impersonatedUser, objectRef, responseStatus } = event
  const listed = (groups: readonly string[]) => groups.map(goQuote).join(',')
  const fields = [
    ['id', event.auditID],
    ['stage', event.stage],
    ['ip', event.sourceIPs[0] ?? '<unknown>'],
    ['method', event.verb],
    ['user', user?.name || '<none>'],
    ['groups', user?.name && user.groups.length > 0 ? listed(user.groups) : '<none>'],
    ['as', impersonatedUser?.name ?? '<self>'],
    ['asgroups', impersonatedUser ? listed(impersonatedUser.groups) : '<lookup>'],
    ['user-agent', event.userAgent],
    ['namespace', objectRef?.namespace || '<none>'],
    ['uri', event.requestURI],
    ['response', responseStatus === undefined ? '<deferred>' : String(responseStatus.code)],
  ] as const
  const time = formatMicroTime(event.requestReceivedTimestamp).replace(/\.?0+Z$/, 'Z')
  return `${time} AUDIT: ${fields.map(([name, value]) => `${name}=${goQuote(value)}`).join(' ')}`
}
